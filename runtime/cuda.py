"""CUDA devices through the driver's library, by ctypes; kernels are compiled by NVRTC."""

from __future__ import annotations

import ctypes
import sys
import weakref
from collections.abc import Sequence
from functools import cache
from typing import Any, ClassVar

from nn_opt.runtime.device import Array, Device, DeviceError, Handle, Slice
from nn_opt.runtime.dlpack import CUDA
from nn_opt.runtime.launch_plan import Kernel
from nn_opt.runtime.nvrtc import compile_text

LIBRARY = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
MAJOR, MINOR = 75, 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, _MINOR
ALIGNMENT = 16  # bytes of the widest vector that a kernel reads at once
Pointer = ctypes.c_uint64  # CUdeviceptr
_UINT, _SIZE, _VOID = ctypes.c_uint, ctypes.c_size_t, ctypes.c_void_p
# Argument types of the functions that are called.
PROTOTYPES: dict[str, list[Any]] = {
    "cuInit": [_UINT],
    "cuGetErrorString": [ctypes.c_int, ctypes.POINTER(ctypes.c_char_p)],
    "cuDeviceGetCount": [ctypes.POINTER(ctypes.c_int)],
    "cuDeviceGet": [ctypes.POINTER(ctypes.c_int), ctypes.c_int],
    "cuDeviceGetName": [ctypes.c_char_p, ctypes.c_int, ctypes.c_int],
    "cuDeviceGetAttribute": [ctypes.POINTER(ctypes.c_int), ctypes.c_int, ctypes.c_int],
    "cuDevicePrimaryCtxRetain": [ctypes.POINTER(_VOID), ctypes.c_int],
    "cuCtxSetCurrent": [_VOID],
    "cuCtxSynchronize": [],
    "cuModuleLoadData": [ctypes.POINTER(_VOID), ctypes.c_char_p],
    "cuModuleUnload": [_VOID],
    "cuModuleGetFunction": [ctypes.POINTER(_VOID), _VOID, ctypes.c_char_p],
    "cuMemAlloc_v2": [ctypes.POINTER(Pointer), _SIZE],
    "cuMemFree_v2": [Pointer],
    "cuMemcpyHtoD_v2": [Pointer, _VOID, _SIZE],
    "cuMemcpyDtoH_v2": [_VOID, Pointer, _SIZE],
    "cuMemcpyDtoDAsync_v2": [Pointer, Pointer, _SIZE, _VOID],
    "cuLaunchKernel": [_VOID, *[_UINT] * 7, _VOID, ctypes.POINTER(_VOID), ctypes.POINTER(_VOID)],
}


@cache
def library() -> ctypes.CDLL:
    """Return the driver's library.

    Raises: DeviceError if there is none.
    """
    try:
        found = ctypes.CDLL(LIBRARY)
    except OSError:
        problem = f"error: there is no CUDA driver: {LIBRARY} is missing"
        raise DeviceError(f"{problem}\n  hint: install NVIDIA's driver for your GPU") from None
    for name, types in PROTOTYPES.items():
        function = getattr(found, name)
        function.argtypes, function.restype = types, ctypes.c_int
    return found


def ask_driver(name: str, *arguments: Any) -> None:
    """Call a function of the driver.

    Raises: DeviceError if it reports a fault.
    """
    status = getattr(library(), name)(*arguments)
    if status:
        text = ctypes.c_char_p()
        library().cuGetErrorString(status, ctypes.byref(text))
        said = text.value.decode() if text.value else f"status {status}"
        raise DeviceError(f"error: {name}: {said}")


class Memory:
    """Bytes on the device, freed with this object; the pointer may belong to somebody else."""

    def __init__(self, pointer: int, owner: object = None) -> None:
        self.pointer = pointer
        self.owner = owner

    @classmethod
    def new(cls, size: int) -> Memory:
        """Allocate."""
        pointer = Pointer()
        ask_driver("cuMemAlloc_v2", ctypes.byref(pointer), max(size, 1))
        made = cls(pointer.value)
        weakref.finalize(made, library().cuMemFree_v2, pointer.value)
        return made


@cache
def first_device() -> tuple[str, int, int]:
    """Return the first device's name, its machine such as 90, and its context.

    Raises: DeviceError without a driver or a device.
    """
    ask_driver("cuInit", 0)
    count, device, context = ctypes.c_int(), ctypes.c_int(), _VOID()
    ask_driver("cuDeviceGetCount", ctypes.byref(count))
    if not count.value:
        problem = "error: the CUDA driver knows no device"
        raise DeviceError(f"{problem}\n  hint: nvidia-smi lists what it knows")
    ask_driver("cuDeviceGet", ctypes.byref(device), 0)
    name = ctypes.create_string_buffer(256)
    ask_driver("cuDeviceGetName", name, len(name), device)
    numbers: list[int] = []
    for attribute in (MAJOR, MINOR):
        number = ctypes.c_int()
        ask_driver("cuDeviceGetAttribute", ctypes.byref(number), attribute, device)
        numbers.append(number.value)
    ask_driver("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    return name.value.decode(), 10 * numbers[0] + numbers[1], context.value or 0


class CudaDevice(Device):
    """A stream of the first CUDA device, with the kernels of a text.

    `stream` is the default one, unless somebody sets a stream of his own.
    """

    alignment = ALIGNMENT
    dlpack_type: ClassVar[int | None] = CUDA

    def __init__(self, text: str) -> None:
        self.name, self.machine, self._context = first_device()
        self.stream: int | None = None
        self._use()
        code = compile_text(text, self.machine)
        module = _VOID()
        ask_driver("cuModuleLoadData", ctypes.byref(module), code)
        self._module = module
        self._functions: dict[str, ctypes.c_void_p] = {}
        weakref.finalize(self, library().cuModuleUnload, module)

    def _use(self) -> None:
        """Let this thread work with the device."""
        ask_driver("cuCtxSetCurrent", self._context)

    def allocate(self, size: int) -> Handle:
        self._use()
        return Memory.new(size)

    def write(self, handle: Handle, data: Array) -> None:
        if data.nbytes:
            ask_driver("cuMemcpyHtoD_v2", handle.pointer, data.ctypes.data, data.nbytes)

    def read(self, handle: Handle, target: Array) -> None:
        self._use()
        if target.nbytes:
            ask_driver("cuMemcpyDtoH_v2", target.ctypes.data, handle.pointer, target.nbytes)

    def copy(self, source: Slice, target: Slice) -> None:
        if source.size:
            places = target.handle.pointer + target.offset, source.handle.pointer + source.offset
            ask_driver("cuMemcpyDtoDAsync_v2", *places, source.size, self.stream)

    def launch(
        self, kernel: Kernel, grid: tuple[int, int, int], arguments: Sequence[Slice]
    ) -> None:
        pointers = [Pointer(part.handle.pointer + part.offset) for part in arguments]
        table = (_VOID * max(len(pointers), 1))(*map(ctypes.addressof, pointers))
        function = self._function(kernel.symbol)
        ask_driver("cuLaunchKernel", function, *grid, *kernel.block, 0, self.stream, table, None)

    def _function(self, name: str) -> ctypes.c_void_p:
        if name not in self._functions:
            found = _VOID()
            ask_driver("cuModuleGetFunction", ctypes.byref(found), self._module, name.encode())
            self._functions[name] = found
        return self._functions[name]

    def finish(self) -> None:
        self._use()
        ask_driver("cuCtxSynchronize")

    def borrow(self, pointer: int, owner: object) -> Handle:
        return Memory(pointer, owner)

    def address(self, handle: Handle) -> int:
        return handle.pointer
