"""Converters of tree ensembles: all trees and rows go down one level at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import SSAValue

from nn_opt.dialects import graph
from nn_opt.frontends.onnx.ml_forest import Branch, Forest, linked
from nn_opt.frontends.onnx.ml_scores import (
    DOMAIN,
    F64,
    best,
    class_labels,
    columns,
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
    dtype_of,
    scalar_like,
)
from nn_opt.frontends.onnx.scan import scan
from nn_opt.frontends.onnx.table import converts
from nn_opt.ir.types import element_type, shape_of

Array = NDArray[Any]
MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
MEMBER = 6
NEUTRAL = {"SUM": 0.0, "AVERAGE": 0.0, "MIN": np.inf, "MAX": -np.inf}
KINDS = {"SUM": "sum", "AVERAGE": "sum", "MIN": "min", "MAX": "max"}


@dataclass(frozen=True)
class Ensemble:
    """Trees, and for each leaf what it gives to the targets, NaN where it gives nothing."""

    forest: Forest
    weights: Array  # [leaves, targets]

    def leaves(self, x: SSAValue) -> SSAValue:
        """Return the row of `weights` that each tree comes to, [N, T]."""
        forest = self.forest
        most = max(forest.features, default=0)
        if most >= shape_of(x)[1] or min(forest.features, default=0) < 0:
            raise BadNode(f"a branch reads feature {most} of {shape_of(x)[1]}")
        at = constant(np.asarray(forest.roots, np.int64)[None])
        at = graph.ExpandOp(at, [shape_of(x)[0], len(forest.roots)]).result
        depth = forest.depth
        if depth:
            (at,) = scan([at], [constant(np.zeros(depth, np.int64))], self._step(x), reverse=False)
        rows = np.maximum(np.asarray(forest.rows, np.int64), 0)
        return graph.GatherOp(constant(rows), at).result

    def _step(self, x: SSAValue) -> Any:
        forest = self.forest
        features, yes, no = (
            constant(np.asarray(numbers, np.int64))
            for numbers in (forest.features, forest.yes, forest.no)
        )
        limits = constant(np.asarray(forest.thresholds, forest.dtype))
        marked = np.asarray(forest.nan_is_yes, np.uint8)
        marks = constant(marked) if marked.any() else None

        def step(
            states: Sequence[SSAValue], slices: Sequence[SSAValue]
        ) -> tuple[list[SSAValue], list[SSAValue]]:
            at = states[0]
            value = graph.GatherElementsOp(x, graph.GatherOp(features, at).result, 1).result
            holds = graph.LessEqualOp(value, graph.GatherOp(limits, at).result).result
            if marks is not None:
                mark = graph.GatherOp(marks, at).result
                is_yes = graph.GreaterOp(mark, scalar_like(0, mark)).result
                missing = graph.AndOp(graph.IsNaNOp(value).result, is_yes).result
                holds = graph.OrOp(holds, missing).result
            ways = (graph.GatherOp(way, at).result for way in (yes, no))
            return [graph.WhereOp(holds, *ways).result], []

        return step

    def sums(self, leaves: SSAValue, how: str) -> SSAValue:
        """Return what all trees give to each target together, [N, targets]."""
        table = np.where(np.isnan(self.weights), NEUTRAL[how], self.weights)
        given = graph.GatherOp(constant(table.astype(self.forest.dtype)), leaves).result
        total = graph.ReduceOp(given, KINDS[how], [1], keepdims=False).result
        if how == "AVERAGE":
            return graph.DivOp(total, scalar_like(len(self.forest.roots), total)).result
        if how != "SUM" and np.isnan(self.weights).any():
            nothing = graph.EqualOp(total, scalar_like(NEUTRAL[how], total)).result
            total = graph.WhereOp(nothing, scalar_like(0, total), total).result
        return total

    @property
    def given(self) -> Array:
        """Whether each leaf gives something to each target."""
        return ~np.isnan(self.weights[sorted({row for row in self.forest.rows if row >= 0})])

    def reached(self, leaves: SSAValue) -> SSAValue:
        """Return whether any tree gives something to each target, [N, targets]."""
        table = constant((~np.isnan(self.weights)).astype(np.int32))
        count = graph.ReduceOp(graph.GatherOp(table, leaves).result, "max", [1], False).result
        return graph.GreaterOp(count, scalar_like(0, count)).result


def _numbers(node: Node, name: str) -> Array:
    """Return an attribute of floats, or a tensor under its name for them."""
    tensor = node.attrs.tensor(f"{name}_as_tensor")
    if tensor is not None:
        return node.read_tensor(tensor).reshape(-1)
    return np.asarray(node.attrs.floats(name) or [], np.float32)


def _ints(node: Node, name: str, size: int | None = None) -> list[int]:
    found = node.attrs.ints(name) or []
    if size is not None and len(found) != size:
        raise BadNode(f"{name} has {len(found)} entries, expected {size}")
    return found


def ensemble_of_lists(node: Node, x: SSAValue, prefix: str, targets: int) -> Ensemble:
    """Return the trees of a classifier or a regressor, which name nodes by tree and number."""
    trees = _ints(node, "nodes_treeids")
    size = len(trees)
    names = [*zip(trees, _ints(node, "nodes_nodeids", size), strict=True)]
    places = {name: place for place, name in enumerate(names)}
    if len(places) != size or not size:
        raise BadNode("two nodes of a tree have one number" if size else "there are no nodes")
    weights, rows = _weights(node, prefix, targets, places)
    nodes = _branches(node, size, rows)

    def find(at: int, target: int) -> int:
        found = places.get((trees[at], target))
        if found is None:
            raise BadNode(f"tree {trees[at]} has no node {target}, to which a branch leads")
        return found

    forest = Forest(dtype_of(x))
    roots = [k for k in range(size) if not k or trees[k] != trees[k - 1]]
    linked(forest, nodes, find, roots)
    return Ensemble(forest, weights)


def _branches(node: Node, size: int, rows: dict[int, int]) -> list[Branch | int]:
    modes = node.attrs.texts("nodes_modes") or []
    values = _numbers(node, "nodes_values")
    if len(modes) != size or len(values) != size:
        raise BadNode(f"nodes_modes and nodes_values differ in size from {size} nodes")
    wrong = next((mode for mode in modes if mode not in (*MODES, "LEAF")), None)
    if wrong is not None:
        raise BadNode(f"nodes_modes has '{wrong}', expected LEAF or one of {', '.join(MODES)}")
    features = _ints(node, "nodes_featureids", size)
    yes, no = (_ints(node, f"nodes_{way}nodeids", size) for way in ("true", "false"))
    nan = _ints(node, "nodes_missing_value_tracks_true") or [0] * size
    found: list[Branch | int] = []
    for k, mode in enumerate(modes):
        if mode == "LEAF":
            found.append(rows.get(k, 0))
        else:
            missing = k < len(nan) and nan[k] == 1
            found.append(Branch(mode, features[k], [float(values[k])], missing, yes[k], no[k]))
    return found


def _weights(
    node: Node, prefix: str, targets: int, places: dict[tuple[int, int], int]
) -> tuple[Array, dict[int, int]]:
    """Return what leaves give, the first row nothing, and the row of each node that has one."""
    ids = _ints(node, f"{prefix}_ids")
    trees, nodes = (_ints(node, f"{prefix}_{n}", len(ids)) for n in ("treeids", "nodeids"))
    given = _numbers(node, f"{prefix}_weights")
    if len(given) != len(ids) or any(not 0 <= target < targets for target in ids):
        raise BadNode(f"{prefix}_ids and {prefix}_weights do not fit {targets} targets")
    rows: dict[int, int] = {}
    for name in zip(trees, nodes, strict=True):
        if name not in places:
            raise BadNode(f"tree {name[0]} has no node {name[1]}, which {prefix}_nodeids names")
        rows.setdefault(places[name], len(rows) + 1)
    table = np.full((len(rows) + 1, targets), np.nan)
    for target, name, weight in zip(ids, zip(trees, nodes, strict=True), given, strict=True):
        row = rows[places[name]]
        table[row, target] = np.nansum([table[row, target], weight])
    return table, rows


def _with_base(scores: SSAValue, base: Array) -> SSAValue:
    """Return scores plus base values, which are as many, or else count for nothing."""
    if len(base) != shape_of(scores)[1]:
        return scores
    return graph.AddOp(scores, constant(base.astype(dtype_of(scores)))).result


def _aggregation(node: Node) -> str:
    node.attrs.choice("aggregate_function", "SUM", KINDS)
    return node.attrs.text("aggregate_function", "SUM")


@converts("TreeEnsembleRegressor", domain=DOMAIN)
def tree_ensemble_regressor(node: Node) -> Results:
    """Doubles are compared and added as doubles; the result is float32."""
    x = rows_of(node[0])
    targets = node.attrs.int("n_targets")
    if targets < 1:
        raise BadNode(f"n_targets is {targets}, expected at least 1")
    ensemble = ensemble_of_lists(node, x, "target", targets)
    scores = ensemble.sums(ensemble.leaves(x), _aggregation(node))
    scores = _with_base(scores, _numbers(node, "base_values"))
    return cast(transformed(scores, transform_of(node)), F32)


@converts("TreeEnsembleClassifier", domain=DOMAIN)
def tree_ensemble_classifier(node: Node) -> Results:
    """Labels, then scores; of two classes, one may be all that the leaves name."""
    x = rows_of(node[0])
    labels = class_labels(node, "classlabels_int64s")
    ensemble = ensemble_of_lists(node, x, "class", len(labels))
    leaves = ensemble.leaves(x)
    scores = ensemble.sums(leaves, "SUM")
    vote = Vote(node, ensemble, leaves, _numbers(node, "base_values"), labels)
    label, scores = vote.of_two(scores) if len(labels) == 2 else vote.of_many(scores)
    return [label, cast(scores, F32)]


@dataclass(frozen=True)
class Vote:
    """Makes labels and final scores of what the leaves add up to."""

    node: Node
    ensemble: Ensemble
    leaves: SSAValue
    base: Array
    labels: Sequence[int]

    @property
    def name(self) -> str:
        return transform_of(self.node)

    def of_many(self, scores: SSAValue) -> tuple[SSAValue, SSAValue]:
        """The best of the classes to which some tree gave something; one class has no rival."""
        scores = _with_base(scores, self.base)
        if len(self.labels) == 1:
            return is_above(scores, 0, [0, 1]), transformed(scores, self.name)
        judged = scores
        if len(self.base) != len(self.labels) and not self.ensemble.given.all():
            reached = self.ensemble.reached(self.leaves)
            judged = graph.WhereOp(reached, scores, scalar_like(-np.inf, scores)).result
        return labelled(best(judged), self.labels), transformed(scores, self.name)

    def of_two(self, scores: SSAValue) -> tuple[SSAValue, SSAValue]:
        """Where no tree gave something to the second class, the first one's score is its own."""
        given = self.ensemble.given
        first, second = (_column(scores, k) for k in range(2))
        if not given[:, 1].any():
            return self._of_first(first)
        known, alone = self._of_both(first, second), self._of_first(first)
        if given[:, 1].all():
            return known
        reached = _column(self.ensemble.reached(self.leaves), 1)
        flat = graph.ReshapeOp(reached, [shape_of(reached)[0]]).result
        return (
            graph.WhereOp(flat, known[0], alone[0]).result,
            graph.WhereOp(reached, known[1], alone[1]).result,
        )

    @property
    def _is_binary(self) -> bool:
        given = self.ensemble.given
        return int(given.any(axis=0).sum()) == 1

    @property
    def _is_positive(self) -> bool:
        return bool((_numbers(self.node, "class_weights") >= 0).all())

    def _label(self, score: SSAValue) -> SSAValue:
        labels = self.labels if self._is_binary else [0, 1]
        limit = 0.5 if self._is_binary and self._is_positive else 0.0
        return is_above(score, limit, labels)

    def _of_both(self, first: SSAValue, second: SSAValue) -> tuple[SSAValue, SSAValue]:
        if len(self.base) == 2:
            second = _plus(first, self.base[1])
            first = graph.NegOp(second).result
        elif len(self.base) == 1:
            first = _plus(first, self.base[0])
        return self._label(second), transformed(columns(first, second), self.name)

    def _of_first(self, first: SSAValue) -> tuple[SSAValue, SSAValue]:
        first = _plus(first, self.base[0]) if len(self.base) else first
        if len(self.base) == 2:
            other = graph.MulOp(first, scalar_like(0, first)).result
            both = columns(first, _plus(other, self.base[1]))
            return self._label(first), transformed(both, self.name)
        shares = self._is_binary and self._is_positive
        return self._label(first), of_two(first, self.name, shares=shares)


