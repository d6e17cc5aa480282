"""Kernels of several stages over the same rows, such as softmax: row by row, while in cache."""

from __future__ import annotations

import math

from nn_opt.ir.target import Target
from nn_opt.ir.types import shape_of
from nn_opt.schedule.defaults.elementwise import schedule_pass
from nn_opt.schedule.defaults.facts import (
    local_buffer,
    par_axes,
    readers,
    stages,
)
from nn_opt.schedule.nest import find_block, is_inside, loops_around
from nn_opt.schedule.schedule import Schedule

STACK_BYTES = 64 << 10  # a row's temporaries must leave room on a 8 MiB thread stack, and fit L2


def schedule_rows(schedule: Schedule, target: Target) -> None:
    """Compute every earlier stage at the last stage's rows, then vectorise each along the row."""
    last = stages(schedule.function)[-1].stage.data
    depth = _row_depth(schedule, last)
    names = [block.stage.data for block in stages(schedule.function)]
    for stage in reversed(names[:-1]):
        _move_to_row(schedule, stage, last, depth)
    for stage in names:
        schedule_pass(schedule, stage, target)


def _row_depth(schedule: Schedule, last: str) -> int:
    """Return how many of the last stage's loops every earlier stage shares."""
    final = find_block(schedule.function, last)
    depth = len(par_axes(final))
    for block in stages(schedule.function)[:-1]:
        common = 0
        for mine, theirs in zip(block.axis_sizes, final.axis_sizes, strict=False):
            if common >= len(par_axes(block)) or mine != theirs:
                break
            common += 1
        depth = min(depth, common)
    return depth


def _move_to_row(schedule: Schedule, stage: str, last: str, depth: int) -> None:
    """compute_at the innermost shared loop, and keep the row on the stack if it fits."""
    block = find_block(schedule.function, stage)
    if local_buffer(block) is None or not readers(block) or not depth:
        return
    loops = loops_around(find_block(schedule.function, last))
    if not all(is_inside(reader, loops[depth - 1]) for reader in readers(block)):
        return
    schedule.axes(last)
    schedule.compute_at(stage, loops[depth - 1])
    row = math.prod(shape_of(local_buffer(block).result)[depth:]) * 4
    if row <= STACK_BYTES:
        schedule.set_scope(stage, "stack")
