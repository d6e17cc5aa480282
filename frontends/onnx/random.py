"""Converters of random numbers: functions of a seed and of each element's place.

A node without a seed has one that is made of its name. A program is a function: each run of it
gives the same numbers.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence

import numpy as np
from onnx import TensorProto
from xdsl.ir import Attribute, SSAValue

from nn_opt.dialects import graph
from nn_opt.frontends.onnx.node import (
    Node,
    Results,
    cast,
    constant,
    scalar,
    scalar_like,
)
from nn_opt.frontends.onnx.table import converts
from nn_opt.ir.types import element_type, mlir_type, shape_of

F32, F64 = mlir_type(np.float32), mlir_type(np.float64)
GOLDEN = 0x9E3779B9  # keys of a node's streams lie this far apart


def _key(node: Node, stream: int = 0) -> int:
    """Return the key of one of a node's streams."""
    seeded = "seed" in node.attrs
    text = struct.pack("<f", node.attrs.float("seed")) if seeded else node.label.encode()
    return (zlib.crc32(text) + stream * GOLDEN) % (1 << 32)


def _uniform(shape: Sequence[int], key: int, wide: bool) -> SSAValue:
    """Return numbers from 0 up to 1, which is left out: of 24 random bits, or of 53 in f64."""
    bits = graph.RandomBitsOp(shape, key).result
    if not wide:
        return _fraction(bits, F32, 8, 24)
    more = graph.RandomBitsOp(shape, key ^ 1).result
    high = _fraction(bits, F64, 0, 32)
    return graph.AddOp(high, _fraction(more, F64, 11, 53)).result


def _fraction(bits: SSAValue, element: Attribute, drop: int, scale: int) -> SSAValue:
    """Return the upper bits, without the last `drop` ones, divided by 2^scale."""
    if drop:
        by = constant(np.asarray(drop, np.uint32))
        bits = graph.ShiftOp(bits, by, "right").result
    number = cast(bits, element)
    return graph.MulOp(number, scalar(2.0**-scale, element)).result


def _normal(shape: Sequence[int], node: Node, wide: bool) -> SSAValue:
    """Return sqrt(-2 ln(1 - u)) cos(2 pi v). Source: Box and Muller, 1958."""
    u, v = (_uniform(shape, _key(node, 2 * stream), wide) for stream in (0, 1))
    rest = graph.LogOp(graph.SubOp(scalar_like(1, u), u).result).result
    radius = graph.SqrtOp(graph.MulOp(rest, scalar_like(-2, u)).result).result
    turn = graph.CosOp(graph.MulOp(v, scalar_like(2 * np.pi, v)).result).result
    return graph.MulOp(radius, turn).result


def _shape_and_dtype(node: Node) -> tuple[list[int], Attribute]:
    """Return what is asked for; of an operator that is like its operand, from that."""
    if not node.proto.op_type.endswith("Like"):
        kind = node.attrs.dtype("dtype", TensorProto.FLOAT)
        return list(node.attrs.ints("shape") or []), mlir_type(kind)
    shape = list(shape_of(node[0]))
    if "dtype" not in node.attrs:
        return shape, element_type(node[0])
    return shape, mlir_type(node.attrs.dtype("dtype", TensorProto.FLOAT))


@converts("RandomUniform", "RandomUniformLike")
def random_uniform(node: Node) -> Results:
    shape, element = _shape_and_dtype(node)
    low, high = node.attrs.float("low", 0.0), node.attrs.float("high", 1.0)
    u = _uniform(shape, _key(node), element == F64)
    scaled = graph.MulOp(u, scalar_like(high - low, u)).result
    return cast(graph.AddOp(scaled, scalar_like(low, u)).result, element)


@converts("RandomNormal", "RandomNormalLike")
def random_normal(node: Node) -> Results:
    shape, element = _shape_and_dtype(node)
    z = _normal(shape, node, element == F64)
    scaled = graph.MulOp(z, scalar_like(node.attrs.float("scale", 1.0), z)).result
    return cast(graph.AddOp(scaled, scalar_like(node.attrs.float("mean"), z)).result, element)


@converts("Bernoulli")
def bernoulli(node: Node) -> Results:
    """Whether a number from 0 to 1 is below the probability."""
    p = node[0]
    wide = element_type(p) == F64
    probability = cast(p, F64 if wide else F32)
    below = graph.LessOp(_uniform(shape_of(p), _key(node), wide), probability).result
    kind = mlir_type(node.attrs.dtype("dtype", TensorProto.FLOAT))
    return cast(below, kind if "dtype" in node.attrs else element_type(p))


@converts("Multinomial")
def multinomial(node: Node) -> Results:
    """Where numbers below the sum of all shares lie among the shares' running sums."""
    logits = cast(node[0], F64)
    peak = graph.ReduceOp(logits, "max", [1], True).result
    shares = graph.ExpOp(graph.SubOp(logits, peak).result).result
    total = graph.ReduceOp(shares, "sum", [1], True).result
    sums = graph.CumSumOp(shares, 1).result
    rows, classes = shape_of(logits)
    count = node.attrs.int("sample_size", 1)
    u = _uniform([rows, count], _key(node), True)
    found = graph.SearchSortedOp(sums, graph.MulOp(u, total).result, right=True).result
    last = constant(np.asarray(classes - 1, np.int64))
    kind = node.attrs.dtype("dtype", TensorProto.INT32)
    return cast(graph.MinimumOp(found, last).result, mlir_type(kind))
