"""Launch plans on devices: what is staged, copied and refused; models that stay on the device."""

from __future__ import annotations

import builtins
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import tools

import nn_opt
from nn_opt.reference import run as interpret
from nn_opt.runtime import opencl, webgpu
from nn_opt.runtime.device import Device, DeviceArray, DeviceError, DeviceProgram, Slice
from nn_opt.runtime.launch_plan import (
    Argument,
    Buffer,
    Copy,
    Kernel,
    Launch,
    LaunchPlan,
    Place,
    Repeat,
)
from nn_opt.runtime.loader import RuntimeFault

ARGUMENTS = (Argument("x", "float32", 8, False), Argument("y", "float32", 8, True))
PLAN = LaunchPlan(
    "opencl",
    "opencl",
    (Kernel("double", "double_it", (2, 1, 1), 0, ARGUMENTS, ("Mul_0",)),),
    (
        Buffer("x", "input", 24, "float32", (3, 2)),
        Buffer("y", "output", 24, "float32", (3, 2)),
        Buffer("weights", "weights", 16),
        Buffer("arena", "arena", 64),
    ),
    (
        Repeat(
            3,
            (
                Copy(Place("x", 0, 8, (8,)), Place("arena", 4, 8)),
                Launch("double", (1, 1, 1), (Place("arena", 4, 8), Place("arena", 20, 8))),
                Copy(Place("arena", 20, 8), Place("y", 16, 8, (-8,))),
            ),
        ),
    ),
)
DOUBLE = """
__kernel void double_it(__global const float *x, __global float *y) {
  y[get_local_id(0)] = 2.0f * x[get_local_id(0)];
}
"""


class Host(Device):
    """A device of the host's memory that notes what it is asked for."""

    name, alignment = "host", 16

    def __init__(self) -> None:
        self.log: list[str] = []

    def allocate(self, size: int) -> Any:
        return np.zeros(size, np.uint8)

    def write(self, handle: Any, data: Any) -> None:
        handle[: data.nbytes] = data

    def read(self, handle: Any, target: Any) -> None:
        target.reshape(-1).view(np.uint8)[...] = handle[: target.nbytes]

    def copy(self, source: Slice, target: Slice) -> None:
        self.log.append(f"copy {source.size}")
        self._view(target)[...] = self._view(source)

    def launch(self, kernel: Kernel, grid: Any, arguments: Sequence[Slice]) -> None:
        self.log.append(f"{kernel.symbol} at {[part.offset for part in arguments]}")
        x, y = (self._view(part).view(np.float32) for part in arguments)
        y[...] = 2 * x

    def finish(self) -> None:
        pass

    def _view(self, part: Slice) -> Any:
        return part.handle[part.offset : part.offset + part.size]


def test_a_plan_is_the_same_after_json():
    assert LaunchPlan.from_json(PLAN.to_json()) == PLAN
    assert PLAN.launches == 3
    with pytest.raises(ValueError, match="launch plan: it has format 0, expected 1"):
        LaunchPlan.from_json('{"format": 0}')
    changed = PLAN.to_json().replace('"repeat"', '"leap"')
    with pytest.raises(ValueError, match="it has a step 'leap', expected launch, copy, repeat"):
        LaunchPlan.from_json(changed)


def test_what_a_device_cannot_give_in_place_is_copied_there_and_back():
    device = Host()
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    result = DeviceProgram(PLAN, device, bytes(16)).run({"x": x})["y"].numpy()
    np.testing.assert_array_equal(result, 2 * x[::-1])
    assert device.log[:5] == ["copy 8", "copy 8", "copy 8", "double_it at [0, 0]", "copy 8"]


def test_a_device_that_wants_each_byte_once_gets_a_copy():
    plan = LaunchPlan(
        "t", "t", PLAN.kernels, PLAN.buffers,
        (Launch("double", (1, 1, 1), (Place("y", 0, 8), Place("y", 0, 8))),),
    )  # fmt: skip

    class Strict(Host):
        may_overlap = False

    device = Strict()
    DeviceProgram(plan, device, bytes(16)).run({"x": np.zeros((3, 2), np.float32)})
    assert device.log == ["copy 8", "double_it at [0, 0]"]


@tools.needs("opencl")
def test_a_plan_on_opencl():
    device = opencl.OpenCLDevice(DOUBLE)
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    program = DeviceProgram(PLAN, device, bytes(16))
    made = program.run({"x": x})["y"]
    np.testing.assert_array_equal(made.numpy(), 2 * x[::-1])
    again = program.run({"x": made})["y"]  # which did not leave the device
    np.testing.assert_array_equal(np.asarray(again), 4 * x)
    with pytest.raises(DeviceError, match=r"error: memory of .* has no addresses for others"):
        made.__dlpack__()
    with pytest.raises(ValueError, match="an array on a device is copied when it becomes a NumPy"):
        np.asarray(made, copy=False)


@tools.needs("opencl")
def test_opencl_says_what_it_does_not_compile():
    with pytest.raises(DeviceError, match=r"error: .* does not compile the kernels: "):
        opencl.OpenCLDevice("nonsense")


@tools.needs("wgpu", "vulkan")
def test_webgpu_says_what_it_does_not_compile():
    with pytest.raises(DeviceError, match=r"error: .* does not compile the kernels: Shader"):
        webgpu.WebGPUDevice("nonsense")


