"""Splitting an axis of a value in two, behind the moves and the arithmetic that made it."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.builder import Builder
from xdsl.ir import Operation, SSAValue

from nn_opt.dialects import graph
from nn_opt.dialects.graph import Fusion
from nn_opt.ir.types import element_type, shape_of, tensor_type

POINTWISE = (Fusion.ELEMENTWISE, Fusion.BROADCAST)


def split_axis(builder: Builder, value: SSAValue, axis: int, parts: int) -> SSAValue:
    """Return `value` with an axis of n elements as two, of `parts` and of n / parts.

    transpose(x) is transposed after the split: what only moves elements stays one move.
    """
    shape = shape_of(value)
    match value.owner:
        case graph.TransposeOp(x=x) as op:
            perm = list(op.perm.get_values())
            place = perm[axis]
            moved = [p + (p > place) for p in perm]
            moved.insert(axis + 1, place + 1)
            return transposed(builder, split_axis(builder, x, place, parts), moved)
        case graph.SliceOp(x=x) as op if shape_of(x)[axis] == shape[axis]:
            starts, sizes, steps = (list(a.get_values()) for a in (op.starts, op.sizes, op.steps))
            if steps[axis] != 1:
                return reshaped(builder, value, axis, parts)
            starts.insert(axis, 0)
            steps.insert(axis, 1)
            sizes[axis : axis + 1] = [parts, shape[axis] // parts]
            inner = split_axis(builder, x, axis, parts)
            return builder.insert(graph.SliceOp(inner, starts, sizes, steps)).result
        case Operation() as op if getattr(op, "FUSION", None) in POINTWISE:
            operands = [split_broadcast(builder, o, axis - len(shape), parts) for o in op.operands]
            return with_operands(builder, op, operands, split_shape(shape, axis, parts))
        case _:
            return reshaped(builder, value, axis, parts)


def split_broadcast(builder: Builder, value: SSAValue, axis: int, parts: int) -> SSAValue:
    """Split axis -k of an operand that broadcasts; one that has fewer axes stays as it is."""
    shape = shape_of(value)
    if len(shape) < -axis:
        return value
    place = axis + len(shape)
    return split_axis(builder, value, place, parts if shape[place] > 1 else 1)


def reshaped(builder: Builder, value: SSAValue, axis: int, parts: int) -> SSAValue:
    """Return a view with the axis split."""
    return builder.insert(graph.ReshapeOp(value, split_shape(shape_of(value), axis, parts))).result


def split_shape(shape: Sequence[int], axis: int, parts: int) -> list[int]:
    """Return a shape with one axis split."""
    return [*shape[:axis], parts, shape[axis] // parts, *shape[axis + 1 :]]


def transposed(builder: Builder, value: SSAValue, perm: Sequence[int]) -> SSAValue:
    """Return `value` transposed; of a transposed value, by one transposition."""
    if list(perm) == sorted(perm):
        return value
    if isinstance(value.owner, graph.TransposeOp):
        inner = list(value.owner.perm.get_values())
        return transposed(builder, value.owner.x, [inner[p] for p in perm])
    return builder.insert(graph.TransposeOp(value, perm)).result


def with_operands(
    builder: Builder, op: Operation, operands: Sequence[SSAValue], shape: Sequence[int]
) -> SSAValue:
    """Return what an op of one result makes of other operands, in another shape."""
    new = type(op).create(
        operands=list(operands),
        result_types=[tensor_type(shape, element_type(op.results[0]))],
        properties=dict(op.properties),
    )
    new.location = op.location
    return builder.insert(new).results[0]
