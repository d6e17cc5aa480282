"""Runs modules of the gpu level on OpenCL and WebGPU devices, as their launch plans say."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp

from nn_opt.backends.source.gpu_languages import language_named
from nn_opt.backends.source.gpu_program import print_kernels
from nn_opt.backends.source.launch_plan import plan_launches
from nn_opt.build import signature_of
from nn_opt.runtime.device import Device, DeviceProgram
from nn_opt.runtime.opencl import OpenCLDevice

Array: TypeAlias = NDArray[Any]
CACHE = tempfile.TemporaryDirectory()  # of PoCL's compiler; gone when this process ends
os.environ |= {"POCL_CACHE_DIR": CACHE.name, "PYOPENCL_NO_CACHE": "1"}


def run_opencl(module: ModuleOp, inputs: Sequence[Array]) -> list[Array]:
    """Return what @main of a module at the gpu level computes.

    Tests ask for the device by `tools.needs("opencl")`.
    """
    return run_on(OpenCLDevice, "opencl", module, inputs)


def run_webgpu(module: ModuleOp, inputs: Sequence[Array]) -> list[Array]:
    """The same on a WebGPU device; tests ask for it by `tools.needs("wgpu", "vulkan")`."""
    from nn_opt.runtime.webgpu import WebGPUDevice

    return run_on(WebGPUDevice, "wgsl", module, inputs)


def run_on(
    device: Callable[[str], Device], language: str, module: ModuleOp, inputs: Sequence[Array]
) -> list[Array]:
    """Return what @main computes on a device of the text in a language."""
    source = print_kernels(module, language_named(language))
    signature = signature_of(module)
    plan, weights = plan_launches(module, source, signature)
    program = DeviceProgram(plan, device(source.text), weights.content())
    names = [buffer.name for buffer in plan.with_role("input")]
    arrays = {
        name: np.ascontiguousarray(array, info.dtype)
        for name, array, info in zip(names, inputs, signature.inputs, strict=True)
    }
    return [output.numpy() for output in program.run(arrays).values()]
