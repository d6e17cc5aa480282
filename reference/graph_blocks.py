"""What weights of few bits in blocks mean, in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Operation

from nn_opt.dialects import graph
from nn_opt.reference.graph_reduction import widened

Array = NDArray[Any]


def dequantized(w: Array, scale: Array, zero: Array | None, axis: int, block: int) -> Array:
    """Return (w - zero) * scale in float32, parameters repeated along their blocks."""

    def spread(parameter: Array) -> Array:
        if parameter.shape[axis] > 1:
            parameter = np.repeat(parameter, block, axis)
            parameter = parameter.take(range(w.shape[axis]), axis)
        return parameter.astype(np.float32)

    values = w.astype(np.float32)
    values = values if zero is None else values - spread(zero)
    return values * spread(scale)


def dequantize(op: graph.DequantizeOp, w: Array, scale: Array, zero: Array | None = None) -> Array:
    return dequantized(w, scale, zero, op.axis.value.data, op.block.value.data)


def unpacked(w: Array, bits: int) -> Array:
    """Return the numbers of bytes, or of words, as rows of their own."""
    width = 8 * w.dtype.itemsize
    parts = [w >> (bits * part) & ((1 << bits) - 1) for part in range(width // bits)]
    return np.stack(parts, 1).reshape(-1, w.shape[1])


def of_panels(panels: Array) -> Array:
    """Return a matrix of its panels of columns."""
    if panels.ndim < 3:
        return panels
    return panels.transpose(1, 0, 2).reshape(panels.shape[1], -1)


def block_matmul(
    op: graph.BlockMatmulOp, a: Array, w: Array, scale: Array, zero: Array | None = None
) -> Array:
    scale, zero = of_panels(scale), None if zero is None else of_panels(zero)
    numbers = unpacked(of_panels(w), op.bits.value.data)
    return np.matmul(widened(a), dequantized(numbers, scale, zero, 0, op.block.value.data))


MEANING: dict[type[Operation], Callable[..., Array]] = {
    graph.DequantizeOp: dequantize,
    graph.BlockMatmulOp: block_matmul,
}
