"""Default schedules for GPUs: every stage in blocks of threads."""

from __future__ import annotations

from xdsl.dialects.func import FuncOp

from nn_opt.dialects.loop import BlockOp
from nn_opt.ir.target import Gpu, Target
from nn_opt.schedule.defaults.facts import is_reduction, stages
from nn_opt.schedule.defaults.gpu.attention import find_attention, schedule_attention
from nn_opt.schedule.defaults.gpu.direct import is_direct, schedule_direct
from nn_opt.schedule.defaults.gpu.elementwise import schedule_elements
from nn_opt.schedule.defaults.gpu.groups import find_groups
from nn_opt.schedule.defaults.gpu.plain import schedule_plain
from nn_opt.schedule.defaults.gpu.product import schedule_product
from nn_opt.schedule.defaults.gpu.products import product_of
from nn_opt.schedule.defaults.gpu.rows import schedule_group
from nn_opt.schedule.defaults.gpu.vector_product import (
    is_vector_product,
    is_vector_sum,
    schedule_vector_product,
    schedule_vector_sum,
)
from nn_opt.schedule.defaults.inlining import inline_stages
from nn_opt.schedule.schedule import Schedule


def gpu_schedule(function: FuncOp, target: Target) -> Schedule:
    """Schedule a kernel whose stages are plain nests for a target with a GPU."""
    assert target.gpu is not None, "a target without a GPU has schedules of its own"
    schedule = Schedule(function)
    attention = find_attention(schedule, target.gpu)
    if attention is not None:
        schedule_attention(schedule, attention, target.gpu)
    else:
        inline_stages(schedule)
    for block in stages(function):
        _schedule_contraction(schedule, block, target.gpu)
    for group in find_groups(function, target.gpu):
        if len(group.blocks) > 1 or is_reduction(group.last):
            schedule_group(schedule, group, target.gpu)
        else:
            schedule_elements(schedule, group.last.stage.data, target.gpu)
    schedule_plain(schedule, target.gpu)
    return schedule


def _schedule_contraction(schedule: Schedule, block: BlockOp, gpu: Gpu) -> None:
    """Schedule a sum of products in whose factors several results share."""
    product = product_of(block)
    if product is not None and product.rows:
        schedule_product(schedule, block, product, gpu)
    elif is_direct(block):
        schedule_direct(schedule, block, gpu)
    elif product is not None and is_vector_product(block, product):
        schedule_vector_product(schedule, block, product, gpu)
    elif product is None and is_vector_sum(block):
        schedule_vector_sum(schedule, block, gpu)