@pytest.mark.parametrize(
    ("target", "package", "words"),
    [
        ("opencl", "pyopencl", r"error: OpenCL needs the package pyopencl\n  hint: run pip"),
        (
            "webgpu",
            "wgpu",
            r"error: WebGPU needs the package wgpu\n  hint: run pip",
        ),
    ],
)
def test_a_missing_package(target: str, package: str, words: str, monkeypatch: pytest.MonkeyPatch):
    import_module = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name == package:
            raise ImportError(name)
        return import_module(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    opencl.context.cache_clear()
    webgpu.device.cache_clear()
    with pytest.raises(DeviceError, match=words):
        nn_opt.compile(nn_opt.parse(TEXT), target=target, cache=False)


@tools.needs("pyopencl")
def test_no_opencl_device(monkeypatch: pytest.MonkeyPatch):
    import pyopencl

    monkeypatch.setattr(pyopencl, "get_platforms", list)
    opencl.context.cache_clear()
    with pytest.raises(DeviceError, match="error: there is no OpenCL device\n  hint: install a dr"):
        opencl.context()


@tools.needs("wgpu")
@tools.needs("wgpu", "vulkan")
@pytest.mark.parametrize("folder", [None, "nowhere"])
def test_webgpu_is_quiet_without_a_display(folder: str | None):
    """Wayland's library complains on stderr of a session that has no folder of its own."""
    environment = {name: value for name, value in os.environ.items() if name != "XDG_RUNTIME_DIR"}
    environment |= {"XDG_RUNTIME_DIR": folder} if folder else {}
    program = f"""import os
from nn_opt.runtime import webgpu
webgpu.device()
assert os.environ.get("XDG_RUNTIME_DIR") == {folder!r}"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_no_webgpu_adapter(monkeypatch: pytest.MonkeyPatch):
    import wgpu

    def nothing(**_: Any) -> None:
        return None

    monkeypatch.setattr(wgpu.gpu, "request_adapter_sync", nothing)
    webgpu.device.cache_clear()
    with pytest.raises(DeviceError, match="error: there is no WebGPU adapter\n  hint: install a"):
        webgpu.device()
    webgpu.device.cache_clear()


TEXT = """
func.func @main(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %y = graph.exp %x : tensor<3x4xf32>
  %z = graph.add %y, %x : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  func.return %z : tensor<3x4xf32>
}
"""
TARGETS = [
    pytest.param("opencl", marks=tools.needs("opencl")),
    pytest.param("webgpu", marks=tools.needs("wgpu", "vulkan")),
]


@pytest.mark.parametrize("target", TARGETS)
def test_a_model_on_a_device(target: str, tmp_path: Any):
    model = nn_opt.compile(nn_opt.parse(TEXT), target=target, cache=tmp_path)
    x = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
    (wanted,) = interpret(nn_opt.parse(TEXT), [x])
    np.testing.assert_allclose(model(x), wanted, rtol=1e-6)
    assert model.launches > 0
    made = model.run_on_device({"arg0": x})["result0"]
    assert isinstance(made, DeviceArray)
    (twice,) = interpret(nn_opt.parse(TEXT), [wanted])
    further = model.run_on_device({"arg0": made})["result0"]
    np.testing.assert_allclose(further.numpy(), twice, rtol=1e-5)
    again = nn_opt.compile(nn_opt.parse(TEXT), target=target, cache=tmp_path)
    np.testing.assert_array_equal(again(x), model(x))
    assert again.launches == model.launches
    with pytest.raises(TypeError, match="input 'arg0' has dtype float64, expected float32"):
        model.run_on_device({"arg0": x.astype(np.float64)})
    with pytest.raises(TypeError, match="input 'arg0' is a list, expected an array"):
        model.run_on_device({"arg0": [1.0]})
    with pytest.raises(ValueError, match=r"input 'arg0' has shape \[3\], expected"):
        model.run_on_device({"arg0": x[:, 0]})
    with pytest.raises(ValueError, match="unknown input 'y'"):
        model.run_on_device({"y": x})


@tools.needs("opencl")
def test_levels_of_a_model_for_a_gpu():
    model = nn_opt.compile(nn_opt.parse(TEXT), target="opencl", cache=False)
    assert "gpu.launch_func" in model.ir("gpu")
    assert "__kernel" in model.ir("opencl")
    assert "block_x" in model.ir("loop")
    expected = "error: no level 'llvm'\n  hint: the levels are source, .*, gpu, opencl; or name"
    with pytest.raises(nn_opt.DiagnosticError, match=expected):
        model.ir("llvm")


def test_what_has_no_device():
    with pytest.raises(DeviceError, match="error: no kernels in metal run from here: Apple's own"):
        nn_opt.compile(nn_opt.parse(TEXT), target="metal", cache=False)
    model = nn_opt.compile(nn_opt.parse(TEXT), cache=False)
    assert model.launches == 0
    with pytest.raises(RuntimeFault, match="error: the target has no device of its own"):
        model.run_on_device({"arg0": np.zeros((3, 4), np.float32)})
    with pytest.raises(nn_opt.DiagnosticError, match="error: no deterministic code for target 'op"):
        nn_opt.compile(nn_opt.parse(TEXT), target="opencl", deterministic=True, cache=False)
