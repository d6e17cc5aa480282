"""Windows over channels: the numbers on every target, loads shared, tests at borders alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernels import loops, random_inputs
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from nn_opt.dialects.loop import AllocOp, BlockOp, ForKind, LoadOp
from nn_opt.ir.target import TARGETS, set_target, target_named
from nn_opt.ir.types import memory_space
from nn_opt.reference import run
from nn_opt.registry import load_pass
from nn_opt.schedule.defaults.windows import is_window
from nn_opt.schedule.nest import loops_around

Array = NDArray[Any]
STEPS = (
    "default-schedules",
    "apply-schedule",
    "lower-blocks",
    "flatten-accesses",
    "partition-loops",
    "compact-buffers",
    "vectorize-loops",
)
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
NO_WINDOW = """
func.func @rows(%x: tensor<4x3x16xf32>, %w: tensor<3xf32>) -> tensor<4x16xf32> attributes {kernel} {
  %y = tensor.compute "sum" (%i: 4, %j: 16) reduce fast add (%k: 3) : tensor<4x16xf32> {
    %a = tensor.read %x[%i, %k, %j] : tensor<4x3x16xf32>
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


KERNELS = {DEPTHWISE: depthwise, POOL: pool}
IDS = ("depthwise", "pool")


def lowered(text: str, target: str, until: str) -> ModuleOp:
    ctx, module, _ = loops(text)
    set_target(module, target)
    for name in STEPS[: STEPS.index(until) + 1]:
        load_pass(name)().apply(ctx, module)
    return module


@pytest.mark.parametrize("until", STEPS[1:])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("text", KERNELS, ids=IDS)
def test_every_step_keeps_the_numbers(text: str, target: str, until: str):
    module = lowered(text, target, until)
    module.verify()
    inputs = random_inputs(text)
    expected = KERNELS[text](*(array.astype(np.float64) for array in inputs))
    np.testing.assert_allclose(run(module, inputs)[0], expected, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("text", KERNELS, ids=IDS)
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


@pytest.mark.parametrize(("text", "window"), [(DEPTHWISE, True), (POOL, True), (NO_WINDOW, False)])
def test_every_tap_of_a_window_reads_lanes(text: str, window: bool):
    _, _, function = loops(text)
    assert is_window(first_block(function), target_named("x86-64-v4")) is window


def first_block(function: FuncOp) -> BlockOp:
    return next(op for op in function.walk() if isinstance(op, BlockOp))
