"""Attention on GPUs: a block takes some queries of a head, whose scores never leave it.

    for each head and some queries, in a block { scores = q @ k; e = exp(scores - ..); y = e @ v }

Threads share out rows of queries along y and keys, or columns of values, along x. A thread keeps
its scores itself where all rows are cut alike; the weights that it makes of them are shared.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from nn_opt.dialects.loop import BlockOp, ForKind, ForOp, Kind
from nn_opt.ir.target import Gpu
from nn_opt.ir.types import shape_of
from nn_opt.schedule.defaults.attention_stages import (
    finishing_stage,
    is_formula,
    join_pointwise,
    reached,
    stages_of_rows,
    take_moves_in,
)
from nn_opt.schedule.defaults.facts import (
    is_contraction,
    is_reduction,
    is_stacked,
    par_axes,
    readers,
    stages,
)
from nn_opt.schedule.defaults.gpu.grids import SUBGROUP, bind_blocks, fuse_all
from nn_opt.schedule.nest import find_block, kinds_bound, written
from nn_opt.schedule.schedule import Schedule

HEIGHT = 8  # threads along y: each takes as many rows as the others
QUERIES = (32, 16, 8)  # of a block; more share more of what they read
BLOCKS = 256  # that are enough to take more queries each
NEIGHBOURS = 4  # columns of a thread that lie side by side
OWN = 32  # scores of a row that a thread keeps
UNROLLED = 4  # steps of a sum


@dataclass(frozen=True)
class Attention:
    """The products of queries with keys, and of weights with values, and how they are cut.

    neighbours: keys that a thread takes side by side. own: each thread keeps its scores.
    """

    scores: str
    weighted: str
    queries: int
    neighbours: int
    own: bool


def find_attention(schedule: Schedule, gpu: Gpu) -> Attention | None:
    """Return the products of a kernel that is an attention whose scores fit into a block."""
    found = [block for block in stages(schedule.function) if is_contraction(block)]
    if len(found) != 2 or found[1] not in reached(found[0]) or gpu.threads < HEIGHT * SUBGROUP:
        return None
    scores, weighted = found
    sizes = scores.axis_sizes[: len(par_axes(scores)) - 1]
    between = [block for block in reached(scores) if weighted in reached(block)]
    if not between or not all(_has_axes(block, sizes) for block in [*between, weighted]):
        return None
    if any(len(b.axis_sizes) != len(par_axes(b)) + 1 or len(b.axis_sizes) < 3 for b in found):
        return None
    keys, blocks = scores.axis_sizes[len(sizes)], math.prod(sizes)
    fits = [n for n in QUERIES if _bytes(n, keys) <= gpu.shared_bytes * 3 // 4]
    many = [n for n in fits if blocks // n >= BLOCKS]
    if not fits:
        return None
    queries = max(many, default=min(fits[:2], default=fits[0]))
    names = scores.stage.data, weighted.stage.data
    return Attention(*names, queries, _neighbours(keys), _keeps_own(keys))


def _has_axes(block: BlockOp, sizes: tuple[int, ...]) -> bool:
    return block.axis_sizes[: len(sizes)] == sizes and not is_stacked(block)


def _neighbours(keys: int) -> int:
    return next(n for n in (NEIGHBOURS, 2, 1) if keys % (n * SUBGROUP) == 0 or n == 1)


def _keeps_own(keys: int) -> bool:
    return keys % SUBGROUP == 0 and keys <= SUBGROUP * OWN


def _bytes(queries: int, keys: int) -> int:
    """Return the bytes of what threads share of so many queries: weights, and perhaps scores."""
    return (1 if _keeps_own(keys) else 2) * 4 * queries * keys


def schedule_attention(schedule: Schedule, attention: Attention, gpu: Gpu) -> None:
    """Compute all stages at some rows of the last one; what is only moved before stays as it is."""
    take_moves_in(schedule, attention.scores)
    join_pointwise(schedule, attention.scores)
    last, order, untouched = finishing_stage(schedule, attention.weighted)
    _inline_numbers(schedule, attention.scores, [last, *untouched])
    home = _bind_rows(schedule, last, order, attention, gpu)
    parts = (attention.scores, attention.weighted, [last, *untouched])
    inner, outer = stages_of_rows(schedule, *parts)
    columns = math.ceil(find_block(schedule.function, last).axis_sizes[order[-1]] / SUBGROUP)
    _tile(schedule, attention.weighted, last, home, attention, min(columns, NEIGHBOURS))
    for stage in reversed([*inner, *outer]):
        schedule.compute_at(stage, home)
    _tile(schedule, attention.scores, inner[0], home, attention, attention.neighbours)
    for stage in [*inner[1:], *outer]:
        _spread(schedule, stage, home, attention)
    for stage in [*inner, *outer]:
        own = attention.own and _is_own(find_block(schedule.function, stage))
        schedule.set_scope(stage, "stack" if own else "shared")


def _inline_numbers(schedule: Schedule, scores: str, kept: list[str]) -> None:
    """Compute what is one number a row, and no sum, where it is read."""
    for block in stages(schedule.function):
        if block.stage.data in kept or block not in reached(find_block(schedule.function, scores)):
            continue
        if is_formula(block) and shape_of(written(block)[0])[-1] == 1:
            schedule.inline(block.stage.data)


def _bind_rows(
    schedule: Schedule, last: str, order: list[int], attention: Attention, gpu: Gpu
) -> ForOp:
    """Give blocks some rows of a head each; return the loop over blocks."""
    loops = schedule.axes(last)
    *heads, row, column = [loops[axis] for axis in order]
    outer, inner = schedule.split(row, attention.queries)
    schedule.reorder(*heads, outer, inner, column)
    return bind_blocks(schedule, fuse_all(schedule, [*heads, outer]), gpu)


def _tile(
    schedule: Schedule, product: str, reader: str, home: ForOp, attention: Attention, width: int
) -> None:
    """Sum a thread's tile of a product in registers, where its reader takes it out of them."""
    loops = schedule.axes(reader)
    row, column = loops[loops.index(home) + 1 :]
    thread_y, rows = schedule.split(row, attention.queries // HEIGHT)
    outer, columns = schedule.split(column, width)
    steps, thread_x = schedule.split(outer, SUBGROUP)
    schedule.reorder(thread_y, thread_x, steps, rows, columns)
    schedule.bind(thread_y, ForKind.THREAD_Y)
    schedule.bind(thread_x, ForKind.THREAD_X)
    schedule.compute_at(product, steps)
    _sum_tile(schedule, product, steps)
    schedule.unroll(rows)
    schedule.unroll(columns)


def _sum_tile(schedule: Schedule, stage: str, home: ForOp) -> None:
    """Let the sum run outside of a tile's rows and columns, which are unrolled."""
    loops, block = schedule.axes(stage), find_block(schedule.function, stage)
    inner = loops[loops.index(home) + 1 :]
    free = [loop for loop in inner if kinds_bound(loop, block) == {Kind.PAR}]
    reduced = [loop for loop in inner if loop not in free]
    if reduced[-1].trips % UNROLLED == 0:
        reduced[-1:] = schedule.split(reduced[-1], UNROLLED)
        schedule.unroll(reduced[-1])
    if free:
        schedule.reorder(*reduced, *free)
    init = schedule.decompose_init(stage, reduced[0])
    for name in (init, stage):
        loops = schedule.axes(name)
        for loop in loops[loops.index(home) + 1 :]:
            if kinds_bound(loop, find_block(schedule.function, name)) == {Kind.PAR}:
                schedule.unroll(loop)
    schedule.set_scope(stage, "register")


def _spread(schedule: Schedule, stage: str, home: ForOp, attention: Attention) -> None:
    """Let threads go through rows as they do through those of scores."""
    loops, block = schedule.axes(stage), find_block(schedule.function, stage)
    row, *inner = loops[loops.index(home) + 1 :]
    thread_y, rows = schedule.split(row, attention.queries // HEIGHT)
    schedule.bind(thread_y, ForKind.THREAD_Y)
    wide = [loop for loop in inner if loop.trips > 1]
    if not wide:
        return
    outer, columns = schedule.split(wide[-1], attention.neighbours)
    steps, thread_x = schedule.split(outer, SUBGROUP)
    if is_reduction(block):
        schedule.reorder(thread_y, rows, *inner[:-1], thread_x, steps, columns)
    else:
        schedule.reorder(thread_y, thread_x, rows, steps, columns)
    schedule.bind(thread_x, ForKind.THREAD_X)


def _is_own(block: BlockOp) -> bool:
    """Return whether what a stage makes of each score is read by the same thread only."""
    moved = is_reduction(block) or shape_of(written(block)[0])[-1] == 1
    return not moved and not any(is_contraction(reader) for reader in readers(block))
