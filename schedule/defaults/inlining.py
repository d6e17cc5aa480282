"""Which stages of a kernel disappear into their readers."""

from __future__ import annotations

import math

from xdsl.dialects.func import FuncOp

from nn_opt.dialects.loop import BlockOp
from nn_opt.schedule.defaults.facts import (
    CHEAP,
    cost,
    is_contraction,
    is_reduction,
    is_stacked,
    loads_of,
    local_buffer,
    readers,
    stages,
)
from nn_opt.schedule.inline import may_leave
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
    size = max(math.prod(block.axis_sizes), 1)
    times = sum(math.prod(reader.axis_sizes) / size for _, reader in uses)
    return times <= 1 or (cost(block) <= CHEAP and times <= 4 * len(uses))


def _names(function: FuncOp) -> set[str]:
    return {block.stage.data for block in stages(function)}
