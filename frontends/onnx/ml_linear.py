"""Converters of ai.onnx.ml's linear models and support vector machines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import SSAValue

from nn_opt.dialects import graph
from nn_opt.frontends.onnx.ml_probability import pair_probability, shares_of_pairs
from nn_opt.frontends.onnx.ml_scores import (
    DOMAIN,
    best,
    class_labels,
    is_above,
    labelled,
    of_two,
    rows_of,
    transform_of,
    transformed,
)
from nn_opt.frontends.onnx.node import (
    F32,
    BadNode,
    Node,
    Results,
    cast,
    constant,
    scalar_like,
)
from nn_opt.frontends.onnx.table import converts
from nn_opt.ir.types import shape_of

Array = NDArray[Any]


def _floats(node: Node, name: str, *, needed: bool = True) -> Array:
    found = node.attrs.floats(name)
    if not found and needed:
        raise BadNode(f"attribute '{name}' is missing or empty")
    return np.asarray(found or [], np.float32)


def _table(values: Array, columns: int, name: str) -> Array:
    if not columns or len(values) % columns:
        raise BadNode(f"{name} has {len(values)} entries, expected rows of {columns}")
    return values.reshape(-1, columns)


def _features(node: Node) -> SSAValue:
    return cast(rows_of(node[0]), F32)


def _linear(node: Node, x: SSAValue) -> SSAValue:
    """Return x times the coefficients of each target, plus its intercept, [N, targets]."""
    weights = _table(_floats(node, "coefficients"), shape_of(x)[1], "coefficients")
    y = graph.MatmulOp(x, constant(np.ascontiguousarray(weights.T))).result
    intercepts = _floats(node, "intercepts", needed=False)
    if not len(intercepts):
        return y
    if len(intercepts) != len(weights):
        raise BadNode(f"intercepts has {len(intercepts)} entries, expected {len(weights)}")
    return graph.AddOp(y, constant(intercepts)).result


@converts("LinearRegressor", domain=DOMAIN)
def linear_regressor(node: Node) -> Results:
    scores = _linear(node, _features(node))
    targets = node.attrs.int("targets", 1)
    if shape_of(scores)[1] != targets:
        raise BadNode(f"there are coefficients of {shape_of(scores)[1]} targets, not {targets}")
    return transformed(scores, transform_of(node))


@converts("LinearClassifier", domain=DOMAIN)
def linear_classifier(node: Node) -> Results:
    """With coefficients of one class, another has what is left to one."""
    scores, name = _linear(node, _features(node)), transform_of(node)
    labels, count = class_labels(node, "classlabels_ints"), shape_of(scores)[1]
    if count > 1:
        if len(labels) != count:
            raise BadNode(f"there are coefficients of {count} classes, but {len(labels)} labels")
        return [labelled(best(scores), labels), transformed(scores, name)]
    if len(labels) != 2:
        return [is_above(scores, 0, [0, 1]), transformed(scores, name)]
    return [is_above(scores, 0, labels), of_two(scores, name, shares=True)]


def _kernel(node: Node, x: SSAValue, vectors: Array, kind: str) -> SSAValue:
    """Return how near each row is to each vector, [N, vectors]."""
    given = _floats(node, "kernel_params", needed=False)
    gamma, coef0, degree = (float(p) for p in (given if len(given) == 3 else np.zeros(3)))
    if kind == "RBF":
        return _radial(x, vectors, gamma)
    dot = graph.MatmulOp(x, constant(np.ascontiguousarray(vectors.T))).result
    if kind == "LINEAR":
        return dot
    scaled = graph.MulOp(dot, scalar_like(gamma, dot)).result
    scaled = graph.AddOp(scaled, scalar_like(coef0, dot)).result
    if kind == "SIGMOID":
        return graph.TanhOp(scaled).result
    return graph.PowOp(scaled, scalar_like(degree, scaled)).result


def _radial(x: SSAValue, vectors: Array, gamma: float) -> SSAValue:
    """Return exp(-gamma |x - v|^2), of differences: products would cancel."""
    rows = graph.ReshapeOp(x, [shape_of(x)[0], 1, shape_of(x)[1]]).result
    apart = graph.SubOp(rows, constant(vectors[None])).result
    squares = graph.ReduceOp(graph.MulOp(apart, apart).result, "sum", [2], False).result
    return graph.ExpOp(graph.MulOp(squares, scalar_like(-gamma, squares)).result).result


KERNELS = {name: name for name in ("LINEAR", "POLY", "RBF", "SIGMOID")}


@converts("SVMRegressor", domain=DOMAIN)
def svm_regressor(node: Node) -> Results:
    """Without support vectors the coefficients are those of a linear model."""
    x, count = _features(node), node.attrs.int("n_supports")
    coefficients, rho = _floats(node, "coefficients"), _floats(node, "rho")
    if count > 0:
        kind = node.attrs.choice("kernel_type", "LINEAR", KERNELS)
        vectors = _vectors(node, x, count)
        near = _kernel(node, x, vectors, kind)
    else:
        near, count = x, shape_of(x)[1]
    if len(coefficients) != count:
        raise BadNode(f"coefficients has {len(coefficients)} entries, expected {count}")
    y = graph.MatmulOp(near, constant(coefficients.reshape(-1, 1))).result
    y = graph.AddOp(y, scalar_like(float(rho[0]), y)).result
    if not node.attrs.flag("one_class"):
        return y
    above = graph.GreaterOp(y, scalar_like(0, y)).result
    return graph.WhereOp(above, scalar_like(1, y), scalar_like(-1, y)).result


def _vectors(node: Node, x: SSAValue, count: int) -> Array:
    vectors = _table(_floats(node, "support_vectors"), shape_of(x)[1], "support_vectors")
    if len(vectors) != count:
        raise BadNode(f"there are {len(vectors)} support vectors, expected {count}")
    return vectors


@converts("SVMClassifier", domain=DOMAIN)
def svm_classifier(node: Node) -> Results:
    """Labels, then scores: of each pair of classes, or with prob_a and prob_b of each class."""
    x, name = _features(node), transform_of(node)
    labels = class_labels(node, "classlabels_ints")
    counts = node.attrs.ints("vectors_per_class") or []
    if not sum(counts):
        return _linear_machine(node, x, labels, name)
    if len(counts) != len(labels):
        raise BadNode(f"vectors_per_class has {len(counts)} entries, expected {len(labels)}")
    kind = node.attrs.choice("kernel_type", "LINEAR", KERNELS)
    near = _kernel(node, x, _vectors(node, x, sum(counts)), kind)
    pairs = Pairs(node, counts)
    scores = pairs.scores(near)
    votes = pairs.votes(scores)
    prob_a, prob_b = (_floats(node, f"prob_{n}", needed=False) for n in "ab")
    if len(prob_a) != len(prob_b):
        raise BadNode("prob_a and prob_b differ in size")
    if len(prob_a):
        shares = pair_probability(scores, pairs.fit("prob_a", prob_a), pairs.fit("prob_b", prob_b))
        chance = shares_of_pairs(shares, len(labels))
        return [labelled(best(votes), labels), transformed(chance, name)]
    if len(labels) == 2:
        return [labelled(best(votes), labels), of_two(scores, name, shares=name != "NONE")]
    return [labelled(best(votes), labels), transformed(scores, name)]


def _linear_machine(node: Node, x: SSAValue, labels: Sequence[int], name: str) -> Results:
    """One row of coefficients for each class; rho is the same for all."""
    coefficients = _floats(node, "coefficients")
    weights = _table(coefficients, shape_of(x)[1], "coefficients")
    if len(weights) != len(labels):
        raise BadNode(f"there are coefficients of {len(weights)} classes, not {len(labels)}")
    scores = graph.MatmulOp(x, constant(np.ascontiguousarray(weights.T))).result
    scores = graph.AddOp(scores, scalar_like(float(_floats(node, "rho")[0]), scores)).result
    places = best(scores)
    if len(labels) == 2:
        highest = graph.ReduceOp(scores, "max", [1], False).result
        if (coefficients >= 0).all():
            sure = graph.GreaterEqualOp(highest, scalar_like(0.5, highest)).result
        else:
            sure = graph.GreaterOp(highest, scalar_like(0, highest)).result
        places = graph.WhereOp(sure, scalar_like(1, places), places).result
    return [labelled(places, labels), transformed(scores, name)]


@dataclass(frozen=True)
class Pairs:
    """The machines that tell two classes apart, in the order 01, 02, .., 12, .."""

    node: Node
    counts: Sequence[int]

    @property
    def pairs(self) -> list[tuple[int, int]]:
        return list(combinations(range(len(self.counts)), 2))

    def fit(self, name: str, values: Array) -> Array:
        """Return one number for each pair; BadNode if there are fewer."""
        if len(values) < len(self.pairs):
            raise BadNode(f"{name} has {len(values)} entries, expected {len(self.pairs)}")
        return values[: len(self.pairs)]

    def scores(self, near: SSAValue) -> SSAValue:
        """Return the score of each pair, [N, pairs]: above zero for its first class."""
        table = _table(_floats(self.node, "coefficients"), sum(self.counts), "coefficients")
        if len(table) < len(self.counts) - 1:
            raise BadNode(f"coefficients has {len(table)} rows, expected {len(self.counts) - 1}")
        starts = [0, *accumulate(self.counts)]
        weights = np.zeros((sum(self.counts), len(self.pairs)), np.float32)
        for column, (i, j) in enumerate(self.pairs):
            first, second = (slice(starts[k], starts[k + 1]) for k in (i, j))
            weights[first, column] = table[j - 1, first]
            weights[second, column] = table[i, second]
        rho = self.fit("rho", _floats(self.node, "rho"))
        return graph.AddOp(graph.MatmulOp(near, constant(weights)).result, constant(rho)).result

    def votes(self, scores: SSAValue) -> SSAValue:
        """Return how many pairs each class wins, [N, classes]."""
        wins = np.zeros((len(self.pairs), len(self.counts)), np.float32)
        losses = np.zeros_like(wins)
        for row, (i, j) in enumerate(self.pairs):
            wins[row, i], losses[row, j] = 1, 1
        won = cast(graph.GreaterOp(scores, scalar_like(0, scores)).result, F32)
        lost = graph.SubOp(scalar_like(1, won), won).result
        products = (graph.MatmulOp(a, constant(b)).result for a, b in ((won, wins), (lost, losses)))
        return graph.AddOp(*products).result