def _column(x: SSAValue, index: int) -> SSAValue:
    return graph.SliceOp(x, [0, index], [shape_of(x)[0], 1], [1, 1]).result


def _plus(x: SSAValue, value: float) -> SSAValue:
    return graph.AddOp(x, scalar_like(float(value), x)).result


@converts("TreeEnsemble", domain=DOMAIN)
def tree_ensemble(node: Node) -> Results:
    """Leaves are apart from branches; float16 is compared and added as float32."""
    x = rows_of(node[0])
    dtype = np.float64 if element_type(x) == F64 else np.float32
    targets = node.attrs.int("n_targets")
    ids = _ints(node, "leaf_targetids")
    weights = _tensor(node, "leaf_weights")
    if targets < 1 or len(weights) != len(ids) or any(not 0 <= k < targets for k in ids):
        raise BadNode(f"leaf_targetids and leaf_weights do not fit {targets} targets")
    table = np.full((len(ids), targets), np.nan)
    table[np.arange(len(ids)), ids] = weights
    forest = Forest(np.dtype(dtype))
    _link_apart(node, forest, len(ids))
    ensemble = Ensemble(forest, table)
    how = node.attrs.int("aggregate_function", 1)
    transform = node.attrs.int("post_transform")
    if not 0 <= how <= 3 or not 0 <= transform <= 4:
        raise BadNode(f"aggregate_function {how} or post_transform {transform} is out of range")
    scores = ensemble.sums(ensemble.leaves(x), ("AVERAGE", "SUM", "MIN", "MAX")[how])
    names = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
    return cast(transformed(scores, names[transform]), element_type(node[0]))


