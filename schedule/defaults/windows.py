"""Small windows whose taps share what they load (depthwise convolution, pooling)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from nn_opt.dialects.loop import BlockOp, ForKind, ForOp, Kind, LoadOp
from nn_opt.ir.target import Target
from nn_opt.schedule.defaults.facts import (
    axis_loops,
    is_reduction,
    par_axes,
    reduce_axes,
    step,
)
from nn_opt.schedule.defaults.tile_shapes import even
from nn_opt.schedule.defaults.tiled import follower_of, lanes_fit
from nn_opt.schedule.nest import find_block, loads_in, read
from nn_opt.schedule.schedule import Schedule

MAX_TAPS = 64  # 7x7
MAX_PLACES = 8  # neighbours that share what they load
MAX_ROWS = 3  # ... where they are rows: more are not faster, and borders take more code
MAX_SHUFFLED = 2  # ... of vectors that are put together
MAX_STRIDE = 4  # between neighbours, so that they share anything
ALL_TAPS = 9  # unrolled where registers are many: borders then need no loop of their own


@dataclass(frozen=True)
class Window:
    """The axes of a window: neighbours `near` at a distance of `stride` taps of the axis `tap`.

    At most `most` of them are computed at once.
    """

    near: int
    lane: int
    tap: int
    stride: int
    most: int


def window_of(block: BlockOp, target: Target) -> Window | None:
    """Return the window of a reduction whose every result reads vectors of its own; else None."""
    taps = reduce_axes(block)
    if not is_reduction(block) or any(kind is Kind.SEQ for kind in block.axis_kinds):
        return None
    par = [axis for axis in par_axes(block) if block.axis_sizes[axis] > 1]
    count = math.prod(block.axis_sizes[axis] for axis in taps)
    if len(par) < 2 or not 1 < count <= MAX_TAPS:
        return None
    loops = axis_loops(block)
    *_, near, lane = par
    images = [load for load in _factors(block) if step(load, block, loops[near])]
    if len(images) != 1 or not _fills_lanes(block, images[0], loops[lane], target):
        return None
    if any(not step(images[0], block, loops[axis]) for axis in (*par, *taps)):
        return None
    for tap in taps:
        stride, left = divmod(*(step(images[0], block, loops[axis]) or 1 for axis in (near, tap)))
        if left == 0 and 1 <= stride <= min(MAX_STRIDE, block.axis_sizes[tap]):
            aside = all(step(load, block, loops[lane]) == 1 for load in _factors(block))
            shuffled = step(images[0], block, loops[lane]) != 1
            most = MAX_SHUFFLED if shuffled else MAX_PLACES if aside else MAX_ROWS
            return Window(near, lane, tap, stride, most)
    return None


def _factors(block: BlockOp) -> list[LoadOp]:
    return [load for load in loads_in(block) if load.memref in read(block)]


def _fills_lanes(block: BlockOp, image: LoadOp, lane: ForOp, target: Target) -> bool:
    """Return whether a loop can be lanes: of channels in blocks, or along rows of an image."""
    if not lanes_fit(block, lane) or 2 * lane.trips < target.lanes:
        return False
    moved = step(image, block, lane) or 0
    others = [load for load in _factors(block) if load is not image]
    if moved == 1 and all(step(load, block, lane) == 1 for load in others):
        return lane.trips % target.lanes == 0
    return 1 <= moved <= MAX_STRIDE and all(step(load, block, lane) == 0 for load in others)


def schedule_window(schedule: Schedule, stage: str, window: Window, target: Target) -> None:
    """Compute a few neighbours at once, one vector after the other, from loads that they share.

    Reads outside the image stay tests: partition-loops decides them for all but the borders.
    """
    follower = follower_of(schedule, stage)
    outer, taps = _order_loops(schedule, stage, window, target)
    schedule.reverse_compute_at(follower, outer[-1])
    init = schedule.decompose_init(stage, taps[0])
    block = find_block(schedule.function, follower)
    if block.axis_sizes[window.lane] > target.lanes:
        schedule.split(schedule.axes(follower)[-1], target.lanes)
    for tap in taps if _unrolls_all(taps, target) else taps[-1:]:
        schedule.unroll(tap)
    for name in (init, stage, follower):
        *others, lane = schedule.axes(name)
        schedule.vectorize(lane)
        for place in others[len(outer) :]:
            if place.how is ForKind.SERIAL and place not in taps and place.trips > 1:
                schedule.unroll(place)
    schedule.set_scope(stage, "register")


def _unrolls_all(taps: list[ForOp], target: Target) -> bool:
    """Return whether all taps are straight code: where registers hold sums and what is shared."""
    few = math.prod(tap.trips for tap in taps) <= ALL_TAPS
    many = target.vector_registers >= 32 and target.folds_loads
    return few and many


def _order_loops(
    schedule: Schedule, stage: str, window: Window, target: Target
) -> tuple[list[ForOp], list[ForOp]]:
    """Put the neighbours inside the taps, of which those that share are last.

    Returns the loops around them, and those of the taps.
    """
    loops = schedule.axes(stage)
    block = find_block(schedule.function, stage)
    outer = {axis: loops[axis] for axis in par_axes(block)}
    taps = [loops[axis] for axis in reduce_axes(block) if axis != window.tap]
    taps.append(loops[window.tap])
    near, lane = loops[window.near], loops[window.lane]
    most = places(taps[-1].trips, window, target)
    outer[window.near], place = schedule.split(near, even(near.trips, most))
    outer[window.lane], vector = schedule.split(lane, min(lane.trips, target.lanes))
    schedule.reorder(*outer.values(), *taps, place, vector)
    return list(outer.values()), taps


def places(taps: int, window: Window, target: Target) -> int:
    """Return how many neighbours fit into registers with the vectors that they share.

    One needs a sum; together they read `stride` more vectors each, after the first one's taps.
    Where no instruction reads memory, factors are in registers, too, and LLVM loads far ahead:
    half of the registers stay free for that. For WebAssembly it does not.
    """
    free = target.vector_registers - 3
    if not target.folds_loads and not target.adds_offsets:
        free = target.vector_registers // 2 - 2 - taps
    stride = window.stride
    return max(1, min(window.most, (free - taps + stride) // (1 + stride)))
