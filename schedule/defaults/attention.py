"""Attention, a product of a softmax of a product: some rows of scores at a time, while in cache.

    for each head { for some queries { scores = q @ k; e = exp(scores - ..); y = e @ v } }

Both products run in register tiles; the rows between them stay in the first-level cache. Keys in
blocks are one more loop inside that over queries; what joins the blocks comes behind it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from nn_opt.dialects.loop import BlockOp, ForOp, Kind
from nn_opt.ir.target import Target
from nn_opt.schedule.defaults.attention_stages import (
    finishing_stage,
    is_read_inside,
    join_pointwise,
    reached,
    stages_of_rows,
    take_moves_in,
)
from nn_opt.schedule.defaults.elementwise import schedule_pass
from nn_opt.schedule.defaults.facts import (
    is_contraction,
    is_reduction,
    is_stacked,
    par_axes,
    stages,
    step,
    vectorizable,
)
from nn_opt.schedule.defaults.sums import schedule_sum
from nn_opt.schedule.defaults.tile_shapes import product_tile
from nn_opt.schedule.defaults.tiled import Tile, choose_tile
from nn_opt.schedule.nest import find_block, kinds_bound, loads_in, read
from nn_opt.schedule.schedule import Schedule

UNROLLED = 4  # steps of a sum


@dataclass(frozen=True)
class Product:
    """A sum of products: its stage, and the register tile that suits it."""

    stage: str
    tile: Tile
    steps: int  # of a sum that are written out


@dataclass(frozen=True)
class Attention:
    """The scores of queries and keys, and the values that they weigh, in tiles of as many rows."""

    scores: Product
    weighted: Product

    @property
    def rows(self) -> int:
        """The queries of a tile."""
        return self.weighted.tile.rows


def find_attention(schedule: Schedule, target: Target) -> Attention | None:
    """Return the products of a kernel that is an attention: the second reads rows of the first."""
    found = [block for block in stages(schedule.function) if is_contraction(block)]
    if len(found) != 2:
        return None
    scores, weighted = found
    first, second = (_product(block, target) for block in found)
    between = [b for b in reached(scores) if weighted in reached(b)]
    rows = scores.axis_sizes[: len(par_axes(scores)) - 1]
    if first is None or second is None or not between:
        return None
    if not all(_has_axes(block, rows) for block in [*between, weighted]):
        return None
    height = min(first.tile.rows, second.tile.rows)
    return Attention(*(_as_high(product, height, schedule, target) for product in (first, second)))


def _as_high(product: Product, rows: int, schedule: Schedule, target: Target) -> Product:
    """Return a product in tiles of so many rows, or of a part of them."""
    block = find_block(schedule.function, product.stage)
    columns = block.axis_sizes[par_axes(block)[-1]]
    high, vectors = product_tile(rows, columns, target)
    vectors = vectors if high == rows else product.tile.vectors
    return replace(product, tile=replace(product.tile, rows=rows, vectors=vectors))


def _product(block: BlockOp, target: Target) -> Product | None:
    """Return a product of matrices whose columns can be lanes."""
    par, tile = par_axes(block), choose_tile(block, target)
    matrices = len(par) > 1 and len(block.axis_sizes) == len(par) + 1
    if not matrices or tile is None or tile.lane_axis != par[-1]:
        return None
    return Product(block.stage.data, tile, UNROLLED if target.writes_out_sums else 1)


def _has_axes(block: BlockOp, sizes: tuple[int, ...]) -> bool:
    """Return whether a stage's first axes have the given sizes."""
    return block.axis_sizes[: len(sizes)] == sizes and not is_stacked(block)


def schedule_attention(schedule: Schedule, attention: Attention, target: Target) -> None:
    """Compute everything at some rows of the last stage, and in those block by block of keys."""
    product = attention.weighted
    copies = take_moves_in(schedule, attention.scores.stage)
    join_pointwise(schedule, attention.scores.stage)
    last, order, untouched = finishing_stage(schedule, product.stage)
    rows = _split_rows(schedule, last, order, attention.rows)
    finish, home = last, rows
    if stages_of_rows(schedule, attention.scores.stage, product.stage, [last, *untouched])[1]:
        finish = schedule.cache_write(product.stage)
    inner, outer = stages_of_rows(
        schedule, attention.scores.stage, product.stage, [last, *untouched]
    )
    for stage in reversed(outer):
        schedule.compute_at(stage, rows)
    if finish != last:
        loops = schedule.axes(finish)
        home = loops[loops.index(rows) + 1]
    _tile(schedule, product, finish, home)
    _move_in(schedule, inner, home)
    _tile(schedule, attention.scores, inner[0], home)
    for stage in inner[1:]:
        _schedule_rows(schedule, stage, home, target)
    for stage in [*outer, last]:
        if stage != finish:
            _schedule_rows(schedule, stage, rows, target)
    for stage in [*inner, *outer]:
        schedule.set_scope(stage, "stack")
    for stage in [*copies, *untouched]:
        schedule_pass(schedule, stage, target)


