"""Converter of NonMaxSuppression, as `bounded` rewrites it: a scan that selects a box a step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.ir import SSAValue

from nn_opt.dialects import graph
from nn_opt.frontends.onnx.bounded import DOMAIN
from nn_opt.frontends.onnx.node import (
    I64,
    BadNode,
    Node,
    Results,
    cast,
    constant,
    reshaped,
    scalar_like,
    transposed,
)
from nn_opt.frontends.onnx.scan import scan
from nn_opt.frontends.onnx.selection import coordinates, held, single
from nn_opt.frontends.onnx.table import converts
from nn_opt.ir.types import element_type, shape_of


@dataclass(frozen=True)
class Boxes:
    """The sides of boxes, lower ones first, and their areas; all of one shape."""

    left: SSAValue
    top: SSAValue
    right: SSAValue
    bottom: SSAValue
    area: SSAValue

    @property
    def fields(self) -> list[SSAValue]:
        return [self.left, self.top, self.right, self.bottom, self.area]


@converts("NonMaxSuppression", domain=DOMAIN)
def non_max_suppression(node: Node) -> Results:
    """The best box that is left, again and again; it takes those away that overlap with it.

    All images and classes go side by side: [images, classes, boxes by falling score].
    """
    boxes, scores = node[0], node[1]
    images, classes, count = shape_of(scores)
    if shape_of(boxes) != (images, count, 4):
        raise BadNode(f"boxes have shape {list(shape_of(boxes))}, scores {list(shape_of(scores))}")
    steps = min((node.known_ints(2) or [0])[0], count, _most(node, count))
    if steps <= 0 or not images * classes:
        return [constant(np.zeros((0, 3), np.int64)), constant(np.zeros(1, np.int64))]
    order = graph.ArgSortOp(scores, 2, _most(node, count), descending=True).result
    sides = _sides(boxes, center=node.attrs.flag("center_point_box"))
    ordered = Boxes(*(_of_classes(side, order) for side in sides.fields))
    start = _start(node, scores, order)
    picked = _select(node, ordered, start, steps)
    return _listed(picked, order)


def _most(node: Node, count: int) -> int:
    """Return how many boxes of a class can be selected."""
    known = node.known_ints(5)
    return count if known is None else max(min(known[0], count), 1)


def _sides(boxes: SSAValue, *, center: bool) -> Boxes:
    """Return the sides of boxes [images, boxes, 4]: two corners, or a center and sizes."""
    a, b, c, d = (_field(boxes, at) for at in range(4))
    if center:
        half = scalar_like(0.5, boxes)
        across, down = (graph.MulOp(size, half).result for size in (c, d))
        left, right = graph.SubOp(a, across).result, graph.AddOp(a, across).result
        top, bottom = graph.SubOp(b, down).result, graph.AddOp(b, down).result
    else:
        top, bottom = graph.MinimumOp(a, c).result, graph.MaximumOp(a, c).result
        left, right = graph.MinimumOp(b, d).result, graph.MaximumOp(b, d).result
    width, height = graph.SubOp(right, left).result, graph.SubOp(bottom, top).result
    return Boxes(left, top, right, bottom, graph.MulOp(width, height).result)


def _field(boxes: SSAValue, at: int) -> SSAValue:
    images, count, _ = shape_of(boxes)
    field = graph.SliceOp(boxes, [0, 0, at], [images, count, 1], [1, 1, 1]).result
    return reshaped(field, [images, count])


def _of_classes(side: SSAValue, order: SSAValue) -> SSAValue:
    """Return a side [images, boxes] of the boxes of each class in its order."""
    images, classes, _ = shape_of(order)
    count = shape_of(side)[1]
    each = graph.ExpandOp(reshaped(side, [images, 1, count]), [images, classes, count]).result
    return graph.GatherElementsOp(each, order, 2).result


def _start(node: Node, scores: SSAValue, order: SSAValue) -> SSAValue:
    """Return the place of each box in its order, the number of boxes if its score is too low."""
    count = shape_of(order)[2]
    places = np.broadcast_to(np.arange(count, dtype=np.int32), shape_of(order))
    start, threshold = constant(np.ascontiguousarray(places)), node.get(4)
    if threshold is None:
        return start
    ordered = graph.GatherElementsOp(scores, order, 2).result
    limit = cast(single(threshold, "score_threshold"), element_type(scores))
    above = graph.GreaterOp(ordered, limit).result
    return graph.WhereOp(above, start, scalar_like(count, start)).result


def _select(node: Node, boxes: Boxes, start: SSAValue, steps: int) -> SSAValue:
    """Return the place of the box selected in each step: [steps, images, classes].

    It is the number of boxes where none is left, as is the place of those that are gone.
    """
    images, classes, count = shape_of(start)
    given, limit = node.get(3), scalar_like(0, boxes.area)
    if given is not None:
        limit = cast(single(given, "iou_threshold"), element_type(boxes.area))

    def step(
        states: Sequence[SSAValue], _: Sequence[SSAValue]
    ) -> tuple[list[SSAValue], list[SSAValue]]:
        best = graph.ReduceOp(states[0], "min", [2], True).result
        at = cast(graph.MinimumOp(best, scalar_like(count - 1, best)).result, I64)
        own = Boxes(*(graph.GatherElementsOp(f, at, 2).result for f in boxes.fields))
        same = graph.EqualOp(states[0], best).result
        gone = graph.OrOp(_overlap(own, boxes, limit), same).result
        left = graph.WhereOp(gone, scalar_like(count, best), states[0]).result
        return [left], [reshaped(best, [images, classes])]

    clock = constant(np.zeros(steps, np.int32))
    return scan([start], [clock], step, reverse=False)[1]


def _overlap(one: Boxes, other: Boxes, limit: SSAValue) -> SSAValue:
    """Return where the common area over that of both together is above the limit."""
    zero = scalar_like(0, limit)
    width, height = (
        graph.MaximumOp(graph.SubOp(high, low).result, zero).result
        for high, low in (
            (
                graph.MinimumOp(one.right, other.right).result,
                graph.MaximumOp(one.left, other.left).result,
            ),
            (
                graph.MinimumOp(one.bottom, other.bottom).result,
                graph.MaximumOp(one.top, other.top).result,
            ),
        )
    )
    common = graph.MulOp(width, height).result
    both = graph.SubOp(graph.AddOp(one.area, other.area).result, common).result
    above = graph.GreaterOp(graph.DivOp(common, both).result, limit).result
    return graph.AndOp(above, graph.GreaterOp(common, zero).result).result


def _listed(picked: SSAValue, order: SSAValue) -> Results:
    """Return [image, class, box] of all selected boxes, and how many there are."""
    steps, images, classes = shape_of(picked)
    count = shape_of(order)[2]
    by_class = reshaped(transposed(picked, [1, 2, 0]), [images * classes * steps])
    places, size = held(graph.LessOp(by_class, scalar_like(count, by_class)).result)
    image, kind, _ = coordinates(places, [images, classes, steps])
    found = graph.GatherOp(cast(by_class, I64), places, 0).result
    found = graph.MinimumOp(found, scalar_like(count - 1, found)).result
    row = graph.DivOp(places, scalar_like(steps, places)).result
    at = graph.AddOp(graph.MulOp(row, scalar_like(count, row)).result, found).result
    box = graph.GatherOp(reshaped(order, [images * classes * count]), at, 0).result
    columns = [reshaped(value, [shape_of(places)[0], 1]) for value in (image, kind, box)]
    return [graph.ConcatOp(columns, 1).result, size]
