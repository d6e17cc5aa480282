"""A vector times a matrix whose rows lie side by side: threads share columns and parts of sums."""

from __future__ import annotations

from nn_opt.dialects.loop import BlockOp, ForKind
from nn_opt.ir.target import Gpu
from nn_opt.schedule.defaults.facts import axis_loops, loads_of, step
from nn_opt.schedule.defaults.gpu.grids import SUBGROUP, bind_blocks, fuse_all
from nn_opt.schedule.defaults.gpu.product import follower_of, join_product, pad_sum
from nn_opt.schedule.defaults.gpu.product_tiles import ENOUGH
from nn_opt.schedule.defaults.gpu.products import Product
from nn_opt.schedule.nest import read
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
    blocks = -(-column.trips // SUBGROUP)
    parts = min(gpu.threads // SUBGROUP, PARTS if blocks >= ENOUGH else 4 * PARTS)
    while parts > 1 and parts * TERMS > k.trips:
        parts //= 2
    schedule.pad(column, SUBGROUP)
    pad_sum(schedule, stage, k, parts)
    wide, across = schedule.split(column, SUBGROUP)
    terms, part = schedule.split(k, parts)
    schedule.reorder(*batch, wide, across, part, terms)
    home = bind_blocks(schedule, fuse_all(schedule, [*batch, wide]), gpu)
    schedule.bind(across, ForKind.THREAD_X)
    schedule.bind(part, ForKind.THREAD_Y)
    schedule.reverse_compute_at(follower, home)
    schedule.bind(schedule.axes(follower)[-1], ForKind.THREAD_X)
    schedule.set_scope(stage, "shared")
