"""The executor for CUDA: NVRTC's code, a driver that is not NVIDIA's, and clear errors without."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
import tools
from fake_driver import fake, fake_driver, forget

import nn_opt
from nn_opt.reference import run as interpret
from nn_opt.runtime import cuda, dlpack, nvrtc
from nn_opt.runtime.device import DeviceError
from nn_opt.runtime.gpu_program import GpuProgram

__all__ = ["fake", "fake_driver"]  # fixtures
TEXT = """
func.func @main(%x: tensor<4x32xf32>, %w: tensor<32x8xf32>) -> tensor<4x8xf32> {
  %p = graph.matmul %x, %w : (tensor<4x32xf32>, tensor<32x8xf32>) -> tensor<4x8xf32>
  %y = graph.relu %p : tensor<4x8xf32>
  func.return %y : tensor<4x8xf32>
}
"""


def arrays() -> list[Any]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal(shape, dtype=np.float32) for shape in ((4, 32), (32, 8))]


@tools.needs("cc", "clang++-19", "nvrtc")
def test_a_model_runs(fake: None):
    model = nn_opt.compile(nn_opt.parse(TEXT), target="cuda", cache=False)
    x, w = arrays()
    (wanted,) = interpret(nn_opt.parse(TEXT), [x, w])
    np.testing.assert_allclose(model(x, w), wanted, rtol=1e-5, atol=1e-5)
    made = model.run_on_device({"arg0": x, "arg1": w})["result0"]
    np.testing.assert_array_equal(np.asarray(made), model(x, w))
    assert made.__dlpack_device__() == (dlpack.CUDA, 0)
    again = nn_opt.compile(nn_opt.parse(TEXT), target="cuda", cache=False)
    program = again._only
    assert isinstance(program, GpuProgram)
    assert program.device.name == "fake device 0"
    lent = dlpack.borrow(made)
    assert (lent.device, lent.shape, lent.dtype) == (dlpack.CUDA, (4, 8), np.float32)
    assert lent.pointer == made.handle.pointer


class Foreign:
    """An array of another library on the same device."""

    def __init__(self, array: Any) -> None:
        self.array, self.shape, self.dtype = array, array.shape, array.dtype

    def __dlpack_device__(self) -> tuple[int, int]:
        return dlpack.CUDA, 0

    def __dlpack__(self) -> Any:
        place = self.array.ctypes.data
        return dlpack.export(place, dlpack.CUDA, self.shape, self.dtype, self.array)


@tools.needs("cc", "clang++-19", "nvrtc")
def test_memory_of_others_is_not_copied(fake: None):
    model = nn_opt.compile(nn_opt.parse(TEXT), target="cuda", cache=False)
    x, w = arrays()
    results = model.run_on_device({"arg0": Foreign(x), "arg1": Foreign(w)})
    np.testing.assert_array_equal(results["result0"].numpy(), model(x, w))


@tools.needs("cc")
def test_no_device(fake: None, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("FAKE_CUDA_DEVICES", "0")
    expected = "error: the CUDA driver knows no device\n  hint: nvidia-smi lists what it knows"
    with pytest.raises(DeviceError, match=expected):
        cuda.CudaDevice("")


@tools.needs("cc")
def test_faults_of_the_driver_are_named(fake: None):
    cuda.first_device()
    with pytest.raises(DeviceError, match="error: cuModuleGetFunction: named symbol not found"):
        cuda.ask_driver("cuModuleGetFunction", ctypes.byref(ctypes.c_void_p()), None, b"nothing")


STATUSES = """
cuInit: status 999
cuDeviceGetCount: status 999
cuDeviceGet: status 999
cuDeviceGetName: status 999
cuDeviceGetAttribute: status 999
cuDevicePrimaryCtxRetain: status 999
cuCtxSetCurrent: status 999
cuCtxSynchronize: status 999
cuModuleLoadData: status 999
cuModuleGetFunction: status 999
cuMemAlloc_v2: status 999
cuMemcpyHtoD_v2: status 999
cuMemcpyDtoH_v2: status 999
cuMemcpyDtoDAsync_v2: status 999
cuLaunchKernel: status 999
""".split("\n")[1:-1]


@pytest.mark.parametrize("words", STATUSES)
def test_a_status_that_the_driver_has_no_words_for(words: str, monkeypatch: pytest.MonkeyPatch):
    class Refusing:
        def __getattr__(self, name: str) -> Any:
            return lambda *_: 0 if name == "cuGetErrorString" else 999

    monkeypatch.setattr(cuda, "library", Refusing)
    with pytest.raises(DeviceError, match=f"error: {words}"):
        cuda.ask_driver(words.split(":")[0])


def test_no_driver(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(cuda, "LIBRARY", "libcuda-that-is-nowhere.so.1")
    forget()
    expected = (
        "error: there is no CUDA driver: libcuda-that-is-nowhere.so.1 is missing\n"
        "  hint: install NVIDIA's driver for your GPU"
    )
    with pytest.raises(DeviceError, match=expected):
        nn_opt.compile(nn_opt.parse(TEXT), target="cuda", cache=False)
    forget()


def test_no_compiler(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(nvrtc, "SONAMES", ())
    monkeypatch.setattr(nvrtc, "_packaged", lambda pattern: iter(()))
    nvrtc.library.cache_clear()
    expected = (
        r"error: CUDA kernels need the compiler NVRTC\n  hint: run pip install 'nn-opt\[cuda\]'"
    )
    with pytest.raises(DeviceError, match=expected):
        nvrtc.compile_text("", 90)
    nvrtc.library.cache_clear()


@tools.needs("nvrtc")
def test_what_nvrtc_says():
    with pytest.raises(DeviceError, match=r"NVRTC does not compile the kernels: .*error"):
        nvrtc.compile_text("nonsense", 90)
    expected = "error: NVRTC makes code for sm_75 and later, not for sm_60"
    with pytest.raises(DeviceError, match=expected):
        nvrtc.compile_text("", 60)
    kernel = 'extern "C" __global__ void f(float *x) { x[0] = 1.0f; }'
    assert nvrtc.compile_text(kernel, 90)[:4] == b"\x7fELF"
    assert b".target sm_121" in nvrtc.compile_text(kernel, 129)  # a machine of the future
