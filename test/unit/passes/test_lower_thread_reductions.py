"""Reductions across threads: any number of them, any combiner, in any place of the loops."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from nn_opt.conversion.tensor_to_loop import ConvertTensorToLoopPass
from nn_opt.dialects import gpu
from nn_opt.dialects.loop import AllocOp, ForOp
from nn_opt.ir.parsing import make_context, parse_module
from nn_opt.ir.resources import Array
from nn_opt.ir.target import set_target
from nn_opt.ir.types import memory_space, shape_of
from nn_opt.passes.lower_thread_reductions import RADIX, steps
from nn_opt.pipelines import expand, run_passes
from nn_opt.reference import run
from nn_opt.schedule.schedule import Schedule

ROWS = 3
COMBINERS: dict[str, tuple[str, Any]] = {
    "add": ("f32", np.sum),
    "mul": ("f32", np.prod),
    "max": ("f32", np.max),
    "min": ("i32", np.min),
    "and": ("i1", np.all),
    "or": ("i1", np.any),
}


def source(combiner: str, type_: str, size: int) -> str:
    x, y = f"tensor<{ROWS}x{size}x{type_}>", f"tensor<{ROWS}x{type_}>"
    return f"""
func.func @main(%x: {x}) -> {y} attributes {{kernel}} {{
  %y = tensor.compute "total" (%i: {ROWS}) reduce fast {combiner} (%k: {size}) : {y} {{
    %a = tensor.read %x[%i, %k] : {x}
    tensor.yield %a : {type_}
  }}
  func.return %y : {y}
}}
"""


def inputs(type_: str, size: int) -> Array:
    rng = np.random.default_rng(size)
    if type_ == "i1":
        return rng.random((ROWS, size)) < 0.5 ** (1 / size)
    if type_ == "i32":
        return rng.integers(-1000, 1000, (ROWS, size)).astype(np.int32)
    return rng.uniform(0.9, 1.1, (ROWS, size)).astype(np.float32)


def inside(s: Schedule, threads: int) -> None:
    """Each step of the sum is the threads'."""
    i, k = s.axes("total")
    s.bind(i, "block_x")
    s.bind(s.split(k, threads)[1], "thread_x")


def outside(s: Schedule, threads: int) -> None:
    """Each thread sums what is its own, and rows are threads of another dimension."""
    i, k = s.axes("total")
    s.bind(i, "thread_y")
    outer, inner = s.split(k, threads)
    s.reorder(inner, outer)
    s.bind(inner, "thread_x")


def lowered(
    text: str, script: Callable[[Schedule, int], None], threads: int, target: str
) -> ModuleOp:
    """Return a scheduled kernel whose reductions are lowered."""
    ctx, module = make_context(), parse_module(make_context(), text, "kernel.mlir")
    ConvertTensorToLoopPass().apply(ctx, module)
    function = module.body.block.first_op
    assert isinstance(function, FuncOp)
    script(Schedule(function), threads)
    set_target(module, target)
    run_passes(ctx, module, expand("lower-thread-reductions"))
    module.verify()
    return module


def as_kernel(module: ModuleOp) -> ModuleOp:
    run_passes(make_context(), module, expand("lower-to-gpu"))
    module.verify()
    return module


def computed(text: str, x: Array, script: Callable[[Schedule, int], None], threads: int) -> Array:
    """Return what a scheduled kernel computes, in threads; as loops it computes the same."""
    module = lowered(text, script, threads, "opencl")
    (in_turn,) = run(module, [x])
    (at_once,) = run(as_kernel(module), [x])
    np.testing.assert_array_equal(in_turn, at_once)
    return at_once


@pytest.mark.parametrize("combiner", COMBINERS)
def test_combiners(combiner: str):
    type_, meaning = COMBINERS[combiner]
    x = inputs(type_, 50)
    result = computed(source(combiner, type_, 50), x, inside, 12)
    wide = x.astype(np.float64) if type_ == "f32" else x
    np.testing.assert_allclose(result, meaning(wide, axis=1), rtol=1e-5)


@pytest.mark.parametrize("script", [inside, outside])
@pytest.mark.parametrize("threads", [2, 8, 9, 31, 64, 80])
def test_numbers_of_threads(threads: int, script: Callable[[Schedule, int], None]):
    x = inputs("f32", 157)
    result = computed(source("add", "f32", 157), x, script, threads)
    np.testing.assert_allclose(result, x.astype(np.float64).sum(axis=1), rtol=1e-5)


@pytest.mark.parametrize(
    ("script", "threads", "width", "shared"),
    [
        (inside, 32, [32], []),
        (inside, 64, [32, 2], [2]),
        (inside, 96, [32], [3]),  # three subgroups: each thread adds up three parts
        (outside, 32, [32], []),
        (outside, 128, [32, 4], [12]),
        (inside, 48, [], [48]),  # half a subgroup is left: shared memory
        (outside, 16, [], [48]),  # one row and a half a subgroup
    ],
)
def test_subgroups_join(
    script: Callable[[Schedule, int], None], threads: int, width: list[int], shared: list[int]
):
    x = inputs("f32", 157)
    module = lowered(source("add", "f32", 157), script, threads, "cuda")
    as_kernel(module)
    found = [op.size for op in module.walk() if isinstance(op, gpu.SubgroupReduceOp)]
    assert found == width
    allocs = [op.result for op in module.walk() if isinstance(op, AllocOp)]
    assert [math.prod(shape_of(a)) for a in allocs if memory_space(a) == "shared"] == shared
    (result,) = run(module, [x])
    np.testing.assert_allclose(result, x.astype(np.float64).sum(axis=1), rtol=1e-5)


@pytest.mark.parametrize("combiner", COMBINERS)
def test_subgroups_combine(combiner: str):
    type_, meaning = COMBINERS[combiner]
    x = inputs(type_, 200)
    module = as_kernel(lowered(source(combiner, type_, 200), inside, 64, "cuda"))
    assert any(isinstance(op, gpu.SubgroupReduceOp) for op in module.walk()) == (type_ != "i1")
    (result,) = run(module, [x])
    wide = x.astype(np.float64) if type_ == "f32" else x
    np.testing.assert_allclose(result, meaning(wide, axis=1), rtol=1e-5)


def test_steps_leave_few_parts_and_lose_none():
    for count in range(1, 1025):
        for rest in (1, RADIX):
            parts, left = np.ones(count), count
            for threads, each, distance in steps(count, rest):
                assert threads <= distance, "no thread reads what another one overwrites"
                for k in range(1, each):
                    parts[:threads] += parts[k * distance : k * distance + threads]
                left = distance
            assert left <= rest
            assert parts[:left].sum() == count


def test_loops_of_no_reduction_stay():
    text = source("add", "f32", 20)
    ctx, module = make_context(), parse_module(make_context(), text, "kernel.mlir")
    ConvertTensorToLoopPass().apply(ctx, module)
    function = module.body.block.first_op
    assert isinstance(function, FuncOp)
    schedule = Schedule(function)
    schedule.bind(schedule.axes("total")[0], "thread_x")
    before = str(module)
    run_passes(ctx, module, expand("lower-thread-reductions"))
    assert str(module) == before
    assert sum(isinstance(op, ForOp) for op in module.walk()) == 2
