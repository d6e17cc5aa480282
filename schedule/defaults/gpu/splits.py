"""Few long sums: blocks sum parts of each, and a second kernel adds these up."""

from __future__ import annotations

import math

from nn_opt.dialects.loop import ForKind
from nn_opt.ir.target import Gpu
from nn_opt.schedule.defaults.gpu.grids import THREADS, bind_blocks, fuse_all
from nn_opt.schedule.defaults.gpu.groups import Group
from nn_opt.schedule.schedule import Schedule

FEW_ROWS = 64  # blocks of which do not keep a GPU busy
LONG = 1 << 15  # elements that take one block longer than another kernel takes to start
PART = 4096  # elements of a block
MOST_PARTS = 1024  # of all rows together


def is_split(group: Group) -> bool:
    """Return whether a reduction has so few and long rows that each is to have several blocks."""
    return len(group.blocks) == 1 and group.row_count < FEW_ROWS and group.row_work >= LONG


def schedule_split(schedule: Schedule, group: Group, gpu: Gpu) -> None:
    """for %i, %k { s[%i] += f }  ->  parts[%i, %ko] in many blocks; then their sum, block by row"""
    stage = group.last.stage.data
    loops = schedule.axes(stage)
    rows = [loops[axis] for axis in group.rows]
    reduced = [loop for loop in loops if loop not in rows]
    if rows:
        schedule.reorder(*rows, *reduced)
        fuse_all(schedule, rows)
    whole = fuse_all(schedule, reduced)
    count = min(math.ceil(group.row_work / PART), max(MOST_PARTS // group.row_count, 1))
    outer, _ = schedule.split(whole, math.ceil(group.row_work / count))
    parts = schedule.rfactor(stage, outer)
    if rows:
        schedule.fission(schedule.axes(parts)[0])
    bind_blocks(schedule, fuse_all(schedule, schedule.axes(parts)[:-1]), gpu)
    *around, last = schedule.axes(stage)
    alone, last = (around[0], last) if around else schedule.split(last, last.trips)
    bind_blocks(schedule, alone, gpu)
    for loop in (schedule.axes(parts)[-1], last):
        steps, thread = schedule.split(loop, min(THREADS, gpu.threads))
        schedule.reorder(thread, steps)
        schedule.bind(thread, ForKind.THREAD_X)
