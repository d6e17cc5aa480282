"""A vector times a matrix whose rows lie side by side: threads share columns and parts of sums."""

from __future__ import annotations

import math

from nn_opt.dialects.loop import BlockOp, ForKind, ForOp
from nn_opt.ir.target import Gpu
from nn_opt.schedule.defaults.facts import (
    axis_loops,
    is_contraction,
    loads_of,
    par_axes,
    reduce_axes,
    step,
)
from nn_opt.schedule.defaults.gpu.grids import SUBGROUP, bind_blocks, fuse_all
from nn_opt.schedule.defaults.gpu.groups import is_plain
from nn_opt.schedule.defaults.gpu.product import follower_of, join_product, pad_sum
from nn_opt.schedule.defaults.gpu.product_tiles import ENOUGH
from nn_opt.schedule.defaults.gpu.products import Product
from nn_opt.schedule.defaults.gpu.rows import crosses_threads
from nn_opt.schedule.nest import loads_in, read
from nn_opt.schedule.schedule import Schedule

PARTS = 8  # of a sum, of which each is a thread's
TERMS = 4  # of a part, at least


def is_vector_product(block: BlockOp, product: Product) -> bool:
    """Return whether a product has one row, and neighbouring columns are neighbours in memory."""
    if product.rows:
        return False
    column = axis_loops(block)[product.columns[-1]]
    loads = loads_of(read(block)[product.columns_of], block)
    return all(step(load, block, column) == 1 for load in loads)


def schedule_vector_product(schedule: Schedule, block: BlockOp, product: Product, gpu: Gpu) -> None:
    """Let a row of threads go through columns side by side, and rows of threads through parts."""
    stage = block.stage.data
    follower = follower_of(schedule, stage)
    join_product(schedule, follower, product, reduced=False)
    batch, _, column, k = join_product(schedule, stage, product)
    parts = _parts_of(column, k, gpu)
    schedule.pad(column, SUBGROUP)
    pad_sum(schedule, stage, k, parts)
    wide, across = schedule.split(column, SUBGROUP)
    terms, part = schedule.split(k, parts)
    _bind(schedule, (stage, follower), batch, (wide, across, part, terms), gpu)


def is_vector_sum(block: BlockOp) -> bool:
    """Return whether a stage is such a product but for what else it does with its factors.

    So it is of weights in blocks, which it unpacks.
    """
    if not is_plain(block) or not is_contraction(block) or not crosses_threads(block):
        return False
    terms = math.prod(block.axis_sizes[axis] for axis in reduce_axes(block))
    columns = [axis_loops(block)[axis] for axis in par_axes(block)][-1:]
    if not columns or columns[0].trips < SUBGROUP or terms < SUBGROUP * TERMS:
        return False
    sources = read(block)
    moved = {step(load, block, columns[0]) for load in loads_in(block) if load.memref in sources}
    return moved == {0, 1}


def schedule_vector_sum(schedule: Schedule, block: BlockOp, gpu: Gpu) -> None:
    """The same for loops that stay those of the stage's axes."""
    stage = block.stage.data
    follower = follower_of(schedule, stage)
    loops = schedule.axes(stage)
    *batch, column = (loops[axis] for axis in par_axes(block))
    reduced = [loops[axis] for axis in reduce_axes(block)]
    schedule.reorder(*batch, column, *reduced)
    k = fuse_all(schedule, reduced)
    parts = _parts_of(column, k, gpu)
    wide, across = schedule.split(column, SUBGROUP)
    terms, part = schedule.split(k, parts)
    _bind(schedule, (stage, follower), batch, (wide, across, part, terms), gpu)


def _parts_of(column: ForOp, k: ForOp, gpu: Gpu) -> int:
    """Return how many parts each sum has."""
    blocks = -(-column.trips // SUBGROUP)
    parts = min(gpu.threads // SUBGROUP, PARTS if blocks >= ENOUGH else 4 * PARTS)
    while parts > 1 and parts * TERMS > k.trips:
        parts //= 2
    return parts


def _bind(
    schedule: Schedule,
    stages: tuple[str, str],
    batch: list[ForOp],
    loops: tuple[ForOp, ForOp, ForOp, ForOp],
    gpu: Gpu,
) -> None:
    """Bind the loops of a stage, and let the one that follows it finish a block's columns."""
    stage, follower = stages
    wide, across, part, terms = loops
    schedule.reorder(*batch, wide, across, part, terms)
    home = bind_blocks(schedule, fuse_all(schedule, [*batch, wide]), gpu)
    schedule.bind(across, ForKind.THREAD_X)
    schedule.bind(part, ForKind.THREAD_Y)
    schedule.reverse_compute_at(follower, home)
    schedule.bind(schedule.axes(follower)[-1], ForKind.THREAD_X)
    schedule.set_scope(stage, "shared")
