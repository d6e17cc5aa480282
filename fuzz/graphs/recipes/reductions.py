"""Reductions, softmax and its kin, running sums, normalisations."""

from __future__ import annotations

from fuzz.graphs.graph import Graph, recipe, schema_types
from fuzz.graphs.numbers import FLOATS
from fuzz.graphs.recipes.movement import axis_of

REDUCTIONS = ("Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "LogSum", "LogSumExp", "SumSquare")

# These have their statistics in float32 by default, whatever x is.
STASHED = ("LayerNormalization", "RMSNormalization", "GroupNormalization")
WRAP = ("ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceSumSquare")


def tame(g: Graph, types: tuple[str, ...], rank: int | None = None, least: int = 0) -> str:
    """Return a value whose sums tell something: mostly no ends of types."""
    plain = [n for n, v in g.values.items() if v.dtype in types and _plain(v.array)]
    fits = [n for n in plain if rank in (None, len(g.shape(n))) and len(g.shape(n)) >= least]
    if fits and g.flag():
        return g.pick(fits[-4:])
    kind = g.pick(["normal", "whole", "normal", "whole", "special"] if g.strange else ["normal"])
    return g.value(types, rank, least, kind)


def _plain(array: object) -> bool:
    import numpy as np

    numbers = np.asarray(array).astype(np.float64)
    return bool(np.all(np.abs(numbers) < 100))


@recipe(*(f"Reduce{kind}" for kind in REDUCTIONS))
def reduce(g: Graph, op: str) -> None:
    x = tame(g, schema_types(op))
    rank = len(g.shape(x))
    if op == "ReduceMean" and 0 in g.shape(x):
        return  # what the mean of nothing is, is open
    axes = sorted({g.whole(0, rank - 1) for _ in range(g.whole(0, 2))}) if rank else []
    axes = [axis - rank if g.flag() else axis for axis in axes]
    operands = [x, g.known(axes)] if axes or g.flag() else [x]
    exact = op in ("ReduceMax", "ReduceMin") or g.dtype(x) not in FLOATS
    empty = g.pick([None, 0, 1])
    keep = g.pick([None, 0, 1])
    how = "exact" if exact else "mixing"
    through_floats = g.dtype(x) not in FLOATS and op not in WRAP
    most = 1000 if through_floats else 0  # how integers round and wrap there is open
    g.add(op, operands, how, most=most, keepdims=keep, noop_with_empty_axes=empty)


@recipe("ArgMax", "ArgMin")
def places(g: Graph, op: str) -> None:
    x = g.value(schema_types(op), least=1, kind=g.pick([None, "whole", "distinct"]))
    last = g.pick([None, 0, 1])
    keep = g.pick([None, 0, 1])
    if 0 in g.shape(x):
        return
    g.add(op, [x], "exact", axis=axis_of(g, x), keepdims=keep, select_last_index=last)


@recipe("Softmax", "LogSoftmax", "Hardmax")
def softmax(g: Graph, op: str) -> None:
    x = tame(g, schema_types(op), least=1)
    g.add(op, [x], "exact" if op == "Hardmax" else "mixing", axis=axis_of(g, x))


@recipe("CumSum", "CumProd")
def running(g: Graph, op: str) -> None:
    x = tame(g, schema_types(op), least=1)
    flags = {name: g.pick([None, 0, 1]) for name in ("exclusive", "reverse")}
    exact = g.dtype(x) not in FLOATS
    g.add(op, [x, g.known(axis_of(g, x))], "exact" if exact else "mixing", **flags)


@recipe("LpNormalization")
def lp(g: Graph, op: str) -> None:
    x = tame(g, schema_types(op), least=1)
    g.add(op, [x], "mixing", axis=axis_of(g, x), p=g.pick([None, 1, 2]))


def stashed(op: str) -> tuple[str, ...]:
    """Return the types of a normalisation whose results two oracles can agree on."""
    return tuple(t for t in schema_types(op) if t != "float64" or op not in STASHED)


@recipe("LayerNormalization", "RMSNormalization")
def layer(g: Graph, op: str) -> None:
    x = tame(g, stashed(op), least=1)
    axis = axis_of(g, x)
    shape = g.shape(x)[axis:]
    scale = g.operand(g.dtype(x), shape, "normal")
    bias = [g.operand(g.dtype(x), shape, "normal")] if op[0] == "L" and g.flag() else []
    outputs = g.whole(1, 3) if op[0] == "L" else 1
    epsilon = g.pick([None, 0.01])
    g.add(op, [x, scale, *bias], "mixing", outputs=outputs, axis=axis, epsilon=epsilon)


@recipe("InstanceNormalization", "GroupNormalization", "BatchNormalization")
def channels(g: Graph, op: str) -> None:
    x = tame(g, stashed(op), least=3)
    count = g.shape(x)[1]
    vectors = [g.operand(g.dtype(x), (count,), "normal") for _ in range(2)]
    given: dict[str, object] = {"epsilon": g.pick([None, 0.01])}
    if op[0] == "G":
        given["num_groups"] = g.pick([d for d in range(1, count + 1) if count % d == 0] or [1])
    if op[0] == "B":
        vectors.append(g.operand(g.dtype(x), (count,), "normal"))
        vectors.append(g.operand(g.dtype(x), (count,), "positive"))
    g.add(op, [x, *vectors], "mixing", **given)


@recipe("LRN")
def lrn(g: Graph, op: str) -> None:
    x = g.value(schema_types(op), 4, kind="normal")
    g.add(
        op, [x], "mixing", size=g.whole(1, 5), alpha=g.pick([None, 0.1]), bias=g.pick([None, 2.0])
    )


@recipe("MeanVarianceNormalization")
def mean_variance(g: Graph, op: str) -> None:
    x = tame(g, schema_types(op), rank=4)
    g.add(op, [x], "mixing", axes=g.pick([None, [0, 2, 3], [1]]))


@recipe("com.microsoft.SkipLayerNormalization", "com.microsoft.SkipSimplifiedLayerNormalization")
def skip(g: Graph, op: str) -> None:
    x = tame(g, ("float32",), rank=3)
    other = g.operand("float32", g.shape(x), "normal")
    count = g.whole(1, 2 if "Simplified" in op else 3)
    vectors = [g.operand("float32", g.shape(x)[-1:], "normal") for _ in range(count)]
    name = op.rpartition(".")[2]
    g.add(name, [x, other, *vectors], "mixing", domain="com.microsoft", epsilon=0.01)


@recipe("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def losses(g: Graph, op: str) -> None:
    x = tame(g, schema_types(op), least=2)
    shape = g.shape(x)
    if shape[1] == 0:
        return
    place = g.operand(g.pick(["int64", "int32"]), (shape[0], *shape[2:]), f"between:0:{shape[1]}")
    weight = [g.operand(g.dtype(x), (shape[1],), "positive")] if g.flag() else []
    given = {"reduction": g.pick([None, "none", "sum", "mean"]), "ignore_index": g.pick([None, 0])}
    g.add(op, [x, place, *weight], "mixing", **given)


@recipe("Det")
def determinant(g: Graph, op: str) -> None:
    n = g.whole(1, 4)
    types = [t for t in schema_types(op) if t in g.types]
    g.add(op, [g.operand(g.pick(types), (*g.sizes(g.whole(0, 2), 20), n, n), "normal")], "mixing")
