"""The primitive rfactor: a reduction gets one accumulator for each iteration of a loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import AffineMapAttr, IndexType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap

from nn_opt.dialects import tensor
from nn_opt.dialects.loop import AllocOp, ApplyOp, BlockOp, ForOp, Kind, LoadOp, StoreOp
from nn_opt.ir.affine import linear
from nn_opt.ir.literals import scalar_attr
from nn_opt.ir.types import element_type, memref_type
from nn_opt.schedule.fused_axes import join_reduced_axes
from nn_opt.schedule.nest import (
    blocks_in,
    find_block,
    kinds_bound,
    loop_name,
    loops_around,
    only_child,
    refuse,
    set_bindings,
    top_of_nest,
)

# What each op combines with, as `tensor.identity_of` names it; a fused multiply-add sums.
WORDS: dict[type[Operation], str] = {
    arith.AddfOp: "add",
    arith.AddiOp: "add",
    math.FmaOp: "add",
    arith.MulfOp: "mul",
    arith.MuliOp: "mul",
    arith.MaximumfOp: "max",
    arith.MinimumfOp: "min",
    arith.MaxSIOp: "max",
    arith.MinSIOp: "min",
    arith.AndIOp: "and",
    arith.OrIOp: "or",
}


@dataclass(frozen=True)
class Accumulation:
    """The ops by which a stage accumulates: `store combine(held, value)`."""

    held: LoadOp
    combine: Operation
    store: StoreOp


def rfactor(function: FuncOp, stage: str, loop: ForOp) -> str:
    """Accumulate each iteration of a reduce loop by itself; return the stage that does so.

    for %k, %l { s += f(%k, %l) }  ->  for %k, %l { p[%l] += f(%k, %l) }  for %l { s += p[%l] }
    """
    block = join_reduced_axes(find_block(function, stage))
    parts = _accumulation(block)
    first = _first_reduce_loop(block, loop)
    par = [k for k, kind in enumerate(block.axis_kinds) if kind is Kind.PAR]
    sizes = [*(block.axis_sizes[k] for k in par), loop.trips]
    name = _new_name(function, stage)
    alloc = AllocOp(name, memref_type(sizes, element_type(parts.store.memref)))
    top = top_of_nest(first)
    parent, home = first.parent, top.parent
    assert parent is not None
    assert home is not None
    total = _total_nest(block, parts, alloc.result, loop.trips)
    home.insert_op_before(alloc, top)
    parent.insert_op_after(total, first)
    _replace_by_parts(block, parts, alloc, loop)
    return name


def _new_name(function: FuncOp, stage: str) -> str:
    """Return `<stage>.parts`, or with a number where a stage has that name."""
    taken = {block.stage.data for block in blocks_in(function)}
    names = (f"{stage}.parts{number}" for number in ("", *range(2, len(taken) + 3)))
    return next(name for name in names if name not in taken)


def _accumulation(block: BlockOp) -> Accumulation:
    """Return how a stage accumulates; refuses what has no identity to start from."""
    stores = [op for op in block.body.block.ops if isinstance(op, StoreOp)]
    combine = stores[0].value.owner
    if len(stores) == 1 and block.init is not None and type(combine) in WORDS:
        assert isinstance(combine, Operation)
        candidates = combine.operands[2:] if isinstance(combine, math.FmaOp) else combine.operands
        for value in candidates:
            load = value.owner
            if isinstance(load, LoadOp) and load.memref is stores[0].memref:
                return Accumulation(load, combine, stores[0])
    problem = f"rfactor: stage {block.stage.data!r} does not combine into one place"
    return refuse(block, problem, hint="use it on a reduction whose init is still its own")


def _first_reduce_loop(block: BlockOp, loop: ForOp) -> ForOp:
    """Return the outermost reduce loop; refuses unless all inside it reduce, `loop` linearly."""
    stage = block.stage.data
    if kinds_bound(loop, block) != {Kind.REDUCE}:
        problem = f"rfactor: {loop_name(loop)} is no `reduce fast` loop of {stage!r}"
        refuse(loop, problem, hint="choose one of its reduce loops, split as wide as wanted")
    around = loops_around(block)
    first = next(around_ for around_ in around if kinds_bound(around_, block) - {Kind.PAR})
    inner = around[around.index(first) :]
    chain = all(only_child(nest) is not None for nest in inner) and len(blocks_in(first)) == 1
    wide = [nest for nest in inner if nest.trips > 1]
    if not chain or any(kinds_bound(nest, block) != {Kind.REDUCE} for nest in wide):
        problem = f"rfactor: {loop_name(first)} holds more than reduce loops of {stage!r}"
        refuse(first, problem, hint="reorder the par loops outside of the reduce loops")
    for axis in range(len(block.bindings.data.results)):
        if _coefficient(block, axis, loop) is None:
            problem = f"rfactor: axis {axis} of {stage!r} is no multiple of {loop_name(loop)}"
            refuse(loop, problem, hint="rfactor a split loop, not a fused one")
    return first


def _coefficient(block: BlockOp, axis: int, loop: ForOp) -> int | None:
    """Return how far an axis moves with a loop; None if that is no constant."""
    position = list(block.indices).index(loop.index)
    form = linear(block.bindings.data.results[axis])
    opaque = [atom for atom in form.terms if not isinstance(atom, AffineDimExpr)]
    if any(position in atom.used_dims() for atom in opaque):
        return None
    return form.coefficient(position)


def _total_nest(block: BlockOp, parts: Accumulation, buffer: SSAValue, trips: int) -> ForOp:
    """Return the loop that combines the parts into the stage's own place; takes its init."""
    par = [k for k, kind in enumerate(block.axis_kinds) if kind is Kind.PAR]
    loop = ForOp(trips, name_hint="part")
    body = Block(arg_types=[IndexType()] * (len(par) + 1))
    inside: dict[SSAValue, SSAValue] = {
        block.axes[k]: arg for k, arg in zip(par, body.args[:-1], strict=True)
    }
    part = LoadOp(buffer, body.args)
    held = parts.held.clone(inside)
    kind = arith.AddfOp if isinstance(parts.combine, math.FmaOp) else type(parts.combine)
    properties = parts.combine.properties
    combined = kind.create(
        operands=[held.result, part.result],
        result_types=[held.result.type],
        properties=properties,
    )
    inside[parts.store.value] = combined.results[0]
    body.add_ops([part, held, combined, parts.store.clone(inside)])
    init = block.detach_region(block.regions[1])
    _keep_axes(init.block, par)
    init.block.insert_arg(IndexType(), len(par))
    total = BlockOp(
        block.stage.data,
        block.indices,
        AffineMap(len(block.indices), 0, (AffineExpr.constant(0),) * (len(par) + 1)),
        [*(block.axis_sizes[k] for k in par), trips],
        [Kind.PAR] * len(par) + [Kind.REDUCE],
        Region(body),
        init,
    )
    total.location = block.location
    results = block.bindings.data.results
    variables = [*block.indices, loop.index]
    loop.body.block.add_op(total)
    bindings = [*(results[k] for k in par), AffineExpr.dimension(len(variables) - 1)]
    set_bindings(total, variables, bindings, _lasting_conditions(block))
    return loop


