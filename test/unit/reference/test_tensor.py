# ruff: noqa: E501  (lines of IR)
"""The interpreter of tensor against NumPy in float64, and its grids."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.ir.affine import AffineExpr

from nn_opt.ir.parsing import make_context, parse_module
from nn_opt.reference import run, tensor_grids
from nn_opt.reference.tensor_grids import boxes, evaluate_index


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def results(text: str, *arrays: np.ndarray) -> list[np.ndarray]:
    module = parse_module(make_context(), text, "test.mlir")
    module.verify()
    return run(module, arrays)


CONV = """
func.func @main(%x: tensor<2x3x9x8xf32>, %w: tensor<4x3x3x2xf32>) -> tensor<2x4x5x8xf32> {
  %y = tensor.compute "conv" (%n: 2, %f: 4, %p: 5, %q: 8) reduce fast add (%c: 3, %r: 3, %s: 2) : tensor<2x4x5x8xf32> {
    %a = tensor.read %x[%n, %c, 2 * %p + %r - 1, %q + %s - 1] or 0.0 : tensor<2x3x9x8xf32>
    %b = tensor.read %w[%f, %c, %r, %s] : tensor<4x3x3x2xf32>
    %m = arith.mulf %a, %b : f32
    tensor.yield %m : f32
  }
  func.return %y : tensor<2x4x5x8xf32>
}"""


def convolution(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    wide = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (1, 1), (1, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(wide, (3, 2), (2, 3))[:, :, ::2]
    return np.einsum("ncpqrs,fcrs->nfpq", windows, w.astype(np.float64))


def test_a_convolution_pads_with_the_default():
    x, w = normal(2, 3, 9, 8), normal(4, 3, 3, 2, seed=1)
    (y,) = results(CONV, x, w)
    np.testing.assert_allclose(y, convolution(x, w), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("points", [1, 7, 100, 4000])
def test_the_size_of_boxes_changes_nothing(points, monkeypatch):
    x, w = normal(2, 3, 9, 8), normal(4, 3, 3, 2, seed=1)
    monkeypatch.setattr(tensor_grids.boxes, "__defaults__", (points,))
    monkeypatch.setattr("nn_opt.reference.tensor_products.POINTS_AT_ONCE", points)
    (y,) = results(CONV, x, w)
    np.testing.assert_allclose(y, convolution(x, w), rtol=1e-6, atol=1e-6)
    summed = CONV.replace("arith.mulf", "arith.addf")
    (z,) = results(summed, x, w)
    wide = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (1, 1), (1, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(wide, (3, 2), (2, 3))[:, :, ::2]
    expected = windows.sum((1, 4, 5))[:, None] + w.astype(np.float64).sum((1, 2, 3))[:, None, None]
    np.testing.assert_allclose(z, expected, rtol=1e-6, atol=1e-5)


def test_products_over_axes_that_a_factor_lacks_are_summed():
    text = """
func.func @main(%x: tensor<3xf32>, %y: tensor<4xf32>) -> tensor<3x2xf32> {
  %z = tensor.compute "s" (%i: 3, %j: 2) reduce fast add (%k: 4, %l: 5) : tensor<3x2xf32> {
    %a = tensor.read %x[%i] : tensor<3xf32>
    %b = tensor.read %y[%k] : tensor<4xf32>
    %m = arith.mulf %a, %b : f32
    tensor.yield %m : f32
  }
  func.return %z : tensor<3x2xf32>
}"""
    x, y = normal(3), normal(4, seed=1)
    (z,) = results(text, x, y)
    expected = np.repeat(x.astype(np.float64)[:, None] * y.sum(dtype=np.float64) * 5, 2, 1)
    np.testing.assert_allclose(z, expected, rtol=1e-6)


def reduction(order: str, combiner: str, dtype: str = "f32") -> str:
    return f"""
