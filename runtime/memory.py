"""Blocks of memory for weights and temporaries, on huge pages where the system has them."""

from __future__ import annotations

import ctypes
import io
import mmap
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

_HUGE = 2 << 20  # bytes of a huge page on x86-64 and aarch64
_KEPT = 8  # arenas that a model keeps for its next calls


class Block:
    """Some bytes, aligned to 4096 at least; freed with the last array that views them."""

    def __init__(self, size: int) -> None:
        """Allocate zeros, on huge pages if the size is worth one."""
        spare = _HUGE if size >= _HUGE else 0
        # private: the child of a fork must not write into its parent's temporaries
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        try:
            area = mmap.mmap(-1, max(size + spare, 1), flags=flags)
        except (OSError, OverflowError):
            raise MemoryError(f"{size} bytes of memory cannot be had") from None
        if spare and hasattr(mmap, "MADV_HUGEPAGE"):
            area.madvise(mmap.MADV_HUGEPAGE)
        whole = np.frombuffer(area, np.uint8)
        start = -whole.ctypes.data % _HUGE if spare else 0
        self._hold(whole[start : start + size])

    @classmethod
    def mapped(cls, file: IO[bytes] | io.FileIO, offset: int, size: int) -> Block:
        """Map a part of a file, read-only; `offset` is a multiple of the page size."""
        block = cls(0)
        if size:
            area = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ, offset=offset)
            block._hold(np.frombuffer(area, np.uint8))
        return block

    def _hold(self, array: NDArray[Any]) -> None:
        self.bytes = array
        self.address: int = array.ctypes.data  # kept, since asking takes a microsecond


class Arena:
    """What one call in progress writes: its temporaries, and tables of its arguments' addresses."""

    def __init__(self, size: int, inputs: int, outputs: int) -> None:
        self._block = Block(size)
        self.address = self._block.address
        self.inputs, self.outputs = ((ctypes.c_void_p * count)() for count in (inputs, outputs))
        self.inputs_at, self.outputs_at = map(ctypes.addressof, (self.inputs, self.outputs))


class Arenas:
    """The arenas of one model: each call in progress has its own."""

    def __init__(self, size: int, inputs: int, outputs: int) -> None:
        self._sizes = size, inputs, outputs
        self._free: list[Arena] = []

    def take(self) -> Arena:
        """Return an arena that nobody else uses until it is given back."""
        try:
            return self._free.pop()  # list.pop and append are atomic
        except IndexError:
            return Arena(*self._sizes)

    def give(self, arena: Arena) -> None:
        """Take an arena back."""
        if len(self._free) < _KEPT:
            self._free.append(arena)
