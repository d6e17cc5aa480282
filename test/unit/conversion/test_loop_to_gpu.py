"""Bound loops become kernels that compute the same: in step, and then freely with barriers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from kernels import CONV, FAN, MATMUL, SOFTMAX, SUM_2D, expected, loops, random_inputs
from xdsl.dialects.builtin import ModuleOp

from nn_opt.dialects import gpu
from nn_opt.ir.parsing import make_context
from nn_opt.ir.target import set_target
from nn_opt.pipelines import expand, run_passes
from nn_opt.reference import run
from nn_opt.schedule.schedule import Schedule

Script = Callable[[Schedule], object]
BEFORE = ("lower-thread-reductions", "lower-blocks", "compact-buffers", "unroll-loops")
AFTER = ("convert-loop-to-gpu", "insert-barriers", "plan-memory")


def threads_of_tiles(s: Schedule) -> None:
    """Blocks along two dimensions, none of which fits, and threads of each."""
    m, n, _ = s.axes("matmul")
    bounds = s.tile(m, n, 4, 8)
    for loop, kind in zip(bounds, ("block_y", "block_x", "thread_y", "thread_x"), strict=True):
        s.bind(loop, kind)


def tiles_in_shared_memory(s: Schedule) -> None:
    """Threads fetch tiles together, and each computes a strip of the result in registers."""
    s.cache_write("matmul")
    s.set_scope("matmul", "register")
    m, n, k = s.axes("matmul")
    mo, no, mi, ni = s.tile(m, n, 4, 6)
    ko, ki = s.split(k, 4)
    s.reorder(mo, no, mi, ko, ki, ni)
    s.bind(mo, "block_y")
    s.bind(no, "block_x")
    s.bind(mi, "thread_y")
    s.reverse_compute_at("matmul.copy", mi)
    for operand in (0, 1):
        name = s.cache_read("matmul", operand)
        s.compute_at(name, ko)
        s.set_scope(name, "shared")
        rows, _ = s.axes(name)[-2:]
        if rows.trips == 4:
            s.bind(rows, "thread_y")
    s.set_scope("matmul", "register")


def sums_across_threads(s: Schedule) -> None:
    i, *reduced = s.axes("sum")
    s.bind(i, "block_x")
    fused = s.fuse(s.fuse(*reduced[:2]), reduced[2])
    s.bind(s.split(fused, 20)[1], "thread_x")


def rows_of_two_blocks(s: Schedule) -> None:
    """A row is a block's; its maximum and its sum are joined by all threads."""
    row, column = s.axes("div")
    s.bind(row, "block_x")
    for stage in ("sum", "exp", "max"):
        s.compute_at(stage, row)
        s.set_scope(stage, "shared")
    for stage in ("max", "exp", "sum", "div"):
        column = s.axes(stage)[-1]
        s.bind(s.split(column, 8)[1], "thread_x")


def stages_by_themselves(s: Schedule) -> None:
    """Each stage is a launch."""
    for stage in ("first", "double", "exp", "sum", "join"):
        s.bind(s.axes(stage)[0], "block_x")


def depth_of_threads(s: Schedule) -> None:
    n, fo, p, q, fi, *_ = s.axes("conv")
    s.bind(n, "block_z")
    s.bind(fo, "block_x")
    for loop, kind in ((p, "thread_z"), (q, "thread_y"), (fi, "thread_x")):
        s.bind(loop, kind)
    for stage in ("bias", "relu"):
        s.bind(s.axes(stage)[1], "block_y")


CASES: dict[str, tuple[str, Script]] = {
    "tiles": (MATMUL, threads_of_tiles),
    "shared tiles": (MATMUL, tiles_in_shared_memory),
    "sums": (SUM_2D, sums_across_threads),
    "rows": (SOFTMAX, rows_of_two_blocks),
    "stages": (FAN, stages_by_themselves),
    "three dimensions": (CONV, depth_of_threads),
}
WAITING = (tiles_in_shared_memory, sums_across_threads, rows_of_two_blocks)


def scheduled(text: str, script: Script) -> ModuleOp:
    _, module, function = loops(text)
    function.sym_name = type(function.sym_name)("main")
    script(Schedule(function))
    set_target(module, "opencl")
    return module


def check(module: ModuleOp, text: str) -> None:
    module.verify()
    (result,) = run(module, random_inputs(text))
    np.testing.assert_allclose(result, expected(text), rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize(("text", "script"), CASES.values(), ids=CASES)
def test_every_step_keeps_what_is_computed(text: str, script: Script):
    module = scheduled(text, script)
    check(module, text)
    for step in (*BEFORE, *AFTER):
        run_passes(make_context(), module, expand(step))
        check(module, text)
    kernels = [op for op in module.walk() if isinstance(op, gpu.FuncOp)]
    assert all(gpu.LOCKSTEP not in kernel.attributes for kernel in kernels)


@pytest.mark.parametrize(("text", "script"), CASES.values(), ids=CASES)
def test_each_barrier_is_needed(text: str, script: Script):
    """Without any one of them the interpreter finds a race."""
    module = scheduled(text, script)
    for step in (*BEFORE, *AFTER):
        run_passes(make_context(), module, expand(step))
    barriers = [op for op in module.walk() if isinstance(op, gpu.BarrierOp)]
    assert bool(barriers) == (
        script in (tiles_in_shared_memory, sums_across_threads, rows_of_two_blocks)
    )
    for barrier in barriers:
        block, following = barrier.parent, barrier.next_op
        assert block is not None
        assert following is not None
        barrier.detach()
        with pytest.raises(Exception, match="data race"):
            run(module, random_inputs(text))
        block.insert_op_before(barrier, following)