func.func @main(%x: tensor<3x6x{dtype}>) -> tensor<3x{dtype}> {{
  %y = tensor.compute "s" (%i: 3) reduce {order} {combiner} (%k: 6) : tensor<3x{dtype}> {{
    %a = tensor.read %x[%i, %k] : tensor<3x6x{dtype}>
    tensor.yield %a : {dtype}
  }}
  func.return %y : tensor<3x{dtype}>
}}"""


@pytest.mark.parametrize("order", ["fast", "ordered"])
@pytest.mark.parametrize(
    ("combiner", "numpy"), [("add", np.sum), ("mul", np.prod), ("max", np.max), ("min", np.min)]
)
def test_float_combiners(order, combiner, numpy):
    x = normal(3, 6)
    (y,) = results(reduction(order, combiner), x)
    np.testing.assert_allclose(y, numpy(x.astype(np.float64), 1), rtol=1e-6)


@pytest.mark.parametrize("order", ["fast", "ordered"])
@pytest.mark.parametrize(
    ("combiner", "numpy"),
    [
        ("add", np.add),
        ("mul", np.multiply),
        ("max", np.maximum),
        ("min", np.minimum),
        ("and", np.bitwise_and),
        ("or", np.bitwise_or),
    ],
)
def test_integer_combiners_wrap(order, combiner, numpy):
    x = np.random.default_rng(0).integers(-128, 128, (3, 6)).astype(np.int8)
    (y,) = results(reduction(order, combiner, "i8"), x)
    np.testing.assert_array_equal(y, numpy.reduce(x, 1, dtype=np.int8))


def test_an_ordered_sum_rounds_after_every_element():
    x = np.tile(np.array([1e8, 1, -1e8, 1, 1, 1], np.float32), (3, 1))
    (ordered,) = results(reduction("ordered", "add"), x)
    (fast,) = results(reduction("fast", "add"), x)
    np.testing.assert_array_equal(ordered, np.full(3, 3))  # 1e8 + 1 is 1e8 in float32
    np.testing.assert_array_equal(fast, np.full(3, 4))


@pytest.mark.parametrize(("combiner", "start"), [("add", 0), ("mul", 1), ("max", -np.inf)])
def test_nothing_reduces_to_the_start(combiner, start):
    text = reduction("fast", combiner).replace("x6x", "x0x").replace("%k: 6", "%k: 0")
    (y,) = results(text, normal(3, 0))
    np.testing.assert_array_equal(y, np.full(3, start, np.float32))


ARGMAX = """
func.func @main(%x: tensor<5x7xf32>) -> (tensor<5xf32>, tensor<5xi64>) {
  %v, %at = tensor.compute "argmax" (%i: 5) reduce fast custom (%k: 7) init (-inf, -1) : tensor<5xf32>, tensor<5xi64> {
    %a = tensor.read %x[%i, %k] : tensor<5x7xf32>
    %j = arith.index_cast %k : index to i64
    tensor.yield %a, %j : f32, i64
  } combine {
  ^bb0(%best: f32, %best_at: i64, %new: f32, %new_at: i64):
    %wins = arith.cmpf ogt, %new, %best : f32
    %value = arith.select %wins, %new, %best : f32
    %place = arith.select %wins, %new_at, %best_at : i64
    tensor.yield %value, %place : f32, i64
  }
  func.return %v, %at : tensor<5xf32>, tensor<5xi64>
}"""


@pytest.mark.parametrize("points", [3, 1000])
def test_a_custom_combiner_carries_several_values(points, monkeypatch):
    monkeypatch.setattr(tensor_grids.boxes, "__defaults__", (points,))
    x = normal(5, 7)
    value, place = results(ARGMAX, x)
    np.testing.assert_array_equal(value, x.max(1))
    np.testing.assert_array_equal(place, x.argmax(1))


def test_data_dependent_reads_and_defaults_outside():
    text = """
func.func @main(%x: tensor<4x3xf32>, %at: tensor<5xi32>) -> tensor<5x3xf32> {
  %y = tensor.compute "gather" (%i: 5, %j: 3) : tensor<5x3xf32> {
    %k = tensor.read %at[%i] : tensor<5xi32>
    %row = arith.index_cast %k : i32 to index
    %e = tensor.read %x[%row, 2 - %j] or -7.0 : tensor<4x3xf32>
    tensor.yield %e : f32
  }
  func.return %y : tensor<5x3xf32>
}"""
    x, at = normal(4, 3), np.array([3, -1, 0, 4, 2], np.int32)
    (y,) = results(text, x, at)
    expected = np.where(((at >= 0) & (at < 4))[:, None], x[np.clip(at, 0, 3), ::-1], -7)
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("reverse", ["", "reverse "])
def test_a_scan_carries_its_state_through_time(reverse):
    text = f"""
func.func @main(%h: tensor<2xf32>, %xs: tensor<5x2xf32>) -> (tensor<2xf32>, tensor<5x2xf32>, tensor<10xf32>) {{
  %last, %ys = tensor.scan {reverse}1 (%s = %h : tensor<2xf32>, %x = %xs : tensor<5x2xf32>) -> (tensor<2xf32>, tensor<5x2xf32>) {{
    %next = tensor.compute "step" (%i: 2) : tensor<2xf32> {{
      %a = tensor.read %s[%i] : tensor<2xf32>
      %b = tensor.read %x[%i] : tensor<2xf32>
      %c = arith.subf %b, %a : f32
      tensor.yield %c : f32
    }}
    tensor.yield %next, %s : tensor<2xf32>, tensor<2xf32>
  }}
  %flat = tensor.view %ys : tensor<5x2xf32> to tensor<10xf32>
  func.return %last, %ys, %flat : tensor<2xf32>, tensor<5x2xf32>, tensor<10xf32>
}}"""
    h, xs = normal(2), normal(5, 2, seed=1)
    last, ys, flat = results(text, h, xs)
    state, expected = h, np.empty((5, 2), np.float32)
    for step in reversed(range(5)) if reverse else range(5):
        expected[step] = state
        state = xs[step] - state
    np.testing.assert_array_equal(last, state)
    np.testing.assert_array_equal(ys, expected)
    np.testing.assert_array_equal(flat, expected.reshape(-1))


def test_boxes_cover_an_index_space_once_in_order():
    sizes, seen = (3, 4, 5), []
    for box in boxes(sizes, 7):
        points = np.stack(np.meshgrid(*(np.arange(c.start, c.stop) for c in box), indexing="ij"))
        assert points[0].size <= 7
        seen += [tuple(point) for point in points.reshape(3, -1).T]
    assert seen == list(np.ndindex(*sizes))
    assert list(boxes((3, 0))) == []


def test_index_expressions_round_down():
    i = AffineExpr.dimension(0)
    places = np.arange(-5, 6)
    np.testing.assert_array_equal(evaluate_index(i // 3, [places]), np.floor(places / 3))
    np.testing.assert_array_equal(evaluate_index(i % 3, [places]), places % 3)
    np.testing.assert_array_equal(evaluate_index(i.ceil_div(3), [places]), np.ceil(places / 3))
