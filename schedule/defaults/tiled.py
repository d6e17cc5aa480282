"""Reductions with reuse (convolution, matmul, pooling): a register tile of vectors."""

from __future__ import annotations

from dataclasses import dataclass, replace

from xdsl.dialects.builtin import Float32Type, Float64Type
from xdsl.ir.affine import AffineDimExpr, AffineExpr

from nn_opt.dialects.loop import BlockOp, ForOp, Kind, LoadOp
from nn_opt.ir.target import Target
from nn_opt.ir.types import element_type
from nn_opt.schedule.defaults.elementwise import schedule_pass
from nn_opt.schedule.defaults.facts import (
    axis_loops,
    computes_lanes,
    holds_long,
    is_contraction,
    is_long,
    is_reduction,
    lanes_of,
    loads_of,
    local_buffer,
    par_axes,
    readers,
    reduce_axes,
    step,
)
from nn_opt.schedule.defaults.images import copy_padding, take_strips
from nn_opt.schedule.defaults.tile_shapes import even, product_tile
from nn_opt.schedule.nest import find_block, kinds_bound, loads_in, loops_around, read, stores_in
from nn_opt.schedule.schedule import Schedule

FEW_COLUMNS = 2  # of a matrix product, whose factors its rows share all the same
LEAST_TILES = 8  # in a strip, for which a panel of weights comes from a cache further away
NUMBERS = (Float32Type(), Float64Type())
PANEL = 4096  # elements; fewer are there before they are missed


@dataclass(frozen=True)
class Tile:
    """`rows` iterations of one axis times `vectors` vectors of another, all in registers."""

    row_axis: int | None
    lane_axis: int
    rows: int
    vectors: int
    lanes: int


