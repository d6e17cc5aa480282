"""A compiled model on a device of OpenCL, CUDA or WebGPU, loaded and callable."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, NoReturn

from numpy.typing import NDArray

from nn_opt.runtime.artifact import Artifact
from nn_opt.runtime.device import Device, DeviceArray, DeviceError, DeviceProgram
from nn_opt.runtime.launch_plan import LaunchPlan

Array = NDArray[Any]
DEVICES = {
    "opencl": "nn_opt.runtime.opencl:OpenCLDevice",
    "cuda": "nn_opt.runtime.cuda:CudaDevice",
    "wgsl": "nn_opt.runtime.webgpu:WebGPUDevice",
}


def open_device(language: str, text: str) -> Device:
    """Return a device with the kernels of a text in a language.

    Raises: DeviceError if the device, its driver or a package for it is missing.
    """
    if language not in DEVICES:
        _refuse_language(language)
    module, name = DEVICES[language].split(":")
    return getattr(import_module(module), name)(text)


def _refuse_language(language: str) -> NoReturn:
    raise DeviceError(
        f"error: no kernels in {language} run from here: Apple's own tools compile and launch them"
        "\n  hint: nn-compile writes their text, launch plan and weights; target 'opencl' runs here"
    )


class GpuProgram:
    """Kernels, weights and temporaries on a device; one run at a time."""

    def __init__(self, artifact: Artifact) -> None:
        """Load the artifact.

        Raises: DeviceError if it cannot run here.
        """
        self.manifest = artifact.manifest
        text, plan = (part.decode() for part in artifact.objects)
        self.plan = LaunchPlan.from_json(plan)
        self.device = open_device(self.plan.language, text)
        self._program = DeviceProgram(self.plan, self.device, artifact.weights.bytes)
        self._lock = threading.Lock()

    def run(self, inputs: Sequence[Array], outputs: Sequence[Array], threads: int) -> None:
        """Compute into `outputs`; arrays of the host are copied to the device and back."""
        infos = self.manifest.inputs
        given = {info.name: array for info, array in zip(infos, inputs, strict=True)}
        made = self.run_on_device(given)
        for info, array in zip(self.manifest.outputs, outputs, strict=True):
            made[info.name].read_into(array)

    def run_on_device(self, inputs: Mapping[str, Any]) -> dict[str, DeviceArray]:
        """Run on inputs of the device or the host; outputs stay on the device."""
        inputs_by_place = [inputs[info.name] for info in self.manifest.inputs]
        names = (buffer.name for buffer in self.plan.with_role("input"))
        with self._lock:
            made = self._program.run(dict(zip(names, inputs_by_place, strict=True)))
        results = (info.name for info in self.manifest.outputs)
        return dict(zip(results, made.values(), strict=True))
