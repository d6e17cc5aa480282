"""Which stages of a kernel disappear into their readers."""

from __future__ import annotations

import math

from xdsl.dialects.func import FuncOp

from nn_opt.dialects.loop import BlockOp, LoadOp
from nn_opt.schedule.defaults.facts import (
    CHEAP,
    axis_loops,
    cost,
    is_contraction,
    is_reduction,
    is_stacked,
    loads_of,
    local_buffer,
    readers,
    stages,
    step,
)
from nn_opt.schedule.inline import may_leave
from nn_opt.schedule.nest import loads_in
from nn_opt.schedule.outside import keeps_outside
from nn_opt.schedule.schedule import Schedule


def inline_stages(schedule: Schedule) -> None:
    """Inline every stage whose recomputation costs less than its buffer."""
    for block in stages(schedule.function):
        if _worth_inlining(schedule.function, block):
            schedule.inline(block.stage.data)


def _worth_inlining(function: FuncOp, block: BlockOp) -> bool:
    alloc = local_buffer(block)
    if (
        alloc is None
        or is_reduction(block)
        or is_stacked(block)
        or block.stage.data not in _names(function)
    ):
        return False
    uses = [(load, reader) for reader in readers(block) for load in loads_of(alloc.result, reader)]
    if not uses or any(is_contraction(reader) for _, reader in uses):
        return False
    if any(may_leave(load, reader) and not keeps_outside(block, load) for load, reader in uses):
        return False
    if any(_turns_rows(block, reader, load) for load, reader in uses):
        return False
    size = max(math.prod(block.axis_sizes), 1)
    times = sum(math.prod(reader.axis_sizes) / size for _, reader in uses)
    return times <= 1 or (cost(block) <= CHEAP and times <= 4 * len(uses))


def _turns_rows(block: BlockOp, reader: BlockOp, load: LoadOp) -> bool:
    """Return whether a stage takes rows from places that data name, and a reader reads across."""
    last = axis_loops(block)[-1:]
    if not last or step(load, reader, axis_loops(reader)[-1]) in (0, 1):
        return False
    rows = [taken for taken in loads_in(block) if step(taken, block, last[0]) == 1]
    return any(_is_named_by_data(taken, block) for taken in rows)


def _is_named_by_data(load: LoadOp, block: BlockOp) -> bool:
    return any(load.indices[k] not in block.axes for k in _used(load))


def _used(load: LoadOp) -> set[int]:
    return set[int]().union(*(expr.used_dims() for expr in load.map.data.results))


def _names(function: FuncOp) -> set[str]:
    return {block.stage.data for block in stages(function)}
