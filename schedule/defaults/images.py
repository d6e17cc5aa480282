"""How tiles of a convolution read their image: without a copy of it, and strip by strip."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

from xdsl.ir.affine import AffineDimExpr, AffineExpr

from nn_opt.dialects.loop import BlockOp, ForOp, LoadOp
from nn_opt.ir.affine import Range, linear, range_of
from nn_opt.ir.target import Target
from nn_opt.ir.types import element_type, numpy_dtype, shape_of
from nn_opt.schedule.defaults.facts import (
    axis_loops,
    is_contraction,
    loads_of,
    par_axes,
    reduce_axes,
    step,
)
from nn_opt.schedule.inline import may_leave
from nn_opt.schedule.nest import find_block, loads_in, read
from nn_opt.schedule.schedule import Schedule

MUCH_WORK = 256  # products with each element of an image: a copy takes a 20th of that time or less
SMALL = 4096  # bytes of an image that is copied sooner than code for its borders is made
MOST_BORDERS = 4  # rows or columns whose tests partition-loops decides, each by its own code
LARGE = 4  # an image of more than such a part of L2 is read in strips ...
STRIP = 12  # ... of at most such a part: 100 % of peak instead of 80 % (56 x 56 x 64, 3 x 3)
LEAST_ROWS = 2
MANY_PRODUCTS = 256  # in a sum; of fewer, results are stored as fast as the image comes


def copy_padding(schedule: Schedule, stage: str, lane_axis: int) -> list[str]:
    """Give padded operands a copy with their padding, if tests cannot be kept to the borders.

    Returns the copying stages.
    """
    block = find_block(schedule.function, stage)
    lane = axis_loops(block)[lane_axis]
    padded = [
        operand
        for operand, buffer in enumerate(read(block))
        if any(
            may_leave(load, block) and not _needs_no_copy(load, block, lane)
            for load in loads_of(buffer, block)
        )
    ]
    return [schedule.cache_read(stage, operand) for operand in padded]


def _needs_no_copy(load: LoadOp, block: BlockOp, lane: ForOp) -> bool:
    """Return whether a load serves all lanes at once, and few places along each axis leave.

    Borders take code of their own, which is compiled for a third of a second if tiles are large.
    """
    if step(load, block, lane) != 0 or any(index not in block.axes for index in load.indices):
        return False
    elements = math.prod(shape_of(load.memref))
    if elements * _item(load) < SMALL or math.prod(block.axis_sizes) > MUCH_WORK * elements:
        return False
    for expr, size in zip(load.map.data.results, shape_of(load.memref), strict=True):
        low, high = _reach(expr, load, block, range(len(block.axes)))
        if low >= 0 and high < size:
            continue
        first, last = _reach(expr, load, block, reduce_axes(block))
        par = [pace for axis, pace in _paces(expr, load, block) if axis in par_axes(block)]
        if len(par) != 1 or last - first > MOST_BORDERS * par[0]:
            return False
    return True


def _item(load: LoadOp) -> int:
    return numpy_dtype(element_type(load.memref)).itemsize


def _paces(expr: AffineExpr, load: LoadOp, block: BlockOp) -> Iterator[tuple[int, int]]:
    """Yield the axes that move an index of a load, and by how much: 0 where that varies."""
    axes = list(block.axes)
    for atom, factor in linear(expr).terms.items():
        for position in atom.used_dims():
            plain = isinstance(atom, AffineDimExpr)
            yield axes.index(load.indices[position]), factor if plain else 0


def _reach(expr: AffineExpr, load: LoadOp, block: BlockOp, axes: Sequence[int]) -> Range:
    """Return how far an index of a load reaches over some axes, the others at 0."""
    moving = [block.axes[axis] for axis in axes]
    sizes = dict(zip(block.axes, block.axis_sizes, strict=True))
    ranges = [(0, sizes[i] - 1) if i in moving else (0, 0) for i in load.indices]
    return range_of(expr, ranges)


def take_strips(
    schedule: Schedule, stage: str, outer: dict[int, ForOp], order: list[ForOp], target: Target
) -> list[ForOp]:
    """Split the loop over rows of an image that all filters read, so that a strip stays in cache.

    for %f { for %p { .. } }  ->  for %po { for %f { for %pi { .. } } }
    """
    block = find_block(schedule.function, stage)
    products = math.prod(block.axis_sizes[axis] for axis in reduce_axes(block))
    if not is_contraction(block) or products < MANY_PRODUCTS:
        return order
    axes = [next(axis for axis in outer if outer[axis] is loop) for loop in order]
    for k, (filters, rows) in enumerate(pairwise(order)):
        most = max(_most_rows(load, block, axes[: k + 2], target) for load in _factors(block))
        if 0 < most < rows.trips and filters.trips > 1:
            strip, row = schedule.split(rows, math.ceil(rows.trips / math.ceil(rows.trips / most)))
            schedule.reorder(strip, filters, row)
            return [*order[:k], strip, filters, row, *order[k + 2 :]]
    return order


def _factors(block: BlockOp) -> list[LoadOp]:
    return [load for load in loads_in(block) if load.memref in read(block)]


def _most_rows(load: LoadOp, block: BlockOp, axes: Sequence[int], target: Target) -> int:
    """Return how many rows of an image a strip may have; 0 if the load reads no large image.

    The last two axes are those of filters, which must not move the load, and of rows, of which
    each result needs several.
    """
    *around, filters, rows = axes
    exprs, shape = load.map.data.results, shape_of(load.memref)
    if any(index not in block.axes for index in load.indices):
        return 0
    paces = [dict(_paces(expr, load, block)) for expr in exprs]
    if any(filters in moves for moves in paces):
        return 0
    inside = [size for size, moves in zip(shape, paces, strict=True) if not {*around} & {*moves}]
    image = math.prod(inside) * _item(load)
    for expr, moves, size in zip(exprs, paces, shape, strict=True):
        first, last = _reach(expr, load, block, reduce_axes(block))
        if moves.get(rows, 0) > 0 and last > first and image * LARGE > target.l2_bytes:
            budget = target.l2_bytes // STRIP // (image // size)
            return max(LEAST_ROWS, (budget - (last - first) - 1) // moves[rows] + 1)
    return 0
