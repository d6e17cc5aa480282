"""Windows over channels: the numbers on every target, loads shared, tests at borders alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernels import loops, random_inputs
from lowering import STEPS, lowered
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from nn_opt.dialects.loop import AllocOp, BlockOp, ForKind, LoadOp
from nn_opt.ir.target import TARGETS, target_named
from nn_opt.ir.types import memory_space
from nn_opt.reference import run
from nn_opt.schedule.defaults.windows import MAX_PLACES, Window, places, window_of
from nn_opt.schedule.nest import loops_around

Array = NDArray[Any]
DEPTHWISE = """
func.func @depthwise(%x: tensor<1x2x9x27x16xf32>, %w: tensor<2x3x3x16xf32>)
    -> tensor<1x2x9x27x16xf32> attributes {kernel} {
  %y = tensor.compute "conv" (%n: 1, %fo: 2, %p: 9, %q: 27, %fi: 16)
      reduce fast add (%r: 3, %s: 3) : tensor<1x2x9x27x16xf32> {
    %a = tensor.read %x[%n, %fo, %p + %r - 1, %q + %s - 1, %fi] or 0.0 : tensor<1x2x9x27x16xf32>
    %k = tensor.read %w[%fo, %r, %s, %fi] : tensor<2x3x3x16xf32>
    %m = arith.mulf %a, %k : f32
    tensor.yield %m : f32
  }
  %u = tensor.compute "relu" (%n: 1, %fo: 2, %p: 9, %q: 27, %fi: 16) : tensor<1x2x9x27x16xf32> {
    %a = tensor.read %y[%n, %fo, %p, %q, %fi] : tensor<1x2x9x27x16xf32>
    %c = arith.constant 0.0 : f32
    %m = arith.maximumf %a, %c : f32
    tensor.yield %m : f32
  }
  func.return %u : tensor<1x2x9x27x16xf32>
}
"""
POOL = """
func.func @pool(%x: tensor<1x2x9x53x16xf32>) -> tensor<1x2x5x27x16xf32> attributes {kernel} {
  %y = tensor.compute "pool" (%n: 1, %fo: 2, %p: 5, %q: 27, %fi: 16)
      reduce fast max (%r: 3, %s: 3) : tensor<1x2x5x27x16xf32> {
    %a = tensor.read %x[%n, %fo, 2 * %p + %r - 1, 2 * %q + %s - 1, %fi] or -inf : tensor<1x2x9x53x16xf32>
    tensor.yield %a : f32
  }
  func.return %y : tensor<1x2x5x27x16xf32>
}
"""  # noqa: E501
ROWS = """
func.func @rows(%x: tensor<2x3x11x21xf32>, %w: tensor<3x3x3xf32>) -> tensor<2x3x11x21xf32>
    attributes {kernel} {
  %y = tensor.compute "conv" (%n: 2, %f: 3, %p: 11, %q: 21)
      reduce fast add (%r: 3, %s: 3) : tensor<2x3x11x21xf32> {
    %a = tensor.read %x[%n, %f, %p + %r - 1, %q + %s - 1] or 0.0 : tensor<2x3x11x21xf32>
    %k = tensor.read %w[%f, %r, %s] : tensor<3x3x3xf32>
    %m = arith.mulf %a, %k : f32
    tensor.yield %m : f32
  }
  func.return %y : tensor<2x3x11x21xf32>
}
"""
STRIDED_ROWS = """
func.func @rows(%x: tensor<2x3x11x41xf32>) -> tensor<2x3x6x21xf32> attributes {kernel} {
  %y = tensor.compute "pool" (%n: 2, %f: 3, %p: 6, %q: 21)
      reduce fast max (%r: 5, %s: 5) : tensor<2x3x6x21xf32> {
    %a = tensor.read %x[%n, %f, 2 * %p + %r - 2, 2 * %q + %s - 2] or -inf : tensor<2x3x11x41xf32>
    tensor.yield %a : f32
  }
  func.return %y : tensor<2x3x6x21xf32>
}
"""
SHARED = """
func.func @dense(%x: tensor<11x21xf32>, %w: tensor<4x3x3xf32>) -> tensor<4x9x19xf32>
    attributes {kernel} {
  %y = tensor.compute "conv" (%f: 4, %p: 9, %q: 19)
      reduce fast add (%r: 3, %s: 3) : tensor<4x9x19xf32> {
    %a = tensor.read %x[%p + %r, %q + %s] : tensor<11x21xf32>
    %k = tensor.read %w[%f, %r, %s] : tensor<4x3x3xf32>
    %m = arith.mulf %a, %k : f32
    tensor.yield %m : f32
  }
  func.return %y : tensor<4x9x19xf32>
}
"""
NO_WINDOW = """
func.func @rows(%x: tensor<4x4x16xf32>, %w: tensor<3xf32>) -> tensor<4x16xf32> attributes {kernel} {
  %y = tensor.compute "sum" (%i: 4, %j: 16) reduce fast add (%k: 3) : tensor<4x16xf32> {
    %a = tensor.read %x[%i, %k, %j] : tensor<4x4x16xf32>
    %b = tensor.read %w[%k] : tensor<3xf32>
    %m = arith.mulf %a, %b : f32
    tensor.yield %m : f32
  }
  func.return %y : tensor<4x16xf32>
}
"""
SPATIAL = ((0, 0), (0, 0), (1, 1), (1, 1), (0, 0))


def depthwise(x: Array, w: Array) -> Array:
    windows = sliding_window_view(np.pad(x, SPATIAL), (3, 3), axis=(2, 3))
    return np.maximum(np.einsum("ncpqirs,crsi->ncpqi", windows, w), 0)


def pool(x: Array) -> Array:
    padded = np.pad(x, SPATIAL, constant_values=-np.inf)
    windows = sliding_window_view(padded, (3, 3), axis=(2, 3))
    return windows[:, :, ::2, ::2].max(axis=(5, 6))


def rows(x: Array, w: Array) -> Array:
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = sliding_window_view(padded, (3, 3), axis=(2, 3))
    return np.einsum("nfpqrs,frs->nfpq", windows, w)


def strided_rows(x: Array) -> Array:
    padded = np.pad(x, ((0, 0), (0, 0), (2, 2), (2, 2)), constant_values=-np.inf)
    return sliding_window_view(padded, (5, 5), axis=(2, 3))[:, :, ::2, ::2].max(axis=(4, 5))


KERNELS = {DEPTHWISE: depthwise, POOL: pool, ROWS: rows, STRIDED_ROWS: strided_rows}
IDS = ("depthwise", "pool", "rows", "strided_rows")


@pytest.mark.parametrize("until", STEPS[1:])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("text", KERNELS, ids=IDS)
def test_every_step_keeps_the_numbers(text: str, target: str, until: str):
    module = lowered(text, target, until)
    module.verify()
    inputs = random_inputs(text)
    expected = KERNELS[text](*(array.astype(np.float64) for array in inputs))
    np.testing.assert_allclose(run(module, inputs)[0], expected, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("text", [DEPTHWISE, POOL], ids=IDS[:2])
def test_nothing_is_copied_and_only_borders_are_tested(text: str):
    module = lowered(text, "x86-64-v4", "partition-loops")
    spaces = [memory_space(op.result) for op in module.walk() if isinstance(op, AllocOp)]
    assert set(spaces) == {"register"}
    loads = [op for op in module.walk() if isinstance(op, LoadOp)]
    inside = [load for load in loads if loops_that_stay(load) == 3]  # channels, rows, columns
    assert inside
    assert not any(load.default is not None for load in inside)
    assert any(load.default is not None for load in loads)


def loops_that_stay(load: Operation) -> int:
    """Return how many loops around a load are not expanded."""
    return sum(op.how in (ForKind.SERIAL, ForKind.PARALLEL) for op in loops_around(load))


@pytest.mark.parametrize(
    ("text", "window"),
    [
        (DEPTHWISE, Window(near=3, lane=4, tap=6, stride=1, most=8)),
        (POOL, Window(near=3, lane=4, tap=6, stride=2, most=8)),
        (ROWS, Window(near=2, lane=3, tap=4, stride=1, most=3)),
        (STRIDED_ROWS, Window(near=2, lane=3, tap=4, stride=2, most=2)),
        (SHARED, None),  # all filters read the same image
        (NO_WINDOW, None),  # nothing between neighbours is shared, or without a gap
    ],
)
def test_every_result_of_a_window_reads_vectors_of_its_own(text: str, window: Window | None):
    _, _, function = loops(text)
    assert window_of(first_block(function), target_named("x86-64-v4")) == window


@pytest.mark.parametrize(
    ("target", "taps", "stride", "count"),
    [
        ("x86-64-v4", 3, 1, MAX_PLACES),
        ("x86-64-v3", 3, 1, 5),
        ("x86-64-v3", 3, 2, 4),
        ("neon", 3, 1, 4),
        ("neon", 5, 1, 2),
    ],
)
def test_neighbours_fit_into_registers(target: str, taps: int, stride: int, count: int):
    window = Window(near=0, lane=1, tap=2, stride=stride, most=MAX_PLACES)
    assert places(taps, window, target_named(target)) == count


def first_block(function: FuncOp) -> BlockOp:
    return next(op for op in function.walk() if isinstance(op, BlockOp))
