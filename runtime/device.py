"""Runs launch plans on a device: what executors of OpenCL, CUDA and WebGPU have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nn_opt.runtime import dlpack
from nn_opt.runtime.launch_plan import Buffer, Copy, Kernel, Launch, LaunchPlan, Place
from nn_opt.runtime.loader import RuntimeFault

Array: TypeAlias = NDArray[Any]
Handle: TypeAlias = Any  # a device's own name for memory


class DeviceError(RuntimeFault):
    """A device, its driver or a package for it is missing, or it refused something."""


@dataclass(frozen=True)
class Slice:
    """Bytes of a device's memory."""

    handle: Handle
    offset: int
    size: int

    def overlaps(self, other: Slice) -> bool:
        """Return whether two slices have a byte in common."""
        if self.handle is not other.handle:
            return False
        return self.offset < other.offset + other.size and other.offset < self.offset + self.size


class Device(ABC):
    """One device with the kernels of one program; sizes and offsets are in bytes."""

    name: str
    alignment: int  # of the offset of what a kernel is given
    copies_of: ClassVar[int] = 1  # offsets and sizes of copies are multiples of it
    may_overlap: ClassVar[bool] = True  # whether a kernel may be given the same bytes twice
    dlpack_type: ClassVar[int | None] = None  # of its memory, if that has addresses

    @abstractmethod
    def allocate(self, size: int) -> Handle:
        """Return new memory."""

    @abstractmethod
    def write(self, handle: Handle, data: Array) -> None:
        """Copy an array's bytes to the device."""

    @abstractmethod
    def read(self, handle: Handle, target: Array) -> None:
        """Wait for all that was launched; copy from the device into an array."""

    @abstractmethod
    def copy(self, source: Slice, target: Slice) -> None:
        """Copy bytes on the device, after all that was launched."""

    @abstractmethod
    def launch(
        self, kernel: Kernel, grid: tuple[int, int, int], arguments: Sequence[Slice]
    ) -> None:
        """Have a kernel run after all that was launched."""

    @abstractmethod
    def finish(self) -> None:
        """Wait for all that was launched."""

    def borrow(self, pointer: int, owner: object) -> Handle:
        """Return memory of somebody else, which lives as long as its owner."""
        raise DeviceError(f"error: memory of {self.name} has no addresses")

    def address(self, handle: Handle) -> int:
        """Return where memory is, for others that use it."""
        raise DeviceError(
            f"error: memory of {self.name} has no addresses for others"
            "\n  hint: numpy() copies an array to the host"
        )


@dataclass
class DeviceArray:
    """An array that is on a device. It may be an input again; `numpy()` copies it to the host."""

    device: Device
    handle: Handle
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def numpy(self) -> Array:
        """Return the array on the host, when all that writes it has run."""
        result = np.empty(self.shape, self.dtype)
        self.read_into(result)
        return result

    def read_into(self, target: Array) -> None:
        """Copy the array into a row-major one on the host."""
        self.device.read(self.handle, target)

    def __dlpack_device__(self) -> tuple[int, int]:
        self.device.address(self.handle)
        return self.device.dlpack_type or 0, 0

    def __dlpack__(self, **_: object) -> Any:
        """Return a capsule: the array for other libraries on the same device, not copied."""
        pointer = self.device.address(self.handle)
        self.device.finish()
        kind = self.device.dlpack_type or 0
        return dlpack.export(pointer, kind, self.shape, self.dtype, self.handle)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if copy is False:
            raise ValueError("an array on a device is copied when it becomes a NumPy array")
        return self.numpy() if dtype is None else self.numpy().astype(dtype)