def choose_tile(block: BlockOp, target: Target) -> Tile | None:
    """Return the register tile of a reduction, or None if no axis can be its lanes."""
    loops = axis_loops(block)
    par = [axis for axis in par_axes(block) if loops[axis].trips > 1]
    if not par:
        return None
    lane_axis = par[-1]
    lane = loops[lane_axis]
    most = lanes_of(block, target)
    least = FEW_COLUMNS if _is_product(block) else most // 2
    if lane.trips < least or not lanes_fit(block, lane, long=holds_long(target)):
        return None
    lanes = min(most, lane.trips)
    row_axis = _row_axis(block, loops, par[:-1], lane)
    budget = target.accumulators
    if _is_product(block):
        height = 1 if row_axis is None else loops[row_axis].trips
        rows, vectors = product_tile(height, lane.trips * target.lanes // most, target)
        return Tile(row_axis, lane_axis, rows, vectors, lanes)
    rows = 1 if row_axis is None else even(loops[row_axis].trips, _max_rows(lane, lanes, budget))
    vectors = max(1, min(-(-lane.trips // lanes), budget // rows, 8))
    if row_axis is not None and rows > 1:
        vectors = min(vectors, 2)
    return Tile(row_axis, lane_axis, rows, vectors, lanes)


def with_columns(tile: Tile, block: BlockOp, columns: int, target: Target) -> Tile:
    """Return a tile of so many columns, rounded down to whole vectors, and as many rows as fit."""
    across = -(-axis_loops(block)[tile.lane_axis].trips // tile.lanes)
    vectors = max(1, min(columns // tile.lanes, across, target.accumulators))
    rows = max(1, min(tile.rows, target.accumulators // vectors))
    return replace(tile, rows=rows, vectors=vectors)


def _is_product(block: BlockOp) -> bool:
    """Return whether a stage sums products of numbers along one axis, as a matmul does."""
    wide = all(element_type(load.memref) in NUMBERS for load in loads_in(block))
    return wide and is_contraction(block) and len(reduce_axes(block)) == 1


def lanes_fit(block: BlockOp, lane: ForOp, *, long: bool = False) -> bool:
    """Return whether the lanes store side by side, and load at any constant distance.

    long: lanes of 64 bits may, too.
    """
    stored = [step(store, block, lane) for store in stores_in(block)]
    loaded = [step(load, block, lane) for load in loads_in(block)]
    fits = computes_lanes(block, lane, long=long)
    return fits and set(stored) == {1} and None not in loaded


def _max_rows(lane: ForOp, lanes: int, budget: int) -> int:
    """Return the tallest tile: all accumulators in a column, or half where lanes give two."""
    return budget - 2 if lane.trips <= lanes else budget // 2


def _row_axis(block: BlockOp, loops: list[ForOp], axes: list[int], lane: ForOp) -> int | None:
    """Return the axis over which what the lanes load stays the same: the innermost such."""
    vector_loads = [load for load in loads_in(block) if step(load, block, lane) == 1]
    mine = [load for load in vector_loads if load.memref in read(block)]
    for axis in reversed(axes):
        if any(step(load, block, loops[axis]) == 0 for load in mine):
            return axis
    return axes[-1] if axes else None


def schedule_tiled(schedule: Schedule, stage: str, tile: Tile, target: Target) -> None:
    """Cut the output into register tiles, reduce into each, and finish it before it is stored."""
    follower = follower_of(schedule, stage)
    copies = copy_padding(schedule, stage, tile.lane_axis)
    _prefetch_panels(schedule, stage, tile)
    outer = _tile_loops(schedule, stage, tile, target)
    schedule.reverse_compute_at(follower, outer[-1])
    block = find_block(schedule.function, stage)
    inner = loops_around(block)[len(outer) :]
    init = schedule.decompose_init(stage, inner[0])
    for name in (init, stage):
        _expand_tile(schedule, name, len(outer))
    _split_lanes(schedule, follower, tile)
    _expand_tile(schedule, follower, len(outer))
    schedule.set_scope(stage, "register")
    for copy in copies:
        schedule_pass(schedule, copy, target)


def follower_of(schedule: Schedule, stage: str) -> str:
    """Return the stage that takes the tile out of registers: the only reader, or a new copy."""
    block = find_block(schedule.function, stage)
    after = readers(block)
    if len(after) == 1 and _follows(after[0], block):
        return after[0].stage.data
    return schedule.cache_write(stage)


def _follows(reader: BlockOp, block: BlockOp) -> bool:
    """Return whether a reader takes each element once, at its own index, with vector arithmetic."""
    sizes = tuple(block.axis_sizes[axis] for axis in par_axes(block))
    if is_reduction(reader) or reader.axis_sizes != sizes:
        return False
    lane, long = axis_loops(reader)[-1], is_long(block)
    if not computes_lanes(reader, lane, long=long) or any(
        step(s, reader, lane) != 1 for s in stores_in(reader)
    ):
        return False
    if any(step(load, reader, lane) is None for load in loads_in(reader)):
        return False
    alloc = local_buffer(block)
    assert alloc is not None
    return all(at_own_axes(load, reader) for load in loads_of(alloc.result, reader))


def at_own_axes(load: LoadOp, reader: BlockOp) -> bool:
    """Return whether a load's k-th index is its block's k-th axis, for all k."""
    for axis, size, expr in zip(reader.axes, reader.axis_sizes, load.map.data.results, strict=True):
        at_axis = isinstance(expr, AffineDimExpr) and load.indices[expr.position] is axis
        if not at_axis and not (size == 1 and expr == AffineExpr.constant(0)):
            return False
    return True


def _prefetch_panels(schedule: Schedule, stage: str, tile: Tile) -> None:
    """While one panel of weights is used again and again, bring the next one nearer.

    Weights come from memory or a cache that others share; 1.03 times as fast in MobileNet v1.
    """
    block = find_block(schedule.function, stage)
    loops = axis_loops(block)
    if tile.row_axis is None or not is_contraction(block):
        return
    for operand, buffer in enumerate(read(block)):
        load = loads_of(buffer, block)[0]
        moves = [step(load, block, loops[axis]) for axis in par_axes(block)]
        lane, row = (
            step(load, block, loops[tile.lane_axis]),
            step(load, block, loops[tile.row_axis]),
        )
        panels = [moved for moved in moves if moved and moved >= PANEL]
        if (lane, row) == (1, 0) and len(panels) == 1:
            schedule.prefetch(stage, operand, panels[0])


def _tile_loops(schedule: Schedule, stage: str, tile: Tile, target: Target) -> list[ForOp]:
    """Split and reorder the loops of a stage; return those around the tile, outermost first."""
    loops = schedule.axes(stage)
    block = find_block(schedule.function, stage)
    kinds = block.axis_kinds
    outer = {axis: loop for axis, loop in enumerate(loops) if kinds[axis] is Kind.PAR}
    reduce = [loop for axis, loop in enumerate(loops) if kinds[axis] is not Kind.PAR]
    panels_first = _panels_first(block, tile, loops)
    inner: list[ForOp] = []
    if tile.row_axis is not None and tile.rows > 1:
        outer[tile.row_axis], row = schedule.split(loops[tile.row_axis], tile.rows)
        inner.append(row)
    vector_loop, lane = schedule.split(loops[tile.lane_axis], tile.lanes)
    outer[tile.lane_axis] = vector_loop
    if tile.vectors > 1:
        outer[tile.lane_axis], column = schedule.split(vector_loop, tile.vectors)
        inner.append(column)
    written_out = target.writes_out_sums and is_contraction(block)
    if written_out and reduce[-1].trips % 4 == 0 and reduce[-1].trips >= 8:
        last, four = schedule.split(reduce.pop(), 4)
        reduce += [last, four]
    order = list(outer.values())
    if panels_first:
        panel = outer[tile.lane_axis]
        order.remove(panel)
        order.insert(order.index(outer[tile.row_axis or 0]), panel)
    schedule.reorder(*order, *reduce, *inner, lane)
    if written_out and reduce[-1].trips == 4 and len(reduce) > 1:
        schedule.unroll(reduce[-1])
    if panels_first and _is_product(block):
        return _take_strips_of_rows(schedule, order, tile.rows * _bytes_of_row(block), target)
    return take_strips(schedule, stage, outer, order, target)


def _take_strips_of_rows(
    schedule: Schedule, order: list[ForOp], tile_bytes: int, target: Target
) -> list[ForOp]:
    """Let as many tiles as half of L2 takes meet all panels, before the next ones do.

    for %panel { for %rows { .. } }  ->  for %strip { for %panel { for %rows { .. } } }
    """
    *around, panel, rows = order
    most = target.l2_bytes // 2 // tile_bytes
    if most < LEAST_TILES or rows.trips * tile_bytes <= 2 * target.l2_bytes or panel.trips == 1:
        return order
    strip, row = schedule.split(rows, even(rows.trips, most))
    schedule.reorder(*around, strip, panel, row)
    return [*around, strip, panel, row]


def _bytes_of_row(block: BlockOp) -> int:
    """Return the bytes that a row of a product's left side has."""
    return 4 * block.axis_sizes[reduce_axes(block)[0]]


def _panels_first(block: BlockOp, tile: Tile, loops: list[ForOp]) -> bool:
    """Return whether what the lanes load belongs to no other outer axis: a panel kept in cache."""
    if tile.row_axis is None or tile.row_axis > tile.lane_axis:
        return False
    lane, row = loops[tile.lane_axis], loops[tile.row_axis]
    mine = [load for load in loads_in(block) if load.memref in read(block)]
    panels = [load for load in mine if step(load, block, lane) == 1]
    between = loops[tile.row_axis + 1 : tile.lane_axis]
    return bool(panels) and all(
        step(load, block, row) == 0 and all(step(load, block, loop) == 0 for loop in between)
        for load in panels
    )


def _split_lanes(schedule: Schedule, stage: str, tile: Tile) -> None:
    """Cut a follower's columns into vectors, as the tile has them."""
    innermost = schedule.axes(stage)[-1]
    if innermost.trips > tile.lanes:
        schedule.split(innermost, tile.lanes)


def _expand_tile(schedule: Schedule, stage: str, depth: int) -> None:
    """Vectorise a stage's innermost loop and unroll the others inside the first `depth`."""
    block = find_block(schedule.function, stage)
    *others, lane = schedule.axes(stage)
    schedule.vectorize(lane)
    for loop in others[depth:]:
        if kinds_bound(loop, block) == {Kind.PAR} and loop.trips > 1:
            schedule.unroll(loop)
