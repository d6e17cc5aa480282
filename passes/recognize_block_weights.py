"""recognize-block-weights: products by weights of few bits, unpacked in registers."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import ClassVar

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from nn_opt.dialects import graph
from nn_opt.ir.remarks import remark
from nn_opt.ir.resources import Array
from nn_opt.ir.rewriting import rewrite
from nn_opt.ir.small_types import bits_of, is_small_integer
from nn_opt.ir.types import UNSIGNED, element_type, is_static, shape_of
from nn_opt.passes.fold_constants import FREE_BYTES
from nn_opt.passes.quantized import known


@dataclass(frozen=True)
class BlockWeights:
    """Known weights [K, N] without a sign, and their parameters [K / block, N] or 1 for a size."""

    numbers: Array
    scale: Array
    zero: Array | None
    block: int
    bits: int

    @property
    def packed(self) -> Array:
        """The numbers as bytes, the first along K at the low end of its byte."""
        per_byte = 8 // self.bits
        parts = [self.numbers[part::per_byte] << self.bits * part for part in range(per_byte)]
        return np.bitwise_or.reduce(parts).astype(np.uint8)


def block_weights(op: graph.DequantizeOp, turned: bool) -> BlockWeights | None:
    """Return what a product multiplies by; None if it is not known, or not in blocks along K."""
    parameters = (op.scale,) if op.zero is None else (op.scale, op.zero)
    arrays = [known(value) for value in (op.w, *parameters)]
    have = [array for array in arrays if array is not None]
    if len(have) != len(arrays):
        return None
    w, scale, *zeros = have
    bits, axis, block = bits_of(element_type(op.w)), op.axis.value.data, op.block.value.data
    half = 0 if element_type(op.w) in UNSIGNED.values() else 1 << (bits - 1)
    found = [scale.astype(np.float32), *(_without_sign(zero, half) for zero in zeros)]
    if half and not zeros:
        found.append(np.full((1, 1), half, np.uint8))
    matrix = _without_sign(w, half)
    if turned:
        matrix, axis, found = matrix.T, 1 - axis, [array.T for array in found]
    if axis == 1:
        found = [_spread(array, block, matrix.shape[1]) for array in found]
        block = 1
    if all(array.shape[0] == 1 for array in found):
        block = len(matrix)
    if block % (8 // bits):
        return None
    matrix = np.pad(matrix, ((0, -len(matrix) % block), (0, 0)))  # for zeros of the other factor
    zero = found[1].astype(np.float32) if len(found) > 1 else None
    return BlockWeights(matrix, found[0], zero, block, bits)


def _without_sign(array: Array, half: int) -> Array:
    return (array.astype(np.int16) + half).astype(np.uint8)


def _spread(array: Array, block: int, columns: int) -> Array:
    """Return a parameter for blocks of columns as one for each."""
    return array if array.shape[1] == 1 else np.repeat(array, block, 1)[:, :columns]


def padded(a: SSAValue, missing: int) -> graph.PadOp:
    """Return rows with zeros at their end."""
    ends = [0] * (len(shape_of(a)) - 1)
    return graph.PadOp(a, [*ends, 0, *ends, missing], "constant")


class MultiplyBlocks(RewritePattern):
    """matmul(a, dequantize(w))  ->  block_matmul(a, w in packed bytes),  also by its transpose,

    if w is a known matrix of integers of 2 or 4 bits that is too large to be floats for nothing.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.MatmulOp, rewriter: PatternRewriter, /):
        inner, turned = op.b.owner, False
        if isinstance(inner, graph.TransposeOp):
            inner, turned = inner.x.owner, True
        if not isinstance(inner, graph.DequantizeOp) or not is_static(op.a):
            return
        shape = shape_of(inner.w)
        if len(shape) != 2 or not is_small_integer(element_type(inner.w)):
            return
        if op.weight_layout is not None or op.wide is not None or prod(shape) * 4 <= FREE_BYTES:
            return
        weights = block_weights(inner, turned)
        if weights is None:
            remark(
                op,
                RecognizeBlockWeightsPass.name,
                "kept: blocks along K are not known, or no whole bytes",
            )
            return
        arrays = (np.ascontiguousarray(weights.packed), weights.scale, weights.zero)
        values = [
            None
            if array is None
            else rewriter.insert(graph.ConstantOp(np.ascontiguousarray(array))).result
            for array in arrays
        ]
        packed, scale, zero = values
        assert packed is not None, "is known"
        assert scale is not None, "is known"
        missing = len(weights.numbers) - shape_of(op.a)[-1]
        a = op.a if not missing else rewriter.insert(padded(op.a, missing)).result
        product = graph.BlockMatmulOp(
            a, packed, scale, zero, block=weights.block, bits=weights.bits
        )
        rewriter.replace(op, product)


class RecognizeBlockWeightsPass(ModulePass):
    """matmul(a, dequantize(w))  ->  block_matmul(a, w),  if w is known and of 2 or 4 bits.

    A float matrix would take eight times the memory, and reading that is what a product of few
    rows waits for.

    Needs: graph, weights at hand. Keeps: graph. Order: before fold-constants, which would make
    floats of small weights.
    """

    name: ClassVar[str] = "recognize-block-weights"  # pyright: ignore[reportIncompatibleVariableOverride]

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, MultiplyBlocks())
