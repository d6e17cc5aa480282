"""Primitives on buffers: cache_read, cache_write, set_scope."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from xdsl.dialects.builtin import IndexType, IntegerAttr, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from nn_opt.dialects.loop import AllocOp, BlockOp, ForOp, Kind, LoadOp, StoreOp
from nn_opt.ir.affine import Range, range_of
from nn_opt.ir.literals import scalar_value
from nn_opt.ir.types import element_type, memory_space, memref_type, shape_of
from nn_opt.schedule.inline import index_ranges
from nn_opt.schedule.nest import (
    accessors,
    blocks_in,
    find_block,
    kinds_bound,
    loads_in,
    loops_around,
    own_buffer,
    read,
    refuse,
    stores_in,
    top_of_nest,
    written,
)

SPACES = ("global", "shared", "stack", "register")


def cache_read(function: FuncOp, stage: str, operand: int) -> str:
    """Let a stage read its `operand`-th buffer through a copy; return the copying stage's name.

    The copy covers what the stage reads, with the `or` value where that is outside the buffer,
    so that the stage itself never leaves its bounds.
    """
    block = find_block(function, stage)
    sources = read(block)
    if operand >= len(sources):
        problem = f"cache_read: stage {stage!r} reads {len(sources)} buffers, not {operand + 1}"
        refuse(block, problem, hint="count them from 0, in the order of their first load")
    source = sources[operand]
    loads = [load for load in loads_in(block) if load.memref is source]
    box = _read_box(block, loads)
    name = copy_name(function, stage, operand)
    alloc = AllocOp(name, memref_type([h - low + 1 for low, h in box], element_type(source)))
    like = next(iter(leaving(loads, block)), loads[0])
    copy = _copy_nest(name, source, alloc.result, box, like)
    top = top_of_nest(block)
    parent = top.parent
    assert parent is not None
    parent.insert_ops_before([alloc, copy], top)
    for load in loads:
        _read_copy(load, alloc.result, box)
    return name


def copy_name(function: FuncOp, stage: str, operand: int) -> str:
    """Return the name of a stage that copies an operand: `<stage>.in0`, or then `<stage>.in0.2`."""
    taken = {block.stage.data for block in blocks_in(function)}
    name = f"{stage}.in{operand}"
    more = (f"{name}.{number}" for number in range(2, len(taken) + 3))
    return next(candidate for candidate in (name, *more) if candidate not in taken)


def prefetch(function: FuncOp, stage: str, operand: int, distance: int) -> None:
    """Let each load of a stage's `operand`-th buffer ask for the element `distance` further on.

    It changes no value: a processor may do without, and an address outside does no harm.
    """
    block = find_block(function, stage)
    sources = read(block)
    if operand >= len(sources):
        problem = f"prefetch: stage {stage!r} reads {len(sources)} buffers, not {operand + 1}"
        refuse(block, problem, hint="count them from 0, in the order of their first load")
    for load in loads_in(block):
        if load.memref is sources[operand]:
            load.attributes["prefetch"] = IntegerAttr(distance, i64)


def _read_box(block: BlockOp, loads: Sequence[LoadOp]) -> list[Range]:
    """Return the range of each index over a stage's whole domain."""
    boxes: list[list[Range]] = []
    for load in loads:
        ranges = index_ranges(load, block)
        boxes.append([range_of(expr, ranges) for expr in load.map.data.results])
    box = [(min(low for low, _ in d), max(h for _, h in d)) for d in zip(*boxes, strict=True)]
    if any(high - low >= 1 << 40 for low, high in box):
        problem = f"cache_read: stage {block.stage.data!r} reads the buffer data-dependently"
        refuse(block, problem, hint="only affine reads have a known box")
    if len({str(load.default) for load in leaving(loads, block)}) > 1:
        problem = f"cache_read: stage {block.stage.data!r} reads it with several `or` values"
        refuse(block, problem, hint="give all reads one value")
    return box


def leaving(loads: Sequence[LoadOp], block: BlockOp) -> list[LoadOp]:
    """Return the loads of a stage that may be outside their buffer, where `or` values count."""
    found: list[LoadOp] = []
    for load in loads:
        ranges = index_ranges(load, block)
        spans = (range_of(expr, ranges) for expr in load.map.data.results)
        bounds = zip(spans, shape_of(load.memref), strict=True)
        if any(low < 0 or high >= size for (low, high), size in bounds):
            found.append(load)
    return found


