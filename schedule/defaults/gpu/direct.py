"""Sums of products that are no matrix product (depthwise and grouped convolution): by threads."""

from __future__ import annotations

import math

from nn_opt.dialects.loop import BlockOp, ForOp
from nn_opt.ir.target import Gpu
from nn_opt.schedule.defaults.facts import axis_loops, is_contraction, par_axes, reduce_axes, step
from nn_opt.schedule.defaults.gpu.grids import FEW_ELEMENTS, bind_elements, fuse_all
from nn_opt.schedule.defaults.gpu.groups import is_plain
from nn_opt.schedule.defaults.gpu.product import follower_of
from nn_opt.schedule.nest import loads_in, read, written
from nn_opt.schedule.schedule import Schedule

TERMS = 64  # of a sum that a thread takes where only one factor serves several results
TAPS = 25  # terms of a sum that are written out: 5 x 5
PLACES = 4  # neighbours that a thread computes from loads that they share
RESULTS = 1024  # that make enough threads


def is_direct(block: BlockOp) -> bool:
    """Return whether a stage sums products whose factors both serve several results."""
    if not is_plain(block) or not is_contraction(block) or len(written(block)) != 1:
        return False
    if block.init is None or math.prod(block.axis_sizes[k] for k in par_axes(block)) < RESULTS:
        return False
    loops = axis_loops(block)
    wide = [loops[axis] for axis in par_axes(block) if loops[axis].trips > 1]
    factors = [load for load in loads_in(block) if load.memref in read(block)]
    fixed = [any(step(factor, block, loop) == 0 for loop in wide) for factor in factors]
    return (len(wide) > 1 and sum(fixed) == 1) or all(fixed)


def schedule_direct(schedule: Schedule, block: BlockOp, gpu: Gpu) -> None:
    """Give each thread a result, or some that share what they load, and the sums registers."""
    stage = block.stage.data
    follower = follower_of(schedule, stage)
    loops = schedule.axes(stage)
    par = [loops[axis] for axis in par_axes(block)]
    reduced = [loops[axis] for axis in reduce_axes(block)]
    places = _split_places(schedule, block, par, reduced)
    schedule.reorder(*par, *reduced, *places)
    thread = bind_elements(schedule, fuse_all(schedule, par), gpu)
    schedule.reverse_compute_at(follower, thread)
    start = schedule.decompose_init(stage, reduced[0])
    taps = 1
    for tap in reversed(reduced):
        taps *= tap.trips
        if taps > TAPS:
            break
        schedule.unroll(tap)
    for name in (start, follower):
        inner = schedule.axes(name)
        for loop in inner[inner.index(thread) + 1 :]:
            schedule.unroll(loop)
    for place in places:
        schedule.unroll(place)
    schedule.set_scope(stage, "register")


def _split_places(
    schedule: Schedule, block: BlockOp, par: list[ForOp], reduced: list[ForOp]
) -> list[ForOp]:
    """Split off neighbours, one below the other, that read parts of the same; if there are any."""
    results = math.prod(loop.trips for loop in par)
    if len(par) < 2 or results < PLACES * FEW_ELEMENTS:
        return []
    near, lane = par[-2:]
    moved = [(step(ld, block, near), step(ld, block, lane)) for ld in loads_in(block)]
    count = next((n for n in (PLACES, 2) if near.trips % n == 0), 1)
    if count == 1 or not any(down and across for down, across in moved):
        return []
    par[-2], place = schedule.split(near, count)
    return [place]
