"""The schedule for GPUs that any stage can have: right, and every stage is bound."""

from __future__ import annotations

from dataclasses import replace

import pytest
from kernels import KERNELS, MATMUL, SUM_2D, assert_right, loops

from nn_opt.dialects.loop import ForOp
from nn_opt.ir.target import Gpu, target_named
from nn_opt.schedule.defaults.facts import stages
from nn_opt.schedule.defaults.gpu.plain import schedule_plain
from nn_opt.schedule.nest import loops_around
from nn_opt.schedule.schedule import Schedule


def opencl() -> Gpu:
    gpu = target_named("opencl").gpu
    assert gpu is not None
    return gpu


@pytest.mark.parametrize("text", [*KERNELS.values(), SUM_2D], ids=[*KERNELS, "sum"])
def test_every_stage_is_bound_and_right(text: str):
    _, module, function = loops(text)
    schedule_plain(Schedule(function), opencl())
    around = [loops_around(block) for block in stages(function)]
    assert all(any(loop.how.is_block for loop in loops) for loops in around)
    assert all(any(loop.how.is_thread for loop in loops) for loops in around)
    assert_right(module, text)


def test_a_grid_too_wide_goes_on_along_y():
    few = replace(opencl(), threads=4, grid=(2, 2**16 - 1, 2**16 - 1))
    _, module, function = loops(MATMUL)
    schedule_plain(Schedule(function), few)
    bound = {op.how.value: op.trips for op in function.walk() if isinstance(op, ForOp)}
    assert (bound["thread_x"], bound["block_x"], bound["block_y"]) == (4, 2, 16)
    assert_right(module, MATMUL)