def _tensor(node: Node, name: str) -> Array:
    tensor = node.attrs.tensor(name)
    if tensor is None:
        raise BadNode(f"attribute '{name}' is missing")
    return node.read_tensor(tensor).reshape(-1)


def _link_apart(node: Node, forest: Forest, leaves: int) -> None:
    """Fill a forest; the nodes of the model come first, then its leaves."""
    modes, splits = _tensor(node, "nodes_modes"), _tensor(node, "nodes_splits")
    size = len(modes)
    features, yes, no, yes_leafs, no_leafs = (
        _ints(node, f"nodes_{name}", size)
        for name in ("featureids", "truenodeids", "falsenodeids", "trueleafs", "falseleafs")
    )
    if len(splits) != size or any(not 0 <= int(mode) <= MEMBER for mode in modes):
        raise BadNode(f"nodes_splits or nodes_modes does not fit {size} nodes")
    nan = _ints(node, "nodes_missing_value_tracks_true") or [0] * size
    sets = _sets(node, sum(int(mode) == MEMBER for mode in modes))
    nodes: list[Branch | int] = []
    for k, mode in enumerate(map(int, modes)):
        name = "BRANCH_EQ" if mode == MEMBER else MODES[mode]
        values = next(sets) if mode == MEMBER else [float(splits[k])]
        pairs = ((yes[k], yes_leafs[k]), (no[k], no_leafs[k]))
        ways = [target + size if is_leaf else target for target, is_leaf in pairs]
        nodes.append(Branch(name, features[k], values, bool(nan[k]), *ways))
    _check_ways(nodes, size + leaves)
    roots = _ints(node, "tree_roots")
    if any(not 0 <= root < size for root in roots):
        raise BadNode(f"tree_roots is {roots}, expected nodes from 0 to {size - 1}")
    same: Callable[[int, int], int] = lambda at, target: target  # noqa: E731
    linked(forest, [*nodes, *range(leaves)], same, roots)


def _check_ways(nodes: Sequence[Branch | int], count: int) -> None:
    for node in nodes:
        if isinstance(node, Branch) and not (0 <= node.yes < count and 0 <= node.no < count):
            raise BadNode("a branch leads to a node or a leaf that there is not")


def _sets(node: Node, wanted: int) -> Any:
    """Return an iterator over the sets of numbers, which end at a NaN each."""
    tensor = node.attrs.tensor("membership_values")
    values = np.zeros(0) if tensor is None else node.read_tensor(tensor).reshape(-1)
    ends = np.flatnonzero(np.isnan(values))
    if len(ends) != wanted:
        raise BadNode(f"membership_values has {len(ends)} sets that end in NaN, expected {wanted}")
    return iter([part[~np.isnan(part)].tolist() for part in np.split(values, ends)])
