"""Runs launch plans that lie in a folder on the first OpenCL device; oclgrind looks on.

oclgrind --data-races python oclgrind_child.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from nn_opt.runtime.device import DeviceProgram
from nn_opt.runtime.launch_plan import LaunchPlan
from nn_opt.runtime.opencl import OpenCLDevice


def main(folder: Path) -> None:
    for file in sorted(folder.glob("*.json")):
        plan = LaunchPlan.from_json(file.read_text())
        device = OpenCLDevice(file.with_suffix(".cl").read_text())
        program = DeviceProgram(plan, device, file.with_suffix(".weights").read_bytes())
        with np.load(file.with_suffix(".npz")) as inputs:
            outputs = program.run(dict(inputs))
        arrays = {name: array.numpy() for name, array in outputs.items()}
        np.savez(file.with_suffix(".out.npz"), **arrays)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