def _keep_axes(region: Block, kept: Sequence[int]) -> None:
    for position in reversed(range(len(region.args))):
        if position not in kept:
            region.erase_arg(region.args[position])


def _lasting_conditions(block: BlockOp) -> list[AffineExpr]:
    """Return the conditions of a stage that no reduce loop takes part in."""
    reduce = {k for k, kind in enumerate(block.axis_kinds) if kind is not Kind.PAR}
    reducing = set[int]().union(*(block.bindings.data.results[k].used_dims() for k in reduce))
    return [c for c in block.conditions.data.results if not c.used_dims() & reducing]


def _replace_by_parts(block: BlockOp, parts: Accumulation, alloc: AllocOp, loop: ForOp) -> None:
    """Put in a block's place one with a further par axis, `loop`, that writes a new buffer."""
    buffer = alloc.result
    rank = sum(kind is Kind.PAR for kind in block.axis_kinds)
    factors = [_coefficient(block, axis, loop) for axis in range(len(block.axis_sizes))]
    position = list(block.indices).index(loop.index)
    dim = AffineExpr.dimension(position)
    bindings = [
        expr + dim * -(factor or 0)
        for expr, factor in zip(block.bindings.data.results, factors, strict=True)
    ]
    body = block.detach_region(block.regions[0])
    lane = body.block.insert_arg(IndexType(), rank)
    lane.name_hint = loop.index.name_hint
    axes = [arg for arg in body.block.args if arg is not lane]
    for axis, factor in zip(axes, factors, strict=True):
        if factor:
            _shift_axis(axis, lane, factor)
    places = [*axes[:rank], lane]
    _access_parts(parts, buffer, places)
    new = BlockOp(
        alloc.buffer.data,
        block.indices,
        block.bindings.data,
        [*block.axis_sizes[:rank], loop.trips, *block.axis_sizes[rank:]],
        [*block.axis_kinds[:rank], Kind.PAR, *block.axis_kinds[rank:]],
        body,
        _identity(parts, buffer, len(axes) + 1, rank + 1),
    )
    new.location = block.location
    parent = block.parent
    assert parent is not None
    parent.insert_op_before(new, block)
    variables, conditions = list(block.indices), list(block.conditions.data.results)
    block.detach()
    block.drop_all_references()
    set_bindings(new, variables, [*bindings[:rank], dim, *bindings[rank:]], conditions)


