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
    axis_in,
    cast,
    constant,
    dtype_of,
    rank_of,
    reshaped,
    scalar_like,
    transposed,
)
from nn_opt.ir.types import element_type, mlir_type, shape_of

BITS = (2, 4, 8)


@contrib(
    "MatMulNBits",
    needs=3,
    most=6,
    attrs="K! N! block_size! bits accuracy_level",
    only={"weight_prepacked": 0},
)
def matmul_bits(node: Node) -> Results:
    """Operands: a [..., K], packed weights [N, blocks, bytes], scales, zeros, order, bias."""
    size, columns = node.attrs.int("K"), node.attrs.int("N")
    block, bits = node.attrs.int("block_size"), node.attrs.int("bits", 4)
    if node.get(4) is not None:
        raise Unsupported("operand 4, an order of groups")
    if bits not in BITS or block < 1 or block * bits % 8:
        have = f"blocks of {block} numbers of {bits} bits"
        raise BadNode(f"{have}, expected whole bytes of numbers of 2, 4 or 8")
    if shape_of(node[0])[-1:] != (size,):
        have = f"operand 0 has shape {list(shape_of(node[0]))}"
        raise BadNode(f"{have}, expected rows of K = {size} elements")
    blocks = -(-size // block)
    _check_bytes(node[1], [columns, blocks, block * bits // 8])
    a, missing = cast(node[0], F32), blocks * block - size
    if missing:
        ends = [0] * (rank_of(a) - 1)
        a = graph.PadOp(a, [*ends, 0, *ends, missing], "constant", None).result
    weights = _by_rows(node[1], columns)
    scale, zero = cast(_by_rows(node[2], columns), F32), _zeros(node.get(3), columns, blocks, bits)
    product = graph.BlockMatmulOp(a, weights, scale, zero, block=block, bits=bits).result
    if node.get(5) is not None:
        product = graph.AddOp(product, cast(node[5], F32)).result
    return cast(product, element_type(node[0]))


def _check_bytes(weights: SSAValue, wanted: list[int]) -> None:
    if math.prod(shape_of(weights)) != math.prod(wanted) or dtype_of(weights) != np.uint8:
        have = f"weights are {dtype_of(weights)} {list(shape_of(weights))}"
        raise BadNode(f"{have}, expected uint8 {wanted}")


def _by_rows(value: SSAValue, columns: int) -> SSAValue:
    """Return [N, ...] as a matrix with N columns."""
    return transposed(reshaped(value, [columns, math.prod(shape_of(value)) // columns]), [1, 0])


def _zeros(given: SSAValue | None, columns: int, blocks: int, bits: int) -> SSAValue:
    """Return the zero points [blocks, N], which may be packed; half of the range by default."""
    if given is None:
        return constant(np.full((1, 1), 1 << (bits - 1), np.float32))
    if dtype_of(given) == np.uint8:
        row = -(-blocks * bits // 8)
        given = sliced(unpacked(reshaped(given, [columns, row]), bits), 1, 0, blocks)
    return cast(_by_rows(given, columns), F32)


def unpacked(packed: SSAValue, bits: int) -> SSAValue:
    """Return the numbers in bytes, beside each other along the last axis, the lowest bits first."""
    if bits == 8:
        return packed
    *outer, size = shape_of(packed)
    parts: list[SSAValue] = []
    for shift in range(0, 8, bits):
        part = packed
        if shift:
            part = graph.ShiftOp(part, scalar_like(shift, part), direction="right").result
        part = graph.BitwiseAndOp(part, scalar_like((1 << bits) - 1, part)).result
        parts.append(reshaped(part, [*outer, size, 1]))
    whole = graph.ConcatOp(parts, len(outer) + 1).result
    return reshaped(whole, [*outer, size * len(parts)])


@contrib(
    "GatherBlockQuantized",
    needs=3,
    most=4,
    attrs="gather_axis quantize_axis block_size bits",
)
def gather_block_quantized(node: Node) -> Results:
    """Operands: integers in blocks, indices, scales, zeros; what is read becomes real numbers."""
    data, indices = node[0], node[1]
    rank, bits = rank_of(data), node.attrs.int("bits", 4)
    axis = axis_in(node.attrs.int("gather_axis", 0), rank)
    along = axis_in(node.attrs.int("quantize_axis", 1), rank)
    packed, block = dtype_of(data) == np.uint8, node.attrs.int("block_size", 128)
    if axis == along or block < 1 or (packed and (axis, along) != (0, rank - 1)):
        raise BadNode(f"gathers along axis {axis} of blocks of {block} along axis {along}")
    parameters = (data, node[2], node.get(3))
    w, scale, zero = (
        None if value is None else graph.GatherOp(value, indices, axis).result
        for value in parameters
    )
    assert w is not None, "operands 0 and 2 are there"
    assert scale is not None, "operands 0 and 2 are there"
    along += rank_of(indices) - 1 if axis < along else 0
    if packed:
        w = unpacked(w, bits)
        if zero is None:
            zero = constant(np.full([1] * rank_of(w), 1 << (bits - 1), np.uint8))
        else:
            zero = sliced(unpacked(zero, bits), along, 0, shape_of(scale)[along])
    return graph.DequantizeOp(w, scale, zero, element_type(scale), axis=along, block=block).result


# The numbers that four bits stand for, by quant_type: FP4, NF4.
FP4 = (0, 0.005208333333333333, 0.6666666666666666, 1, 0.3333333333333333, 0.5, 1 / 6, 0.25)
NF4 = (
    *(-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453),
    *(-0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0.0),
    *(0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224),
    *(0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0),
)
TABLES = ((*FP4, *(-number for number in FP4)), NF4)


@contrib(
    "MatMulBnb4",
    needs=3,
    attrs="K! N! block_size! quant_type! transB",
    only={"training_mode": 0},
)
def matmul_bnb4(node: Node) -> Results:
    """Operands: a [..., K], entries of a table, two a byte, and the greatest of each block."""
    size, columns = node.attrs.int("K"), node.attrs.int("N")
    block, kind = node.attrs.int("block_size"), node.attrs.int("quant_type")
    if kind not in (0, 1) or block < 1:
        raise BadNode(f"quant_type {kind} in blocks of {block}, expected 0 (FP4) or 1 (NF4)")
    count = size * columns
    _check_bytes(node[1], [-(-count // 2)])
    packed = reshaped(node[1], [-(-count // 2), 1])
    halves = [graph.ShiftOp(packed, scalar_like(4, packed), direction="right").result]
    halves.append(graph.BitwiseAndOp(packed, scalar_like(15, packed)).result)
    entries = graph.ConcatOp(halves, 1).result  # the upper one is first
    entries = sliced(reshaped(entries, [2 * shape_of(packed)[0]]), 0, 0, count)
    table = constant(np.asarray(TABLES[kind], np.float32))
    numbers = graph.GatherOp(table, cast(entries, mlir_type(np.int32)), 0).result
    greatest = graph.GatherOp(node[2], constant(np.arange(count) // block), 0).result
    weights = reshaped(graph.MulOp(numbers, cast(greatest, F32)).result, [columns, size])
    weights = transposed(weights, [1, 0]) if node.attrs.flag("transB", True) else weights
    return cast(graph.MatmulOp(cast(node[0], F32), weights).result, element_type(node[0]))
