"""Runs modules of the gpu level as OpenCL under oclgrind, which finds races and wild accesses."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import tools
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp

from nn_opt.backends.source.gpu_languages import language_named
from nn_opt.backends.source.gpu_program import print_kernels
from nn_opt.backends.source.launch_plan import plan_launches
from nn_opt.build import signature_of

Array: TypeAlias = NDArray[Any]
CHILD = Path(__file__).with_name("oclgrind_child.py")
SECONDS = 300


@dataclass(frozen=True)
class Finding:
    """What oclgrind says of a kernel, and in which line of its text."""

    what: str
    kernel: str
    line: str


FINDING = re.compile(
    r"^(?P<what>\S.*)\n(?P<more>(?:\t.*\n|\n)*?)\tKernel: +(?P<kernel>\w+)\n"
    r"(?P<rest>(?:\t.*\n|\n)*)",
    re.MULTILINE,
)


def findings(log: str) -> list[Finding]:
    """Return what a log of oclgrind reports."""
    found: list[Finding] = []
    for match in FINDING.finditer(log):
        line = re.search(r"At line (\d+)", match["rest"])
        found.append(Finding(match["what"].strip(), match["kernel"], line[1] if line else ""))
    return found


@dataclass(frozen=True)
class Job:
    """A module at the gpu level, and its inputs in order."""

    module: ModuleOp
    inputs: Sequence[Array]


@dataclass(frozen=True)
class Report:
    """The outputs of each job by its name, and all that was found."""

    outputs: Mapping[str, list[Array]]
    findings: list[Finding]
    log: str


def _write(job: Job, base: Path) -> None:
    source = print_kernels(job.module, language_named("opencl"))
    signature = signature_of(job.module)
    plan, weights = plan_launches(job.module, source, signature)
    base.with_suffix(".cl").write_text(source.text)
    base.with_suffix(".json").write_text(plan.to_json())
    base.with_suffix(".weights").write_bytes(weights.content())
    arrays = {
        buffer.name: np.ascontiguousarray(array, buffer.numpy_dtype)
        for buffer, array in zip(plan.with_role("input"), job.inputs, strict=True)
    }
    np.savez(base.with_suffix(".npz"), **arrays)


def run_under_oclgrind(jobs: Mapping[str, Job], folder: Path) -> Report:
    """Run jobs one after another in one process, where oclgrind checks all accesses."""
    for name, job in jobs.items():
        _write(job, folder / name)
    log = folder / "log"
    command = [tools.need("oclgrind"), "--data-races", "--log", str(log), sys.executable]
    environment = {**os.environ, "PYOPENCL_NO_CACHE": "1"}
    done = subprocess.run(
        [*command, str(CHILD), str(folder)],
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
        env=environment,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    outputs: dict[str, list[Array]] = {}
    for name in jobs:
        with np.load(folder / f"{name}.out.npz") as arrays:
            outputs[name] = list(arrays.values())
    text = log.read_text() if log.exists() else ""
    return Report(outputs, findings(text), text)
