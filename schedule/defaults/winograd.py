"""Winograd convolutions: transform, product and transform back, one group of tiles at a time.

What the three steps hand on stays in cache, and each weight is used for all tiles of a group.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from nn_opt.dialects.loop import BlockOp, ForKind, ForOp, Kind
from nn_opt.ir.target import Target
from nn_opt.ir.types import element_type, numpy_dtype, shape_of
from nn_opt.schedule.defaults.dots import ACCUMULATORS, product_intrinsic, sizes_of
from nn_opt.schedule.defaults.elementwise import schedule_pass
from nn_opt.schedule.defaults.facts import (
    computes_lanes,
    cost,
    is_contraction,
    is_stacked,
    loads_of,
    local_buffer,
    readers,
    stages,
    step,
)
from nn_opt.schedule.inline import may_leave
from nn_opt.schedule.intrinsics import Intrinsic
from nn_opt.schedule.nest import (
    accessors,
    find_block,
    kinds_bound,
    loads_in,
    loops_around,
    read,
    stores_in,
)
from nn_opt.schedule.schedule import Schedule

PARALLEL_WORK = 100_000  # additions: about 5 us of one core, below which threads do not pay
GROUP_TILES = 16  # what is transformed of so many tiles mostly fits L2, beside the weights
MEMORY_BOUND_TILES = 4  # with so few, weights are read as fast as one stream of them comes


@dataclass(frozen=True)
class Stages:
    """The names of the stages: V and Y yield whole tiles, M sums products, readers take Y apart."""

    v: str
    m: str
    y: str
    readers: tuple[str, ...]


def winograd_stages(schedule: Schedule) -> Stages | None:
    """Return the stages of a Winograd convolution: a contraction between two that stack."""
    found = [block for block in stages(schedule.function) if is_contraction(block)]
    if len(found) != 1 or len(after := readers(found[0])) != 1 or not is_stacked(after[0]):
        return None
    m, y = found[0], after[0]
    makers = [b for b in map(_maker, read(m)) if b is not None and is_stacked(b)]
    if len(makers) != 1 or len(m.axis_sizes) != 9:
        return None
    names = [block.stage.data for block in readers(y)]
    return Stages(makers[0].stage.data, m.stage.data, y.stage.data, tuple(names))


def _maker(buffer: object) -> BlockOp | None:
    for block in accessors(buffer):  # pyright: ignore[reportArgumentType]
        if any(store.memref is buffer for store in stores_in(block)):
            return block
    return None


def schedule_winograd(schedule: Schedule, names: Stages, target: Target) -> None:
    """Run all stages for one group of tiles after the other."""
    others = _other_stages(schedule, names)
    followers = [name for name in names.readers if _can_follow(schedule, name, names.y)]
    copy = _copy_padding(schedule, names.v)
    product = schedule.cache_write(names.m)
    group, outer = _tile_products(schedule, names.m, product, target)
    _move_output(schedule, names, followers, group)
    _move_input(schedule, names.v, copy, group)
    schedule.set_scope(names.v, "global")
    schedule.set_scope(product, "global")
    _spread(schedule, names, outer, group)
    for name in [*others, *(name for name in names.readers if name not in followers)]:
        schedule_pass(schedule, name, target)


def _other_stages(schedule: Schedule, names: Stages) -> list[str]:
    known = {names.v, names.m, names.y, *names.readers}
    everything = [block.stage.data for block in stages(schedule.function)]
    return [name for name in everything if name not in known]


def _copy_padding(schedule: Schedule, stage: str) -> str | None:
    """Give the input a copy with its padding, if it has any; return the copying stage."""
    block = find_block(schedule.function, stage)
    if not any(may_leave(load, block) for load in loads_in(block)):
        return None
    return schedule.cache_read(stage, 0)


def _can_follow(schedule: Schedule, stage: str, y: str) -> bool:
    """Return whether a stage takes tiles apart on vectors, once each element."""
    block = find_block(schedule.function, stage)
    tiles = find_block(schedule.function, y)
    alloc = local_buffer(tiles)
    lane = loops_around(block)[-1]
    accesses = [*loads_in(block), *stores_in(block)]
    plain = all(kind is Kind.PAR for kind in block.axis_kinds) and len(block.axis_sizes) == 5
    if alloc is None or not plain or not computes_lanes(block, lane):
        return False
    lanes = [step(load, block, lane) for load in loads_of(alloc.result, block)]
    return set(lanes) == {1} and all(step(access, block, lane) is not None for access in accesses)


@dataclass(frozen=True)
class Group:
    """Tiles that are transformed together: `parts` times the `rows` x `columns` in registers.

    `vectors` blocks of result channels share what registers hold of the input.
    """

    rows: int
    columns: int
    parts: int
    vectors: int


def group_of(
    rows: int, columns: int, channels: int, filters: int, target: Target, *, pairs: bool = False
) -> Group:
    """Return the group for an image of rows x columns tiles.

    The input of one product, `channels` bytes a tile, stays in L1 over all filters. Products of
    `pairs` are so fast that each load of the input has to serve two blocks of filters.
    """
    registers = target.accumulators
    if shared := pairs and filters % 2 == 0:
        registers = ACCUMULATORS[target.vector_registers] // 2
    fitting = max(1, min(registers, target.l1_bytes * 3 // 4 // channels))
    wide = _even(columns, fitting)
    high = _even(rows, fitting // wide) if wide == columns else 1
    tiles = high * wide
    parts = min(GROUP_TILES // tiles, -(-rows // high)) if wide == columns else 1
    few = MEMORY_BOUND_TILES < tiles <= registers // 2 and filters % 2 == 0
    return Group(high, wide, parts, 2 if shared or few else 1)


def _even(trips: int, most: int) -> int:
    return math.ceil(trips / math.ceil(trips / max(1, most)))


def _tile_products(
    schedule: Schedule, stage: str, product: str, target: Target
) -> tuple[ForOp, list[ForOp]]:
    """Sum in registers over some tiles of a group; return the loop over groups, and those inside.

    Order: groups, points of the transform, parts of a group, filters, channels, tiles.
    """
    a, b, n, fo, p, q, fi, co, ci = schedule.axes(stage)
    block = find_block(schedule.function, stage)
    intrinsic = product_intrinsic(block, target)
    channels = co.trips * ci.trips * numpy_dtype(element_type(read(block)[0])).itemsize
    group = group_of(p.trips, q.trips, channels, fo.trips, target, pairs=intrinsic is not None)
    po, pi = schedule.split(p, group.rows * group.parts)
    part, pi = schedule.split(pi, group.rows)
    qo, qi = schedule.split(q, group.columns)
    fo, fv = schedule.split(fo, group.vectors)
    ci, *pair = schedule.split(ci, sizes_of(intrinsic)[1]) if intrinsic else (ci,)
    in_fours = target.writes_out_sums and ci.trips % 4 == 0
    reduce = [co, *schedule.split(ci, 4)] if in_fours else [co, ci]
    schedule.reorder(n, po, qo, a, b, part, fo, *reduce, pi, qi, fv, fi, *pair)
    if len(reduce) == 3:
        schedule.unroll(reduce[-1])
    schedule.reverse_compute_at(product, fo)
    init = schedule.decompose_init(stage, co)
    for name in (init, stage, product):
        _expand(schedule, name, fo, intrinsic if name == stage else None)
    schedule.set_scope(stage, "register")
    return qo, [a, b, fo]


def _expand(
    schedule: Schedule, stage: str, outer: ForOp, intrinsic: Intrinsic | None = None
) -> None:
    """Vectorise a stage's innermost loop and unroll the independent ones inside `outer`.

    The two innermost loops may be an intrinsic instead.
    """
    block = find_block(schedule.function, stage)
    loops = schedule.axes(stage)
    if intrinsic is None:
        *others, lane = loops[loops.index(outer) + 1 :]
        schedule.vectorize(lane)
    else:
        *others, lane, _ = loops[loops.index(outer) + 1 :]
        schedule.tensorize(lane, intrinsic.name)
    for loop in others:
        if kinds_bound(loop, block) == {Kind.PAR} and loop.trips > 1:
            schedule.unroll(loop)


def _move_output(schedule: Schedule, names: Stages, followers: list[str], group: ForOp) -> None:
    """Transform back at the end of a group, and finish the tiles while they are near.

    Tiles that fit the image are finished in registers. Where some hang over, that would take code
    of its own for each border, so all tiles of a block of channels are finished after each other.
    """
    schedule.reverse_compute_at(names.y, group)
    *around, tile, lane = schedule.axes(names.y)
    fits = all(_fits(schedule, name, names.y) for name in names.readers)
    filters = [*around, tile][around.index(group) + 1] if group in around else group
    if len(followers) == len(names.readers):
        for name in followers:
            schedule.reverse_compute_at(name, tile if fits else filters)
            if fits:
                _expand(schedule, name, tile)
            else:
                schedule.vectorize(schedule.axes(name)[-1])
    schedule.vectorize(lane)
    if len(followers) == len(names.readers):
        schedule.set_scope(names.y, "register" if fits else "stack")


def _fits(schedule: Schedule, stage: str, y: str) -> bool:
    """Return whether the tiles end where the image does."""
    tiles, image = find_block(schedule.function, y), find_block(schedule.function, stage)
    alloc = local_buffer(tiles)
    assert alloc is not None
    size = shape_of(alloc.result)[0]
    pairs = zip(tiles.axis_sizes[2:4], image.axis_sizes[2:4], strict=True)
    return all(count * size == pixels for count, pixels in pairs)


def _move_input(schedule: Schedule, stage: str, copy: str | None, group: ForOp) -> None:
    """Transform the input at the start of a group; its padding is added channel by channel."""
    schedule.compute_at(stage, group)
    loops = schedule.axes(stage)
    inner = loops[loops.index(group) + 1 :]
    if copy is not None:
        schedule.compute_at(copy, inner[0] if len(inner) > 1 else group)
        schedule.set_scope(copy, "stack")
        schedule.vectorize(schedule.axes(copy)[-1])
    schedule.vectorize(inner[-1])


def _spread(schedule: Schedule, names: Stages, outer: list[ForOp], group: ForOp) -> None:
    """Split each step of a group over threads, if it is long enough."""
    for name in (names.m, names.v, names.y):
        block, loops = find_block(schedule.function, name), schedule.axes(name)
        inner = loops[loops.index(group) + 1 :]
        if math.prod(loop.trips for loop in inner) * cost(block) < PARALLEL_WORK:
            continue
        for loop in outer[:2] if name == names.m else inner[:1]:
            if loop.trips > 1 and loop.how is ForKind.SERIAL:
                schedule.parallel(loop)
