"""Weights packed into one block: in memory, or piece by piece for a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nn_opt.runtime.memory import Block

Array: TypeAlias = NDArray[Any]
Bytes: TypeAlias = NDArray[np.uint8]
Pack: TypeAlias = Callable[[Sequence[Array], Sequence[int], int], Block]
"""Returns a block of a size, in which array k lies at offset k."""

PIECE = 1 << 20  # bytes that stay in the second cache between two uses


def pack_weights(arrays: Sequence[Array], offsets: Sequence[int], size: int) -> Block:
    """Return one block in which array k lies at offsets[k]."""
    block = Block(size)
    for array, offset in zip(arrays, offsets, strict=True):
        assert 0 <= offset <= offset + array.nbytes <= size, "a weight outside its block"
        if array.size:
            place = block.bytes[offset : offset + array.nbytes].view(array.dtype)
            place.reshape(array.shape)[...] = array
    return block


def pieces(arrays: Sequence[Array], offsets: Sequence[int], size: int) -> Iterator[Bytes]:
    """Yield the bytes of such a block in order, a piece at a time; offsets ascend."""
    end = 0
    for array, offset in zip(arrays, offsets, strict=True):
        assert end <= offset <= offset + array.nbytes <= size, "a weight outside its block"
        yield from _zeros(offset - end)
        yield from _pieces_of(array)
        end = offset + array.nbytes
    yield from _zeros(size - end)


def _zeros(count: int) -> Iterator[Bytes]:
    if count:
        yield np.zeros(count, np.uint8)


def _pieces_of(array: Array) -> Iterator[Bytes]:
    if not array.flags.c_contiguous and array.nbytes > PIECE:  # put in order, some rows at a time
        rows = max(1, PIECE * len(array) // array.nbytes)
        for first in range(0, len(array), rows):
            yield from _pieces_of(array[first : first + rows] if len(array) > 1 else array[0])
        return
    flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    for start in range(0, len(flat), PIECE):
        yield flat[start : start + PIECE]
