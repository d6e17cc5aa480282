"""WebGPU devices through wgpu."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, ClassVar

import numpy as np

from nn_opt.runtime.device import Array, Device, DeviceError, Handle, Slice
from nn_opt.runtime.launch_plan import Kernel

INSTALL = "pip install 'nn-opt[webgpu]'"
DRIVER = "install a driver for Vulkan, such as the packages mesa-vulkan-drivers and libvulkan1"
# As large as the adapter has them: weights are one buffer.
LIMITS = (
    "max-buffer-size",
    "max-storage-buffer-binding-size",
    "max-storage-buffers-per-shader-stage",
)
FEATURES = {"subgroup"}  # for texts that pass values from lane to lane
RUNTIME_FOLDER = "XDG_RUNTIME_DIR"
OFFSETS = 256  # WebGPU, minStorageBufferOffsetAlignment: the default


def _wgpu() -> Any:
    try:
        import wgpu
    except ImportError:
        problem = "error: WebGPU needs the package wgpu"
        raise DeviceError(f"{problem}\n  hint: run {INSTALL}") from None
    return wgpu


@cache
def device() -> Any:
    """Return the device of the fastest adapter, with the adapter's own limits.

    Raises: DeviceError for a missing package or adapter.
    """
    wgpu: Any = _wgpu()
    with _runtime_folder():
        return _device_of(wgpu)


def adapters() -> list[Any]:
    """Return all adapters.

    Raises: DeviceError for a missing package, or if there is none.
    """
    wgpu: Any = _wgpu()
    with _runtime_folder():
        found: list[Any] = wgpu.gpu.enumerate_adapters_sync()
    if not found:
        raise DeviceError(f"error: there is no WebGPU adapter\n  hint: {DRIVER}")
    return found


@contextmanager
def _runtime_folder() -> Generator[None]:
    """Name a folder where Wayland's library looks for a display; it prints an error without one."""
    if os.environ.get(RUNTIME_FOLDER, "").startswith("/"):
        yield
        return
    before = os.environ.get(RUNTIME_FOLDER)
    with tempfile.TemporaryDirectory(prefix="nn-opt-webgpu-") as folder:
        os.environ[RUNTIME_FOLDER] = folder
        try:
            yield
        finally:
            del os.environ[RUNTIME_FOLDER]
            if before is not None:
                os.environ[RUNTIME_FOLDER] = before


def _device_of(wgpu: Any) -> Any:
    try:
        adapter = wgpu.gpu.request_adapter_sync(power_preference="high-performance")
    except RuntimeError:
        adapter = None
    if adapter is None:
        raise DeviceError(f"error: there is no WebGPU adapter\n  hint: {DRIVER}")
    return adapter.request_device_sync(
        required_features=sorted(FEATURES & set(adapter.features)),
        required_limits={name: adapter.limits[name] for name in LIMITS},
    )


class WebGPUDevice(Device):
    """A queue of a WebGPU device, with the kernels of a text."""

    copies_of: ClassVar[int] = 4
    may_overlap: ClassVar[bool] = False

    def __init__(self, text: str) -> None:
        self.wgpu = _wgpu()
        self.device: Any = device()
        self.name = self.device.adapter.info["device"]
        self.alignment = OFFSETS
        try:
            self.module: Any = self.device.create_shader_module(code=text)
        except self.wgpu.GPUError as error:
            lines = [line.strip() for line in str(error).split("\n")]
            what = next((line for line in lines if line.startswith("Shader")), lines[0])
            problem = f"error: {self.name} does not compile the kernels: {what}"
            raise DeviceError(problem) from error
        self._pipelines: dict[str, Any] = {}
        self._groups: dict[Any, Any] = {}

    def allocate(self, size: int) -> Handle:
        usage = self.wgpu.BufferUsage
        flags = usage.STORAGE | usage.COPY_SRC | usage.COPY_DST
        return self.device.create_buffer(size=_whole(size), usage=flags)

    def write(self, handle: Handle, data: Array) -> None:
        if data.nbytes:
            padded = np.zeros(_whole(data.nbytes), np.uint8)
            padded[: data.nbytes] = data
            self.device.queue.write_buffer(handle, 0, padded)

    def read(self, handle: Handle, target: Array) -> None:
        if target.nbytes:
            content = self.device.queue.read_buffer(handle, 0, _whole(target.nbytes))
            flat = np.frombuffer(content, np.uint8)[: target.nbytes]
            target.reshape(-1).view(np.uint8)[...] = flat

    def copy(self, source: Slice, target: Slice) -> None:
        if not source.size:
            return
        if source.handle is target.handle:  # which WebGPU does not copy
            between = Slice(self.allocate(source.size), 0, source.size)
            self.copy(source, between)
            source = between
        encoder = self.device.create_command_encoder()
        places = source.handle, source.offset, target.handle, target.offset
        encoder.copy_buffer_to_buffer(*places, _whole(source.size))
        self.device.queue.submit([encoder.finish()])

    def launch(
        self, kernel: Kernel, grid: tuple[int, int, int], arguments: Sequence[Slice]
    ) -> None:
        pipeline = self._pipeline(kernel)
        encoder = self.device.create_command_encoder()
        run = encoder.begin_compute_pass()
        run.set_pipeline(pipeline)
        run.set_bind_group(0, self._group(kernel, pipeline, arguments))
        run.dispatch_workgroups(*grid)
        run.end()
        self.device.queue.submit([encoder.finish()])

    def _pipeline(self, kernel: Kernel) -> Any:
        if kernel.symbol not in self._pipelines:
            entries = [
                {
                    "binding": k,
                    "visibility": self.wgpu.ShaderStage.COMPUTE,
                    "buffer": {"type": "read-only-storage" if part.read_only else "storage"},
                }
                for k, part in enumerate(kernel.arguments)
            ]
            group = self.device.create_bind_group_layout(entries=entries)
            layout = self.device.create_pipeline_layout(bind_group_layouts=[group])
            stage = {"module": self.module, "entry_point": kernel.symbol}
            made = self.device.create_compute_pipeline(layout=layout, compute=stage)
            self._pipelines[kernel.symbol] = made
        return self._pipelines[kernel.symbol]

    def _group(self, kernel: Kernel, pipeline: Any, arguments: Sequence[Slice]) -> Any:
        """Return what binds slices; it is kept for the next run."""
        places = tuple((id(part.handle), part.offset, part.size) for part in arguments)
        key = (kernel.symbol, places)
        if key not in self._groups:
            entries = [
                {
                    "binding": k,
                    "resource": {
                        "buffer": part.handle,
                        "offset": part.offset,
                        "size": _whole(part.size),
                    },
                }
                for k, part in enumerate(arguments)
            ]
            layout = pipeline.get_bind_group_layout(0)
            group = self.device.create_bind_group(layout=layout, entries=entries)
            self._groups[key] = (arguments, group)
        return self._groups[key][1]

    def finish(self) -> None:
        self.device.queue.on_submitted_work_done_sync()


def _whole(size: int) -> int:
    """Return a size in whole words."""
    return max(-(-size // 4) * 4, 4)