def _split_rows(schedule: Schedule, last: str, order: list[int], count: int) -> ForOp:
    """Cut the rows of the last stage into tiles; return the loop over those.

    order: the last stage's axes, as the heads, the rows and the columns of what it finishes.
    """
    loops = schedule.axes(last)
    *heads, row, column = [loops[axis] for axis in order]
    outer, inner = schedule.split(row, count)
    schedule.reorder(*heads, outer, inner, column)
    return outer


def _move_in(schedule: Schedule, inner: list[str], home: ForOp) -> None:
    """Compute stages in a loop's body; what only later stages read comes at its end."""
    for stage in reversed(inner):
        if is_read_inside(schedule, stage, home):
            schedule.compute_at(stage, home)
        else:
            schedule.reverse_compute_at(stage, home)


def _tile(schedule: Schedule, product: Product, reader: str, home: ForOp) -> None:
    """Sum a product tile by tile in registers, where its reader takes each out of them."""
    loops = schedule.axes(reader)
    *rows, column = loops[loops.index(home) + 1 :]
    vector, lane = schedule.split(column, product.tile.lanes)
    outer, vectors = schedule.split(vector, product.tile.vectors)
    schedule.reorder(outer, *rows, vectors, lane)
    schedule.compute_at(product.stage, outer)
    _sum_tile(schedule, product, outer)
    _expand(schedule, reader, outer)


def _sum_tile(schedule: Schedule, product: Product, home: ForOp) -> None:
    """Order the loops of a product inside `home`: sums, rows, vectors, lanes."""
    stage = product.stage
    loops, block = schedule.axes(stage), find_block(schedule.function, stage)
    inner = loops[loops.index(home) + 1 :]
    *rows, column = [loop for loop in inner if kinds_bound(loop, block) == {Kind.PAR}]
    reduce = [loop for loop in inner if loop not in (*rows, column)]
    vectors, lane = schedule.split(column, product.tile.lanes)
    unrolled = product.steps > 1 and reduce[-1].trips % product.steps == 0
    if unrolled:
        reduce[-1:] = schedule.split(reduce[-1], product.steps)
    schedule.reorder(*reduce, *rows, vectors, lane)
    if unrolled:
        schedule.unroll(reduce[-1])
    init = schedule.decompose_init(stage, reduce[0])
    for name in (init, stage):
        _expand(schedule, name, home)
    schedule.set_scope(stage, "register")


def _expand(schedule: Schedule, stage: str, home: ForOp) -> None:
    """Vectorise a stage's innermost loop and unroll the independent ones inside `home`."""
    loops, block = schedule.axes(stage), find_block(schedule.function, stage)
    *others, lane = loops[loops.index(home) + 1 :]
    schedule.vectorize(lane)
    for loop in others:
        if kinds_bound(loop, block) == {Kind.PAR} and loop.trips > 1:
            schedule.unroll(loop)


def _schedule_rows(schedule: Schedule, stage: str, home: ForOp, target: Target) -> None:
    """Run a stage in vectors along its rows; sums over something else, beside each other."""
    block = find_block(schedule.function, stage)
    if not is_reduction(block):
        schedule_pass(schedule, stage, target)
        return
    loops = schedule.axes(stage)
    inner = loops[loops.index(home) + 1 :]
    reduce = [loop for loop in inner if kinds_bound(loop, block) - {Kind.PAR}]
    par = [loop for loop in inner if loop not in reduce]
    sources = [load for load in loads_in(block) if load.memref in read(block)]
    along = all(step(load, block, reduce[-1]) == 1 for load in sources)
    if along or not par or not vectorizable(block, par[-1], target):
        schedule_sum(schedule, stage, target)
        return
    *par, lane = par
    if lane.trips > target.lanes:
        vectors, lane = schedule.split(lane, target.lanes)
        par.append(vectors)
    schedule.reorder(*par, *reduce, lane)
    init = schedule.decompose_init(stage, reduce[0])
    for name in (init, stage):
        schedule.vectorize(schedule.axes(name)[-1])