@dataclass
class DeviceProgram:
    """A plan with its memory on a device; one run at a time."""

    plan: LaunchPlan
    device: Device
    weights: bytes | Array
    memory: dict[str, Handle] = field(default_factory=dict[str, Handle])
    _spare: dict[tuple[int, int], Handle] = field(default_factory=dict[tuple[int, int], Handle])

    def __post_init__(self) -> None:
        self._kernels = {kernel.name: kernel for kernel in self.plan.kernels}
        for buffer in self.plan.buffers:
            if buffer.role not in ("input", "output"):
                self.memory[buffer.name] = self.device.allocate(buffer.size)
        for buffer in self.plan.with_role("weights"):
            content = np.frombuffer(self.weights, np.uint8)
            self.device.write(self.memory[buffer.name], content)

    def run(self, inputs: Mapping[str, Any]) -> dict[str, DeviceArray]:
        """Run on inputs, which must have the shapes of the plan; outputs stay on the device."""
        memory = dict(self.memory)
        for buffer in self.plan.with_role("input"):
            memory[buffer.name] = self._input(buffer, inputs[buffer.name])
        outputs: dict[str, DeviceArray] = {}
        for buffer in self.plan.with_role("output"):
            handle = self.device.allocate(buffer.size)
            memory[buffer.name] = handle
            outputs[buffer.name] = DeviceArray(
                self.device, handle, buffer.shape, buffer.numpy_dtype
            )
        self.enqueue(memory)
        return outputs

    def enqueue(self, memory: Mapping[str, Handle]) -> None:
        """Have the device do all steps, in memory that each buffer has; return before they end."""
        for step, numbers in self.plan.run():
            if isinstance(step, Copy):
                self._copy(step, numbers, memory)
            else:
                self._launch(step, numbers, memory)

    def _input(self, buffer: Buffer, value: Any) -> Handle:
        """Return an input's memory on the device, which is copied there only from elsewhere."""
        if isinstance(value, DeviceArray):
            if value.device is self.device:
                return value.handle
            value = value.numpy()
        if type(value) is not np.ndarray and hasattr(value, "__dlpack_device__"):
            if value.__dlpack_device__()[0] == self.device.dlpack_type:
                lent = dlpack.borrow(value)
                return self.device.borrow(lent.pointer, lent.owner)
        array: Array = np.ascontiguousarray(value)
        handle = self.device.allocate(buffer.size)
        self.device.write(handle, array.reshape(-1).view(np.uint8))
        return handle

    def _slice(self, place: Place, numbers: Sequence[int], memory: Mapping[str, Handle]) -> Slice:
        return Slice(memory[place.buffer], place.at(numbers), place.size)

    def _copy(self, step: Copy, numbers: Sequence[int], memory: Mapping[str, Handle]) -> None:
        source, target = (self._slice(p, numbers, memory) for p in (step.source, step.target))
        self.device.copy(source, target)

    def _launch(self, step: Launch, numbers: Sequence[int], memory: Mapping[str, Handle]) -> None:
        """Launch a kernel; what the device cannot give it in place is copied there and back."""
        kernel = self._kernels[step.kernel]
        given = [self._slice(place, numbers, memory) for place in step.arguments]
        used = [self._usable(kernel, given, k) for k in range(len(given))]
        for source, target in zip(given, used, strict=True):
            if source is not target:
                self.device.copy(source, target)
        self.device.launch(kernel, step.grid, used)
        for argument, source, target in zip(kernel.arguments, given, used, strict=True):
            if argument.written and source is not target:
                self.device.copy(target, source)

    def _usable(self, kernel: Kernel, given: Sequence[Slice], k: int) -> Slice:
        """Return an argument as the device can have it: itself, or memory for a copy of it."""
        this, written = given[k], kernel.arguments[k].written
        others = [n for n in range(len(given)) if n != k and given[n].overlaps(this)]
        clash = not self.device.may_overlap and not written
        clash = clash and any(kernel.arguments[n].written or n < k for n in others)
        if this.offset % self.device.alignment == 0 and not clash:
            return this
        key = (k, this.size)
        if key not in self._spare:
            self._spare[key] = self.device.allocate(this.size)
        return Slice(self._spare[key], 0, this.size)
