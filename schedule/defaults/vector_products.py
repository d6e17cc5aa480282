"""A vector times a matrix whose rows share places of the cache: one row after the other."""

from __future__ import annotations

from nn_opt.dialects.loop import BlockOp
from nn_opt.ir.target import Target
from nn_opt.schedule.defaults.facts import (
    axis_loops,
    is_contraction,
    par_axes,
    reduce_axes,
    step,
)
from nn_opt.schedule.defaults.tiled import lanes_fit
from nn_opt.schedule.nest import loads_in, read
from nn_opt.schedule.schedule import Schedule

PAGE = 1024  # elements, after which a cache of eight places for each address begins again
FAR = 2 * PAGE  # from row to row, so that a tile of columns is in another page each time
COLUMNS = 16 * PAGE  # whose sums stay in a near cache while all rows pass
VECTORS = 4  # unrolled


def is_vector_product(block: BlockOp) -> bool:
    """Return whether a stage sums a vector's products with rows that are whole pages."""
    loops = axis_loops(block)
    wide = [loops[axis] for axis in par_axes(block) if loops[axis].trips > 1]
    if not is_contraction(block) or len(wide) != 1 or len(reduce_axes(block)) != 1:
        return False
    lane, row = wide[0], loops[reduce_axes(block)[0]]
    if not lanes_fit(block, lane):
        return False
    factors = [load for load in loads_in(block) if load.memref in read(block)]
    steps = [(step(load, block, lane), step(load, block, row)) for load in factors]
    rows = [down for across, down in steps if across == 1 and down is not None]
    repeated = [across for across, _ in steps if across == 0]
    return len(rows) == len(repeated) == 1 and rows[0] >= FAR and rows[0] % PAGE == 0


def schedule_vector_product(schedule: Schedule, stage: str, target: Target) -> None:
    """Add each row, times its number, to sums that stay in cache."""
    *outer, columns, rows = schedule.axes(stage)
    if columns.trips > COLUMNS:
        chunk, columns = schedule.split(columns, COLUMNS)
        outer.append(chunk)
    schedule.reorder(*outer, rows, columns)
    init = schedule.decompose_init(stage, rows)
    for name in (init, stage):
        inner = schedule.axes(name)[-1]
        if inner.trips > target.lanes * VECTORS:
            _, inner = schedule.split(inner, target.lanes * VECTORS)
        if inner.trips > target.lanes:
            vectors, inner = schedule.split(inner, target.lanes)
            schedule.unroll(vectors)
        schedule.vectorize(inner)
