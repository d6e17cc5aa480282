"""The stages of an attention kernel: which disappear into others, which belong to its rows."""

from __future__ import annotations

import math

from xdsl.ir.affine import AffineDimExpr

from nn_opt.dialects.loop import AllocOp, BlockOp, ForOp
from nn_opt.ir.types import shape_of
from nn_opt.schedule.defaults.facts import (
    CHEAP,
    axis_loops,
    cost,
    is_contraction,
    is_reduction,
    is_stacked,
    loads_of,
    local_buffer,
    par_axes,
    readers,
    stages,
    step,
)
from nn_opt.schedule.inline import may_leave
from nn_opt.schedule.nest import accessors, find_block, is_inside, loads_in, read, stores_in
from nn_opt.schedule.schedule import Schedule


def reached(block: BlockOp) -> set[BlockOp]:
    """Return the stages that read what a stage writes, directly or not."""
    found: set[BlockOp] = set()
    waiting = [block]
    while waiting:
        new = set(readers(waiting.pop())) - found
        found |= new
        waiting += new
    return found


def makers(block: BlockOp) -> list[BlockOp]:
    """Return the stages that write what a stage reads."""
    return [
        writer
        for buffer in read(block)
        if isinstance(buffer.owner, AllocOp)
        for writer in accessors(buffer)
        if any(store.memref is buffer for store in stores_in(writer))
    ]


def take_moves_in(schedule: Schedule, scores: str) -> list[str]:
    """Let the products read their operands where they are; return the copies that remain.

    Those are of matrices whose rows do not lie in one piece, such as transposed ones.
    """
    first = find_block(schedule.function, scores)
    later = reached(first)
    left: list[str] = []
    for block in stages(schedule.function):
        if block in later or block is first:
            continue
        direct = not any(is_contraction(reader) for reader in readers(block))
        if is_formula(block) and cost(block) <= CHEAP and (direct or _keeps_rows(block)):
            schedule.inline(block.stage.data)
        else:
            left.append(block.stage.data)
    return left


def is_formula(block: BlockOp) -> bool:
    """Return whether a stage can be computed where its readers read it."""
    alloc = local_buffer(block)
    if alloc is None or is_reduction(block) or is_stacked(block):
        return False
    loads = [(load, b) for b in readers(block) for load in loads_of(alloc.result, b)]
    return bool(loads) and not any(may_leave(*pair) for pair in loads)


def _keeps_rows(block: BlockOp) -> bool:
    """Return whether a stage only moves elements, those of a row to a row."""
    inner = axis_loops(block)[-1]
    moves = len(list(block.body.block.ops)) == 2
    return moves and all(step(load, block, inner) == 1 for load in loads_in(block))


def join_pointwise(schedule: Schedule, scores: str) -> None:
    """Make one stage of what is done to each score; the same of all other chains."""
    first = find_block(schedule.function, scores)
    if len(readers(first)) > 1 or is_reduction(readers(first)[0]):
        schedule.cache_write(scores)
    for block in stages(schedule.function):
        if block in reached(first) and _feeds_one(block):
            schedule.inline(block.stage.data)


def _feeds_one(block: BlockOp) -> bool:
    """Return whether a stage is pointwise, and one other reads each of its elements once."""
    after, alloc = readers(block), local_buffer(block)
    if len(after) != 1 or alloc is None or not is_formula(block):
        return False
    once = len(loads_of(alloc.result, after[0])) == 1
    return once and math.prod(after[0].axis_sizes) == math.prod(block.axis_sizes)


def finishing_stage(schedule: Schedule, product: str) -> tuple[str, list[int], list[str]]:
    """Return the stage that finishes the rows of a product, and the stages after it.

    Between them: the finishing stage's axes, in the order of the dimensions that it finishes.
    """
    block = find_block(schedule.function, product)
    while len(after := readers(block)) == 1 and is_reduction(after[0]):
        block = after[0]
    order = _axes_followed(after[0], block) if len(after) == 1 else None
    if order is not None:
        return after[0].stage.data, order, []
    last = schedule.cache_write(block.stage.data)
    return last, list(range(len(par_axes(block)))), [b.stage.data for b in after]


def _axes_followed(reader: BlockOp, block: BlockOp) -> list[int] | None:
    """Return the axis of a reader for each dimension of what a stage makes.

    None unless it takes each element once, and those of a row to a row.
    """
    alloc = local_buffer(block)
    assert alloc is not None
    loads = loads_of(alloc.result, reader)
    if is_reduction(reader) or len(loads) != 1 or len(reader.axis_sizes) != len(par_axes(block)):
        return None
    inner = axis_loops(reader)[-1]
    accesses = [*loads_in(reader), *stores_in(reader)]
    if any(step(access, reader, inner) not in (0, 1) for access in accesses):
        return None
    axes = list(reader.axes)
    found: list[int | None] = []
    for expr, size in zip(loads[0].map.data.results, shape_of(alloc.result), strict=True):
        plain = isinstance(expr, AffineDimExpr)
        if not plain and size != 1:
            return None
        found.append(axes.index(loads[0].indices[expr.position]) if plain else None)
    free = iter(k for k, n in enumerate(reader.axis_sizes) if n == 1 and k not in found)
    return [next(free) if axis is None else axis for axis in found]


def stages_of_rows(
    schedule: Schedule, scores: str, product: str, others: list[str]
) -> tuple[list[str], list[str]]:
    """Return the stages over rows of scores, and those that join rows of several blocks of keys.

    Both are in order and without the product of the rows, and `others`.
    """
    first, weighted = (find_block(schedule.function, name) for name in (scores, product))
    axes = first.axis_sizes[: len(par_axes(first)) - 1]
    after = reached(first)
    rows = {first}
    for block in stages(schedule.function):
        has_rows = block.axis_sizes[: len(axes)] == axes and block is not weighted
        made = [maker for maker in makers(block) if maker in after]
        if block in after and has_rows and all(maker in rows for maker in made):
            rows.add(block)
    names = [b for b in stages(schedule.function) if b in after and b is not weighted]
    inner = [b.stage.data for b in names if b in rows]
    return inner, [b.stage.data for b in names if b not in rows and b.stage.data not in others]


def is_read_inside(schedule: Schedule, stage: str, loop: ForOp) -> bool:
    """Return whether a stage in a loop's body reads another one."""
    block = find_block(schedule.function, stage)
    return any(is_inside(reader, loop) for reader in readers(block))
