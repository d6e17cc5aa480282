"""Probabilities of classes of pairwise ones, as libsvm couples them (Wu, Lin and Weng, 2004)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import SSAValue

from nn_opt.dialects import graph
from nn_opt.frontends.onnx.ml_scores import columns
from nn_opt.frontends.onnx.node import constant, scalar_like
from nn_opt.frontends.onnx.scan import scan
from nn_opt.ir.types import shape_of

ROUNDS = 100
LEAST = 1e-7


def _add(a: SSAValue, b: SSAValue) -> SSAValue:
    return graph.AddOp(a, b).result


def _sub(a: SSAValue, b: SSAValue) -> SSAValue:
    return graph.SubOp(a, b).result


def _mul(a: SSAValue, b: SSAValue) -> SSAValue:
    return graph.MulOp(a, b).result


def _div(a: SSAValue, b: SSAValue) -> SSAValue:
    return graph.DivOp(a, b).result


def pair_probability(scores: SSAValue, a: NDArray[Any], b: NDArray[Any]) -> SSAValue:
    """Return how likely the first class of each pair is, [N, pairs], never quite 0 or 1."""
    value = _add(_mul(scores, constant(a)), constant(b))
    likely = graph.SigmoidOp(graph.NegOp(value).result).result
    limits = (scalar_like(limit, likely) for limit in (LEAST, 1 - LEAST))
    return graph.ClipOp(likely, *limits).result


def shares_of_pairs(pairs: SSAValue, classes: int) -> SSAValue:
    """Return how likely each class is, [N, classes].

    Minimises p' Q p, sum p = 1, by coordinates; a row that is near enough changes no more.
    """
    q = _quadratic(pairs, classes)
    start = np.full((shape_of(pairs)[0], classes), 1 / classes, np.float32)
    coupling = Coupling(q, classes)
    rounds = constant(np.zeros(ROUNDS, np.int64))
    (p,) = scan([constant(start)], [rounds], coupling.step, reverse=False)
    return p


def _quadratic(pairs: SSAValue, classes: int) -> list[list[SSAValue]]:
    """Return Q as columns [N, 1]: the sum of r_ji^2, and -r_ij r_ji beside the diagonal."""
    rows = shape_of(pairs)[0]
    r: dict[tuple[int, int], SSAValue] = {}
    for k, (i, j) in enumerate(combinations(range(classes), 2)):
        first = graph.SliceOp(pairs, [0, k], [rows, 1], [1, 1]).result
        r[i, j], r[j, i] = first, _sub(scalar_like(1, first), first)

    def entry(i: int, j: int) -> SSAValue:
        if i != j:
            return graph.NegOp(_mul(r[i, j], r[j, i])).result
        squares = [_mul(r[k, i], r[k, i]) for k in range(classes) if k != i]
        total = squares[0]
        for square in squares[1:]:
            total = _add(total, square)
        return total

    return [[entry(i, j) for j in range(classes)] for i in range(classes)]


class Coupling:
    """One round through all coordinates."""

    def __init__(self, q: list[list[SSAValue]], classes: int) -> None:
        self.rows = [columns(*row) for row in q]  # Q is symmetric: its rows are its columns
        self.diagonal = [row[i] for i, row in enumerate(q)]
        self.classes = classes

    def step(
        self, states: Sequence[SSAValue], slices: Sequence[SSAValue]
    ) -> tuple[list[SSAValue], list[SSAValue]]:
        p = before = states[0]
        qp = self._product(p)
        value = graph.ReduceOp(_mul(p, qp), "sum", [1]).result
        errors = graph.AbsOp(_sub(qp, value)).result
        error = graph.ReduceOp(errors, "max", [1]).result
        for i in range(self.classes):
            column = self._column(qp, i)
            diff = _div(_sub(value, column), self.diagonal[i])
            scale = _add(diff, scalar_like(1, diff))
            twice = _mul(column, scalar_like(2, column))
            more = _mul(diff, _add(_mul(diff, self.diagonal[i]), twice))
            value = _div(_div(_add(value, more), scale), scale)
            qp = _div(_add(qp, _mul(diff, self.rows[i])), scale)
            chosen = np.zeros((1, self.classes), np.float32)
            chosen[0, i] = 1
            p = _div(_add(p, _mul(diff, constant(chosen))), scale)
        near = graph.LessOp(error, scalar_like(0.005 / self.classes, error)).result
        return [graph.WhereOp(near, before, p).result], []

    def _product(self, p: SSAValue) -> SSAValue:
        total = _mul(self._column(p, 0), self.rows[0])
        for i in range(1, self.classes):
            total = _add(total, _mul(self._column(p, i), self.rows[i]))
        return total

    def _column(self, x: SSAValue, index: int) -> SSAValue:
        return graph.SliceOp(x, [0, index], [shape_of(x)[0], 1], [1, 1]).result
