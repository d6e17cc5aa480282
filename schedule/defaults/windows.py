"""Small windows over channels side by side (depthwise convolution, pooling): all taps unrolled."""

from __future__ import annotations

import math

from nn_opt.dialects.loop import BlockOp, ForOp, Kind
from nn_opt.ir.target import Target
from nn_opt.schedule.defaults.facts import (
    axis_loops,
    is_reduction,
    loads_of,
    par_axes,
    reduce_axes,
    step,
)
from nn_opt.schedule.defaults.tiled import even, follower_of, lanes_fit
from nn_opt.schedule.nest import find_block, read
from nn_opt.schedule.schedule import Schedule

MAX_TAPS = 32  # 5x5: about a thousand instructions with the variants of the borders
MAX_PLACES = 8  # neighbours that share what they load


def is_window(block: BlockOp, target: Target) -> bool:
    """Return whether every tap reads a vector of its own, so that few taps are all the work."""
    if not is_reduction(block) or any(kind is Kind.SEQ for kind in block.axis_kinds):
        return False
    par = _wide_axes(block)
    taps = math.prod(block.axis_sizes[axis] for axis in reduce_axes(block))
    if len(par) < 2 or not 1 < taps <= MAX_TAPS:
        return False
    lane = axis_loops(block)[par[-1]]
    if lane.trips % target.lanes or not lanes_fit(block, lane):
        return False
    loads = [load for buffer in read(block) for load in loads_of(buffer, block)]
    return all(step(load, block, lane) == 1 for load in loads)


def _wide_axes(block: BlockOp) -> list[int]:
    return [axis for axis in par_axes(block) if block.axis_sizes[axis] > 1]


def schedule_window(schedule: Schedule, stage: str, target: Target) -> None:
    """Compute a few neighbours at once, one vector after the other, from loads that they share.

    Reads outside the image stay tests: partition-loops decides them for all but the borders.
    """
    follower = follower_of(schedule, stage)
    place, taps = _order_loops(schedule, stage, target)
    schedule.reverse_compute_at(follower, place)
    init = schedule.decompose_init(stage, taps[0])
    for name in (init, stage, follower):
        schedule.vectorize(schedule.axes(name)[-1])
    for tap in taps:
        schedule.unroll(tap)
    schedule.unroll(place)
    schedule.set_scope(stage, "register")


def _order_loops(schedule: Schedule, stage: str, target: Target) -> tuple[ForOp, list[ForOp]]:
    """Put the taps inside the neighbours; return the loop over these, and those of the taps."""
    loops = schedule.axes(stage)
    block = find_block(schedule.function, stage)
    *_, near, lane = _wide_axes(block)
    outer = {axis: loops[axis] for axis in par_axes(block)}
    taps = [loops[axis] for axis in reduce_axes(block)]
    outer[near], place = schedule.split(loops[near], even(loops[near].trips, MAX_PLACES))
    outer[lane], vector = schedule.split(loops[lane], target.lanes)
    schedule.reorder(*outer.values(), place, *taps, vector)
    return place, taps
