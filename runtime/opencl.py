"""OpenCL devices through pyopencl."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from nn_opt.runtime.device import Array, Device, DeviceError, Handle, Slice
from nn_opt.runtime.launch_plan import Kernel

INSTALL = "pip install 'nn-opt[opencl]'"
DRIVER = "install a driver, such as the packages pocl-opencl-icd and ocl-icd-libopencl1"


def _pyopencl() -> Any:
    try:
        import pyopencl
    except ImportError:
        raise DeviceError(
            f"error: OpenCL needs the package pyopencl\n  hint: run {INSTALL}"
        ) from None
    return pyopencl


def devices() -> list[Any]:
    """Return all devices of all platforms.

    Raises: DeviceError for a missing package, or if there is none.
    """
    cl: Any = _pyopencl()
    try:
        found: list[Any] = [
            one for platform in cl.get_platforms() for one in platform.get_devices()
        ]
    except cl.Error:  # no driver at all
        found = []
    if not found:
        raise DeviceError(f"error: there is no OpenCL device\n  hint: {DRIVER}")
    return found


@cache
def context() -> Any:
    """Return a context for the first device: a GPU if there is one.

    Raises: DeviceError for a missing package or device.
    """
    cl: Any = _pyopencl()
    devices_here = devices()
    gpus = [device for device in devices_here if device.type & cl.device_type.GPU]
    return cl.Context((gpus or devices_here)[:1])


class OpenCLDevice(Device):
    """A queue of the first OpenCL device, with the kernels of a text."""

    def __init__(self, text: str) -> None:
        self.cl = _pyopencl()
        self.context = context()
        self.device: Any = self.context.devices[0]
        self.name = self.device.name
        self.alignment = max(self.device.mem_base_addr_align // 8, 1)
        self.queue: Any = self.cl.CommandQueue(self.context)
        self.program = self._build(text)
        self._kernels: dict[str, Any] = {}
        self._parts: dict[tuple[int, int, int], tuple[Handle, Handle]] = {}

    def _build(self, text: str) -> Any:
        cl = self.cl
        options = ["-cl-std=CL3.0" if "sub_group_" in text else "-cl-std=CL1.2"]
        exact = getattr(cl.device_fp_config, "CORRECTLY_ROUNDED_DIVIDE_SQRT", 0)
        if self.device.single_fp_config & exact:
            options.append("-cl-fp32-correctly-rounded-divide-sqrt")
        try:
            return cl.Program(self.context, text).build(options=options)
        except cl.RuntimeError as error:
            first = str(error).strip().split("\n")[0]
            problem = f"error: {self.name} does not compile the kernels: {first}"
            raise DeviceError(problem) from error

    def allocate(self, size: int) -> Handle:
        return self.cl.Buffer(self.context, self.cl.mem_flags.READ_WRITE, max(size, 1))

    def write(self, handle: Handle, data: Array) -> None:
        if data.nbytes:
            self.cl.enqueue_copy(self.queue, handle, data)

    def read(self, handle: Handle, target: Array) -> None:
        if target.nbytes:
            self.cl.enqueue_copy(self.queue, target.reshape(-1).view(np.uint8), handle)

    def copy(self, source: Slice, target: Slice) -> None:
        if source.size:
            self.cl.enqueue_copy(
                self.queue,
                target.handle,
                source.handle,
                byte_count=source.size,
                src_offset=source.offset,
                dst_offset=target.offset,
            )

    def launch(
        self, kernel: Kernel, grid: tuple[int, int, int], arguments: Sequence[Slice]
    ) -> None:
        found = self._kernels.get(kernel.symbol)
        if found is None:
            found = self._kernels[kernel.symbol] = self.cl.Kernel(self.program, kernel.symbol)
        found.set_args(*map(self._part, arguments))
        size = tuple(blocks * threads for blocks, threads in zip(grid, kernel.block, strict=True))
        self.cl.enqueue_nd_range_kernel(self.queue, found, size, kernel.block)

    def _part(self, part: Slice) -> Handle:
        """Return a slice as memory of its own; sub-buffers are kept for the next run."""
        if part.offset == 0 or not part.size:
            return part.handle
        key = (id(part.handle), part.offset, part.size)
        if key not in self._parts:
            region = part.handle.get_sub_region(part.offset, part.size)
            self._parts[key] = (part.handle, region)
        return self._parts[key][1]

    def finish(self) -> None:
        self.queue.finish()
