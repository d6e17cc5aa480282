"""Gathers and scatters, orders, results whose size depends on data."""

from __future__ import annotations

from fuzz.graphs.graph import Graph, recipe, schema_types
from fuzz.graphs.recipes.movement import axis_of

PLACES = ("int64", "int32")


@recipe("Gather")
def gather(g: Graph, op: str) -> None:
    x = g.value(schema_types(op), least=1)
    axis = axis_of(g, x)
    size = g.shape(x)[axis]
    shape = g.sizes(g.whole(0, 2), 40) if size else (0,)
    index = g.operand(g.pick(PLACES), shape, f"between:{-size}:{size}" if size else "whole")
    g.add(op, [x, index], "exact", axis=axis)


@recipe("GatherElements")
def gather_elements(g: Graph, op: str) -> None:
    x = g.value(schema_types(op), least=1)
    axis = axis_of(g, x)
    size = g.shape(x)[axis]
    shape = [g.whole(min(s, 1), s) for s in g.shape(x)]
    shape[axis] = g.whole(1, 5) if size else 0
    index = g.operand(g.pick(PLACES), tuple(shape), f"between:{-size}:{size}" if size else "whole")
    g.add(op, [x, index], "exact", axis=axis)


@recipe("GatherND")
def gather_nd(g: Graph, op: str) -> None:
    x = g.value(schema_types(op), least=1)
    shape = g.shape(x)
    if 0 in shape:
        return
    batch = g.whole(0, min(1, len(shape) - 1))
    depth = g.whole(1, len(shape) - batch)
    least = min(shape[batch : batch + depth])
    lead = (*shape[:batch], *g.sizes(g.whole(0, 2), 10))
    index = g.operand("int64", (*lead, depth), f"between:{-least}:{least}")
    g.add(op, [x, index], "exact", batch_dims=batch)


@recipe("ScatterElements")
def scatter_elements(g: Graph, op: str) -> None:
    x = g.value(schema_types(op), least=1)
    axis = axis_of(g, x)
    size = g.shape(x)[axis]
    reduction = g.pick([None, "none", "add", "mul", "max", "min"])
    shape = [g.whole(min(s, 1), s) for s in g.shape(x)]
    shape[axis] = 1 if reduction in (None, "none") and size else shape[axis]
    index = g.operand(g.pick(PLACES), tuple(shape), f"between:{-size}:{size}" if size else "whole")
    updates = g.operand(g.dtype(x), tuple(shape))
    how = "mixing" if reduction in ("add", "mul") else "exact"
    g.add(op, [x, index, updates], how, axis=axis, reduction=reduction)


@recipe("ScatterND")
def scatter_nd(g: Graph, op: str) -> None:
    x = g.value(schema_types(op), least=1)
    shape = g.shape(x)
    if 0 in shape:
        return
    depth = g.whole(1, len(shape))
    reduction = g.pick([None, "none", "add", "mul", "max", "min"])
    count = 1 if reduction in (None, "none") else g.whole(1, 4)
    index = g.operand("int64", (count, depth), f"between:0:{min(shape[:depth])}")
    updates = g.operand(g.dtype(x), (count, *shape[depth:]))
    how = "mixing" if reduction in ("add", "mul") else "exact"
    g.add(op, [x, index, updates], how, reduction=reduction)


@recipe("TopK")
def top(g: Graph, op: str) -> None:
    x = g.value(schema_types(op), least=1, kind=g.pick(["whole", "distinct", "normal"]))
    axis = axis_of(g, x)
    k = g.known([g.whole(0, min(g.shape(x)[axis], 9))])
    largest = g.pick([None, 0, 1])
    g.add(op, [x, k], "exact", outputs=2, axis=axis, largest=largest, sorted=1)


@recipe("NonZero")
def non_zero(g: Graph, op: str) -> None:
    g.add(op, [g.value(schema_types(op), least=1)], "exact")


@recipe("Unique")
def unique(g: Graph, op: str) -> None:
    x = g.value(schema_types(op), least=1, kind="whole")
    axis = g.pick([None, axis_of(g, x)])
    outputs = g.whole(1, 4)
    g.add(op, [x], "exact", outputs=outputs, axis=axis, sorted=g.pick([None, 0, 1]))


@recipe("Compress")
def compress(g: Graph, op: str) -> None:
    x = g.value(schema_types(op), least=1)
    axis = g.pick([None, axis_of(g, x)])
    most = g.shape(x)[axis] if axis is not None else 6
    condition = g.operand("bool", (g.whole(0, min(most, 6)),))
    g.add(op, [x, condition], "exact", axis=axis)


@recipe("NonMaxSuppression")
def suppression(g: Graph, op: str) -> None:
    batch, classes, boxes = g.whole(1, 2), g.whole(1, 2), g.whole(1, 6)
    places = g.operand("float32", (batch, boxes, 4), "between:0:4")
    scores = g.operand("float32", (batch, classes, boxes), "between:0:1")
    ends = [g.known([g.whole(0, 4)]), g.known([0.5], "float32"), g.known([0.25], "float32")]
    count = g.whole(0, 3)
    g.add(op, [places, scores, *ends[:count]], "exact", center_point_box=g.pick([None, 0, 1]))


@recipe("TensorScatter")
def tensor_scatter(g: Graph, op: str) -> None:
    batch, heads, most, width = g.whole(1, 2), g.whole(1, 2), g.whole(2, 6), g.whole(1, 4)
    dtype = g.pick([t for t in schema_types(op) if t in g.types])
    rows = g.whole(1, most)
    x = g.operand(dtype, (batch, heads, most, width))
    update = g.operand(dtype, (batch, heads, rows, width))
    places = [g.known([g.whole(0, most - rows) for _ in range(batch)])] if g.flag() else []
    g.add(op, [x, update, *places], "exact", mode=g.pick([None, "linear", "circular"]))
