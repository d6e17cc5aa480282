"""Converters of products and gathers of weights in blocks of a few bits, packed into bytes."""

from __future__ import annotations

import math

import numpy as np
from xdsl.ir import SSAValue

from nn_opt.dialects import graph
from nn_opt.frontends.onnx.contrib import contrib
from nn_opt.frontends.onnx.movement import sliced
from nn_opt.frontends.onnx.node import (
    F32,
    BadNode,
    Node,
    Results,
    Unsupported,
    cast,
    dtype_of,
    reshaped,
    scalar_like,
    transposed,
)
from nn_opt.ir.types import element_type, shape_of

FEW_ROWS = 8  # so many rows are sums along rows of weights; more are worth a matrix of these
BITS = (2, 4, 8)


@contrib(
    "MatMulNBits",
    needs=3,
    most=6,
    attrs="K! N! block_size! bits accuracy_level",
    only={"weight_prepacked": 0},
)
def matmul_bits(node: Node) -> Results:
    """Operands: a [..., K], packed weights [N, blocks, bytes], scales, zeros, order, bias.

    Weights stay packed: few rows of a read each byte once, and unpack it in registers.
    """
    form = _Form(node)
    a = cast(node[0], F32)
    *outer, size = shape_of(a)
    if size != form.size:
        raise BadNode(f"rows of operand 0 have {size} elements, expected K = {form.size}")
    rows = math.prod(outer)
    a = reshaped(a, [rows, size])
    product = form.by_rows(a) if rows <= FEW_ROWS else graph.MatmulOp(a, form.matrix()).result
    product = reshaped(product, [*outer, form.columns])
    if node.get(5) is not None:
        product = graph.AddOp(product, cast(node[5], F32)).result
    return cast(product, element_type(node[0]))


class _Form:
    """Weights of MatMulNBits: K by N numbers of some bits, in blocks along K."""

    def __init__(self, node: Node):
        attrs = node.attrs
        self.size, self.columns = attrs.int("K"), attrs.int("N")
        self.block, self.bits = attrs.int("block_size"), attrs.int("bits", 4)
        if node.get(4) is not None:
            raise Unsupported("operand 4, an order of groups")
        if self.bits not in BITS or self.block < 1 or self.block * self.bits % 8:
            have = f"blocks of {self.block} numbers of {self.bits} bits"
            raise BadNode(f"{have}, expected whole bytes of numbers of 2, 4 or 8")
        self.blocks = -(-self.size // self.block)
        wanted = (self.columns, self.blocks, self.block * self.bits // 8)
        if math.prod(shape_of(node[1])) != math.prod(wanted) or dtype_of(node[1]) != np.uint8:
            have = f"weights are {dtype_of(node[1])} {list(shape_of(node[1]))}"
            raise BadNode(f"{have}, expected uint8 {list(wanted)}")
        self.packed = reshaped(node[1], wanted)
        self.scales = cast(reshaped(node[2], [self.columns, self.blocks, 1]), F32)
        self.zeros = self._zeros(node.get(3))

    def _zeros(self, given: SSAValue | None) -> SSAValue | None:
        """Return the zero point of each block, packed or not; None for half of the range."""
        if given is None:
            return None
        shape = [self.columns, self.blocks, 1]
        if dtype_of(given) != np.uint8:
            return cast(reshaped(given, shape), F32)
        row = -(-self.blocks * self.bits // 8)
        packed = reshaped(given, [self.columns, row])
        whole = beside(unpacked(packed, self.bits))
        return cast(reshaped(sliced(whole, 1, 0, self.blocks), shape), F32)

    def _centred(self, part: SSAValue) -> SSAValue:
        """Return a part of the weights less their zero points."""
        whole = cast(part, F32)
        zero = scalar_like(1 << (self.bits - 1), whole) if self.zeros is None else self.zeros
        return graph.SubOp(whole, zero).result

    def by_rows(self, a: SSAValue) -> SSAValue:
        """Return [rows, N] as sums along rows of weights, a byte's numbers beside each other."""
        rows, count = shape_of(a)[0], 8 // self.bits
        missing = self.blocks * self.block - self.size
        if missing:
            a = graph.PadOp(a, [0, 0, 0, missing], "constant", None).result
        apart = reshaped(a, [rows, 1, self.blocks, self.block // count, count])
        total: SSAValue | None = None
        for index, part in enumerate(unpacked(self.packed, self.bits)):
            factor = reshaped(
                sliced(apart, 4, index, 1), [rows, 1, self.blocks, self.block // count]
            )
            term = graph.MulOp(self._centred(part), factor).result
            total = term if total is None else graph.AddOp(total, term).result
        assert total is not None, "a byte has at least one number"
        scaled = graph.MulOp(total, self.scales).result
        return graph.ReduceOp(scaled, "sum", [2, 3], False).result

    def matrix(self) -> SSAValue:
        """Return the weights [K, N] in float32."""
        whole = beside(unpacked(self.packed, self.bits))
        real = graph.MulOp(self._centred(whole), self.scales).result
        flat = reshaped(real, [self.columns, self.blocks * self.block])
        return transposed(sliced(flat, 1, 0, self.size), [1, 0])


def unpacked(packed: SSAValue, bits: int) -> list[SSAValue]:
    """Return the numbers in bytes: all that come first in theirs, all that come second, ..."""
    if bits == 8:
        return [packed]
    found: list[SSAValue] = []
    for shift in range(0, 8, bits):
        part = packed
        if shift:
            part = graph.ShiftOp(part, scalar_like(shift, part), direction="right").result
        if shift + bits < 8:
            part = graph.BitwiseAndOp(part, scalar_like((1 << bits) - 1, part)).result
        found.append(part)
    return found


def beside(parts: list[SSAValue]) -> SSAValue:
    """Return the numbers of each byte beside each other, along the last axis."""
    *outer, size = shape_of(parts[0])
    apart = [reshaped(part, [*outer, size, 1]) for part in parts]
    whole = apart[0] if len(apart) == 1 else graph.ConcatOp(apart, len(outer) + 1).result
    return reshaped(whole, [*outer, size * len(parts)])