def _shift_axis(axis: BlockArgument, lane: SSAValue, factor: int) -> None:
    """Let every access and formula that means `axis` mean axis + factor * lane."""
    for use in list(axis.uses):
        op = use.operation
        map = op.properties.get("map")
        if not isinstance(map, AffineMapAttr):
            _compute_with(op, use.index, axis, lane, factor)
            continue
        count = map.data.num_dims
        place = use.index - (len(op.operands) - count)
        dims: list[AffineExpr] = [AffineExpr.dimension(k) for k in range(count)]
        dims[place] = dims[place] + AffineExpr.dimension(count) * factor
        results = tuple(e.replace_dims_and_symbols(dims, ()) for e in map.data.results)
        op.operands = [*op.operands, lane]
        op.properties["map"] = AffineMapAttr(AffineMap(count + 1, 0, results))


def _compute_with(op: Operation, operand: int, axis: SSAValue, lane: SSAValue, factor: int) -> None:
    """Let an op compute with axis + factor * lane."""
    here = AffineExpr.dimension(0) + AffineExpr.dimension(1) * factor
    moved = ApplyOp(here, [axis, lane])
    moved.location = op.location
    block = op.parent
    assert block is not None
    block.insert_op_before(moved, op)
    op.operands[operand] = moved.result


def _access_parts(parts: Accumulation, buffer: SSAValue, places: Sequence[SSAValue]) -> None:
    """Let the accumulating ops read and write `buffer` instead."""
    load, store = LoadOp(buffer, places), StoreOp(parts.store.value, buffer, places)
    for old, new in ((parts.held, load), (parts.store, store)):
        new.location = old.location
        parent = old.parent
        assert parent is not None
        parent.insert_op_before(new, old)
    parts.held.result.replace_all_uses_with(load.result)
    for old in (parts.held, parts.store):
        old.detach()
        old.drop_all_references()


def _identity(parts: Accumulation, buffer: SSAValue, axes: int, rank: int) -> Region:
    """Return an init that stores what changes nothing when combined."""
    element = element_type(buffer)
    value = tensor.identity_of(WORDS[type(parts.combine)], element)
    start = arith.ConstantOp(scalar_attr(value, element))
    block = Block(arg_types=[IndexType()] * axes)
    block.add_ops([start, StoreOp(start.result, buffer, block.args[:rank])])
    return Region(block)
