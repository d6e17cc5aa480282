"""inline: a stage's formula goes where it is read, and the stage goes."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr

from nn_opt.dialects.loop import ApplyOp, BlockOp, LoadOp, StoreOp
from nn_opt.ir.affine import ANYTHING, range_of
from nn_opt.ir.types import shape_of
from nn_opt.schedule.nest import (
    accessors,
    loads_in,
    own_buffer,
    refuse,
    stores_in,
    top_of_nest,
)
from nn_opt.schedule.outside import keeps_outside


def inline(function: FuncOp, stage: str) -> None:
    """Put a stage without reduction into all its readers."""
    producer, alloc = own_buffer(function, stage)
    if producer.init is not None or len(list(stores_in(producer))) != 1:
        problem = f"inline: stage {stage!r} accumulates its value"
        refuse(producer, problem, hint="only a stage without reduction has one formula")
    store = next(stores_in(producer))
    readers = [block for block in accessors(alloc.result) if block is not producer]
    for reader in readers:
        for load in [load for load in loads_in(reader) if load.memref is alloc.result]:
            outside = may_leave(load, reader)
            if outside and not keeps_outside(producer, load):
                problem = f"inline: {reader.stage.data!r} reads {stage!r} outside its bounds"
                refuse(reader, problem, hint="keep the stage, or compute_at it")
            value = _formula(producer, store, load, outside)
            load.result.replace_all_uses_with(value)
            load.detach()
            load.erase()
    top = top_of_nest(producer)
    top.detach()
    top.erase()
    alloc.detach()
    alloc.erase()


def may_leave(load: LoadOp, reader: BlockOp) -> bool:
    """Return whether a read may be outside its buffer, so that its `or` value counts."""
    if load.default is None:
        return False
    ranges = index_ranges(load, reader)
    pairs = zip(load.map.data.results, shape_of(load.memref), strict=True)
    bounds = ((range_of(expr, ranges), size) for expr, size in pairs)
    return any(low < 0 or high >= size for (low, high), size in bounds)


def index_ranges(access: LoadOp | StoreOp, block: BlockOp) -> list[tuple[int, int]]:
    """Return the range of each index of an access, over the whole domain of its block's axes."""
    region = access.parent
    assert region is not None
    sizes: dict[SSAValue, int] = dict(zip(region.args, block.axis_sizes, strict=True))
    return [(0, sizes[v] - 1) if v in sizes else ANYTHING for v in access.indices]


def _formula(producer: BlockOp, store: StoreOp, load: LoadOp, outside: bool) -> SSAValue:
    """Clone the producer's body in front of a load, at the load's indices; return the value.

    Where the load may be outside, the clones of the producer's loads have its `or` value.
    """
    axis_exprs = _axes_at(producer, store, load)
    clones: dict[SSAValue, SSAValue] = {}
    for op in producer.body.block.ops:
        if op is store:
            continue
        clone = _clone_at(op, producer, axis_exprs, load, clones)
        if outside and isinstance(clone, LoadOp):
            clone.default = load.default
        clones.update(zip(op.results, clone.results, strict=True))
    return clones[store.value]


def _axes_at(producer: BlockOp, store: StoreOp, load: LoadOp) -> dict[SSAValue, AffineExpr]:
    """Return each axis of the producer as an expression over the load's indices."""
    found: dict[SSAValue, AffineExpr] = {axis: AffineExpr.constant(0) for axis in producer.axes}
    for stored, expr in zip(store.map.data.results, load.map.data.results, strict=True):
        if isinstance(stored, AffineDimExpr):
            found[store.indices[stored.position]] = expr
        elif not isinstance(stored, AffineConstantExpr):
            problem = f"inline: stage {producer.stage.data!r} does not store at its plain axes"
            refuse(producer, problem, hint="inline before other primitives")
    return found


def _clone_at(
    op: Operation,
    producer: BlockOp,
    axis_exprs: dict[SSAValue, AffineExpr],
    load: LoadOp,
    clones: dict[SSAValue, SSAValue],
) -> Operation:
    """Clone one op of a producer's body before the load, its axes replaced."""
    block = load.parent
    assert block is not None
    if isinstance(op, LoadOp | ApplyOp):
        clone = _clone_access(op, axis_exprs, load.indices, clones)
    else:
        for operand in op.operands:
            if operand in axis_exprs and operand not in clones:
                apply = ApplyOp(axis_exprs[operand], load.indices)
                apply.location = op.location
                block.insert_op_before(apply, load)
                clones[operand] = apply.result
        clone = op.clone(clones)
    clone.location = op.location
    block.insert_op_before(clone, load)
    return clone


def _clone_access(
    op: LoadOp | ApplyOp,
    axis_exprs: dict[SSAValue, AffineExpr],
    at: Sequence[SSAValue],
    clones: dict[SSAValue, SSAValue],
) -> Operation:
    """Clone an op with an affine map, composed with the axes' expressions over `at`."""
    values: list[SSAValue] = list(at)
    replacements: list[AffineExpr] = []
    for index in op.indices:
        if index in axis_exprs:
            replacements.append(axis_exprs[index])
            continue
        values.append(clones[index])
        replacements.append(AffineExpr.dimension(len(values) - 1))
    exprs = [e.replace_dims_and_symbols(replacements, ()) for e in op.map.data.results]
    return op.with_access(exprs, values)
