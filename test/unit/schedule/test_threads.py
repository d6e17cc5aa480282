"""Which loops default schedules split over threads: enough iterations, and work worth it."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from kernels import loops
from xdsl.dialects.func import FuncOp

from nn_opt.dialects.loop import ForKind, ForOp
from nn_opt.ir.target import TARGETS
from nn_opt.schedule.defaults import BALANCED, PARALLEL_WORK, default_schedule
from nn_opt.schedule.defaults.facts import work
from nn_opt.schedule.nest import only_child


def matmul(m: int, k: int, n: int) -> str:
    return f"""
func.func @matmul(%x: tensor<{m}x{k}xf32>, %w: tensor<{k}x{n}xf32>) -> tensor<{m}x{n}xf32>
    attributes {{kernel}} {{
  %y = tensor.compute "matmul" (%m: {m}, %n: {n}) reduce fast add (%k: {k}) : tensor<{m}x{n}xf32> {{
    %a = tensor.read %x[%m, %k] : tensor<{m}x{k}xf32>
    %b = tensor.read %w[%k, %n] : tensor<{k}x{n}xf32>
    %c = arith.mulf %a, %b : f32
    tensor.yield %c : f32
  }}
  func.return %y : tensor<{m}x{n}xf32>
}}
"""


def scheduled(text: str) -> FuncOp:
    _, _, function = loops(text)
    return default_schedule(function, TARGETS["x86-64-v4"]).function


def parallel_nests(function: FuncOp) -> list[list[ForOp]]:
    """Return, for each outermost parallel loop, the parallel loops directly inside each other."""
    nests: list[list[ForOp]] = []
    for op in function.walk():
        if isinstance(op, ForOp) and op.how is ForKind.PARALLEL:
            if nests and op.parent_op() is nests[-1][-1]:
                nests[-1].append(op)
            else:
                nests.append([op])
    return nests


@pytest.mark.parametrize(("m", "n"), [(112, 64), (112, 96), (448, 48), (1008, 1024)])
def test_loops_join_until_threads_share_them_evenly(m: int, n: int):
    (nest,) = parallel_nests(scheduled(matmul(m, 64, n)))
    trips = [loop.trips for loop in nest]
    assert math.prod(trips) >= BALANCED or only_child(nest[-1]) is None
    assert math.prod(trips[:-1]) < BALANCED, "no more loops join than are needed"
    assert all(only_child(outer) is inner for outer, inner in pairwise(nest))


def test_small_kernels_stay_serial():
    function = scheduled(matmul(6, 10, 32))
    assert work(function) < PARALLEL_WORK
    assert parallel_nests(function) == []


EXP_AND_DOUBLE = """
func.func @kernel(%x: tensor<64x4096xf32>, %b: tensor<64xf32>)
    -> (tensor<64x4096xf32>, tensor<64xf32>) attributes {kernel} {
  %y = tensor.compute "exp" (%i: 64, %j: 4096) : tensor<64x4096xf32> {
    %a = tensor.read %x[%i, %j] : tensor<64x4096xf32>
    %c = math.exp %a : f32
    tensor.yield %c : f32
  }
  %z = tensor.compute "double" (%i: 64) : tensor<64xf32> {
    %a = tensor.read %b[%i] : tensor<64xf32>
    %c = arith.addf %a, %a : f32
    tensor.yield %c : f32
  }
  func.return %y, %z : tensor<64x4096xf32>, tensor<64xf32>
}
"""


def test_a_small_nest_beside_a_large_one_stays_serial():
    (nest,) = parallel_nests(scheduled(EXP_AND_DOUBLE))
    assert work(nest[0]) >= PARALLEL_WORK


def test_a_loop_that_is_enough_stays_alone():
    (nest,) = parallel_nests(scheduled(EXP_AND_DOUBLE))
    assert [loop.trips >= BALANCED for loop in nest] == [True]
