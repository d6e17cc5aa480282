"""Where the constants of a program lie in its one block of weights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from xdsl.ir import Attribute

from nn_opt.dialects import loop
from nn_opt.ir.resources import Array, ResourceAttr, array_of

ALIGNMENT = 64


@dataclass
class Weights:
    """Constants in the order of their first use; equal ones share a place."""

    alignment: int = ALIGNMENT  # bytes, of each constant
    arrays: list[Array] = field(default_factory=list[Array])
    offsets: list[int] = field(default_factory=list[int])
    size: int = 0
    _known: dict[object, int] = field(default_factory=dict[object, int])

    def offset(self, op: loop.ConstantOp) -> int:
        """Return where a constant begins, in bytes."""
        key = _identity(op.value)
        if key not in self._known:
            array = array_of(op.value, op.result.type)
            self._known[key] = self.size
            self.arrays.append(array)
            self.offsets.append(self.size)
            self.size += -(-array.nbytes // self.alignment) * self.alignment
        return self._known[key]

    def content(self) -> bytes:
        """Return the block."""
        block = np.zeros(self.size, np.uint8)
        for array, at in zip(self.arrays, self.offsets, strict=True):
            flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
            block[at : at + flat.size] = flat
        return block.tobytes()


def _identity(value: Attribute) -> object:
    """Return what tells constants apart without looking at megabytes."""
    if isinstance(value, ResourceAttr) and value.data.array is not None:
        return id(value.data.array)
    return value


def elements_of(op: loop.ConstantOp) -> Iterator[float]:
    """Yield the elements of a small constant in row-major order."""
    yield from array_of(op.value, op.result.type).reshape(-1).tolist()
