"""Converters of determinants and inverses: Gaussian elimination, a step of a scan for each row."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.ir import SSAValue

from nn_opt.dialects import graph
from nn_opt.frontends.onnx.heads import cast_like
from nn_opt.frontends.onnx.movement import sliced
from nn_opt.frontends.onnx.node import (
    F32,
    BadNode,
    Node,
    Results,
    cast,
    constant,
    dtype_of,
    reshaped,
)
from nn_opt.frontends.onnx.scan import scan
from nn_opt.frontends.onnx.table import converts
from nn_opt.ir.types import element_type, numpy_dtype, shape_of


@converts("Det")
def determinant(node: Node) -> Results:
    """The product of the pivots, its sign changed by each exchange of rows."""
    matrices, outer = _matrices(node[0])
    batch, size, _ = shape_of(matrices)
    ones = constant(np.ones(batch, numpy_dtype(element_type(matrices))))
    steps = constant(np.arange(size))
    product = scan([matrices, ones], [steps], _Eliminate(size, whole=False), reverse=False)[1]
    return cast_like(reshaped(product, outer), node[0])


@converts("Inverse", domain="com.microsoft")
def inverse(node: Node) -> Results:
    """What elimination makes of the identity on the right of a matrix."""
    matrices, outer = _matrices(node[0])
    batch, size, _ = shape_of(matrices)
    dtype = numpy_dtype(element_type(matrices))
    identity = constant(np.broadcast_to(np.eye(size, dtype=dtype), (batch, size, size)).copy())
    both = graph.ConcatOp([matrices, identity], 2).result
    ones, steps = constant(np.ones(batch, dtype)), constant(np.arange(size))
    solved = scan([both, ones], [steps], _Eliminate(size, whole=True), reverse=False)[0]
    return cast_like(reshaped(sliced(solved, 2, size, size), [*outer, size, size]), node[0])


def _matrices(value: SSAValue) -> tuple[SSAValue, Sequence[int]]:
    """Return square matrices, in float32 or wider, along one axis, and the axes it stands for."""
    *outer, rows, columns = shape_of(value) if len(shape_of(value)) > 1 else (0, 1)
    if rows != columns:
        raise BadNode(f"operand 0 has shape {list(shape_of(value))}, expected square matrices")
    wide = value if dtype_of(value).itemsize >= 4 else cast(value, F32)
    return reshaped(wide, [math.prod(outer), rows, rows]), outer


@dataclass(frozen=True)
class _Eliminate:
    """Clears column k below its largest element, or above it, too, with `whole`.

    States: matrices [batch, size, columns] and the products of pivots so far; slice: k.
    """

    size: int
    whole: bool

    def __call__(
        self, states: Sequence[SSAValue], slices: Sequence[SSAValue]
    ) -> tuple[Sequence[SSAValue], Sequence[SSAValue]]:
        (matrices, product), (k,) = states, slices
        batch, size, columns = shape_of(matrices)
        rows = constant(np.arange(size))
        place = self._pivot(matrices, k, rows)
        upper = graph.GatherNDOp(matrices, reshaped(place, [batch, 1]), 1).result
        pivot = graph.GatherOp(upper, k, 1).result
        here = reshaped(graph.GatherOp(matrices, k, 1).result, [batch, 1, columns])
        moved = graph.EqualOp(reshaped(rows, [size, 1]), reshaped(place, [batch, 1, 1])).result
        matrices = graph.WhereOp(moved, here, matrices).result
        cleared = self._cleared(matrices, upper, pivot, k, reshaped(rows, [size, 1]))
        sign = graph.WhereOp(graph.EqualOp(place, k).result, pivot, graph.NegOp(pivot).result)
        return [cleared, graph.MulOp(product, sign.result).result], []

    def _pivot(self, matrices: SSAValue, k: SSAValue, rows: SSAValue) -> SSAValue:
        """Return the row from k on whose element of column k is the largest."""
        sizes = graph.AbsOp(graph.GatherOp(matrices, k, 2).result).result
        done = graph.LessOp(rows, k).result
        nowhere = constant(np.asarray(-1, numpy_dtype(element_type(sizes))))
        sizes = graph.WhereOp(done, nowhere, sizes).result
        return graph.ArgReduceOp(sizes, "max", 1, keepdims=False).result

    def _cleared(
        self, matrices: SSAValue, upper: SSAValue, pivot: SSAValue, k: SSAValue, rows: SSAValue
    ) -> SSAValue:
        batch, _, columns = shape_of(matrices)
        pivot, upper = reshaped(pivot, [batch, 1, 1]), reshaped(upper, [batch, 1, columns])
        column = graph.GatherOp(matrices, k, 2).result
        column = reshaped(column, [*shape_of(column), 1])
        factor = graph.DivOp(column, pivot).result
        if not self.whole:  # of a column of zeros the determinant is 0, whatever follows
            zero = constant(np.zeros((), numpy_dtype(element_type(pivot))))
            empty = graph.EqualOp(pivot, zero).result
            factor = graph.WhereOp(empty, zero, factor).result
        less = graph.SubOp(matrices, graph.MulOp(factor, upper).result).result
        if not self.whole:
            return graph.WhereOp(graph.GreaterOp(rows, k).result, less, matrices).result
        scaled = graph.DivOp(upper, pivot).result
        return graph.WhereOp(graph.EqualOp(rows, k).result, scaled, less).result
