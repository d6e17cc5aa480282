"""Weights of few bits in panels of columns, packed into words: a part of pack-matmuls."""

from __future__ import annotations

from math import prod

import numpy as np
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from nn_opt.dialects import graph
from nn_opt.ir.resources import Array
from nn_opt.ir.target import Target
from nn_opt.ir.types import is_static, shape_of
from nn_opt.passes.quantized import known

BITS = 32  # of a word
# Vectors of a panel: one row needs many sums at once, of several rows each is such a sum.
ONE_ROW, SOME_ROWS, MANY_ROWS = (8, 4, 2, 1), (4, 2, 1), (2, 1)
SOME = 4


class PackBlocks(RewritePattern):
    """block_matmul(a, w)  ->  block_matmul(a, w in panels),  if w and its parameters are known

    and large, and columns are whole vectors.
    """

    def __init__(self, target: Target):
        self.target = target

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.BlockMatmulOp, rewriter: PatternRewriter, /):
        block, bits = op.block.value.data, op.bits.value.data
        if op.in_panels or not is_static(op.a) or block % (BITS // bits):
            return
        width = _width(prod(shape_of(op.a)[:-1]), shape_of(op.w)[1], self.target)
        if width is None or prod(shape_of(op.w)) <= self.target.l1_bytes:
            return
        values = (op.w, op.scale, *(() if op.zero is None else (op.zero,)))
        arrays = [known(value) for value in values]
        if any(array is None for array in arrays):
            return
        w, *parameters = (array for array in arrays if array is not None)
        new = [in_panels(words_of(w), width), *(in_panels(p, width) for p in parameters)]
        new[2:] = [_as_bytes(zero) for zero in new[2:]]
        packed, scale, *zero = (_constant(array, rewriter) for array in new)
        rewriter.replace(
            op,
            graph.BlockMatmulOp(
                op.a, packed, scale, zero[0] if zero else None, block=block, bits=bits
            ),
        )


def _width(rows: int, columns: int, target: Target) -> int | None:
    """Return the columns of a panel; None if they are no whole vectors."""
    choices = ONE_ROW if rows == 1 else SOME_ROWS if rows <= SOME else MANY_ROWS
    widths = (target.lanes * vectors for vectors in choices)
    return next((width for width in widths if columns % width == 0), None)


def words_of(packed: Array) -> Array:
    """Return rows of bytes as rows of words, the first byte at the low end."""
    rows, columns = packed.shape
    neighbours = np.ascontiguousarray(packed.reshape(rows // 4, 4, columns).transpose(0, 2, 1))
    return neighbours.view("<u4").reshape(rows // 4, columns)


def in_panels(matrix: Array, width: int) -> Array:
    """Return panels of so many columns; one column for all stays so."""
    rows, columns = matrix.shape
    if columns == 1:
        return matrix[np.newaxis]
    return np.ascontiguousarray(matrix.reshape(rows, -1, width).transpose(1, 0, 2))


def _as_bytes(zero: Array) -> Array:
    """Return zero points as bytes, if they are such."""
    narrow = zero.clip(0, 255).astype(np.uint8)
    return narrow if np.array_equal(narrow, zero) else zero


def _constant(array: Array, rewriter: PatternRewriter) -> SSAValue:
    return rewriter.insert(graph.ConstantOp(array)).result