def _copy_nest(
    stage: str, source: SSAValue, target: SSAValue, box: Sequence[Range], like: LoadOp
) -> Operation:
    """Return the loops that copy the box of `source`, a load of which is given, to `target`."""
    body = Block(arg_types=[IndexType()] * len(box))
    shifted = [AffineExpr.dimension(k) + low for k, (low, _) in enumerate(box)]
    bounds = zip(box, shape_of(source), strict=True)
    leaves = any(low < 0 or high >= size for (low, high), size in bounds)
    default = scalar_value(like.default) if leaves and like.default is not None else None
    load = LoadOp(source, body.args, shifted, default=default)
    body.add_ops([load, StoreOp(load.result, target, body.args)])
    return plain_nest(stage, body, [high - low + 1 for low, high in box])


def plain_nest(stage: str, body: Block, sizes: Sequence[int]) -> Operation:
    """Return serial loops, one a `par` axis and named as it is, around a block with a body."""
    names = [axis.name_hint or f"a{k}" for k, axis in enumerate(body.args)]
    loops = [ForOp(size, name_hint=name) for size, name in zip(sizes, names, strict=True)]
    block = BlockOp(
        stage,
        [loop.index for loop in loops],
        AffineMap.identity(len(sizes)),
        sizes,
        [Kind.PAR] * len(sizes),
        Region(body),
    )
    nest: Operation = block
    for loop in reversed(loops):
        loop.body.block.add_op(nest)
        nest = loop
    return nest


def _read_copy(load: LoadOp, copy: SSAValue, box: Sequence[Range]) -> None:
    """Let a load read the copy of a box instead."""
    pairs = zip(load.map.data.results, box, strict=True)
    map = [expr - low for expr, (low, _) in pairs]
    new = LoadOp(copy, load.indices, map)
    new.location = load.location
    new.result.name_hint = load.result.name_hint
    block = load.parent
    assert block is not None
    block.insert_op_before(new, load)
    load.result.replace_all_uses_with(new.result)
    load.detach()
    load.erase()


def cache_write(function: FuncOp, stage: str) -> str:
    """Let a stage write a buffer of its own; a new stage, named in the result, copies it on."""
    block = find_block(function, stage)
    targets = written(block)
    if len(targets) != 1:
        problem = f"cache_write: stage {stage!r} writes {len(targets)} buffers"
        refuse(block, problem, hint="only a stage with one result can be cached")
    target, sizes = targets[0], shape_of(targets[0])
    alloc = AllocOp(stage, memref_type(sizes, element_type(target)))
    for op in [*loads_in(block), *stores_in(block)]:
        if op.memref is target:
            op.operands[list(op.operands).index(target)] = alloc.result
    body = Block(arg_types=[IndexType()] * len(sizes))
    load = LoadOp(alloc.result, body.args)
    body.add_ops([load, StoreOp(load.result, target, body.args)])
    name = f"{stage}.copy"
    top = top_of_nest(block)
    parent = top.parent
    assert parent is not None
    parent.insert_op_before(alloc, top)
    parent.insert_op_after(plain_nest(name, body, sizes), top)
    return name


def set_scope(function: FuncOp, stage: str, space: str) -> None:
    """Keep a stage's buffer in another memory space, as deep in the loops as its users allow."""
    block, alloc = own_buffer(function, stage)
    if space not in SPACES:
        refuse(block, f"set_scope: the scope is {space!r}, expected one of {', '.join(SPACES)}")
    old = alloc.result
    new = AllocOp(
        alloc.buffer.data,
        memref_type(shape_of(old), element_type(old), None if space == "global" else space),
    )
    new.location = alloc.location
    new.attributes |= alloc.attributes
    around = alloc.parent
    assert around is not None
    around.insert_op_before(new, alloc)
    old.replace_all_uses_with(new.result)
    alloc.detach()
    alloc.erase()
    settle(new, function)


def settle(alloc: AllocOp, function: FuncOp) -> None:
    """Put a buffer as deep in the loops as its users allow."""
    home = home_of(alloc.result, function)
    alloc.detach()
    first = home.first_op
    if first is None:
        home.add_op(alloc)
    else:
        home.insert_op_before(alloc, first)


def home_of(buffer: SSAValue, function: FuncOp) -> Block:
    """Return the innermost body that holds all users of a buffer and does not accumulate in it.

    Of a shared buffer it is outside of all threads. A buffer in registers or shared memory may be
    in a loop in which those who only read it accumulate.
    """
    users = accessors(buffer)
    common = loops_around(users[0])
    for user in users[1:]:
        around = loops_around(user)
        common = [loop for loop in common if loop in around]
    if memory_space(buffer) == "shared":
        common = list(takewhile(lambda loop: not loop.how.is_thread, common))
    if memory_space(buffer) in ("shared", "register"):
        users = [user for user in users if buffer in written(user)]
    while common and any(kinds_bound(common[-1], user) - {Kind.PAR} for user in users):
        common.pop()
    return common[-1].body.block if common else function.body.block
