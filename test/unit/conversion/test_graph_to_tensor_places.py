"""Orders, samples and random bits as formulas: the graph's interpreter judges."""

from __future__ import annotations

import numpy as np
import pytest
from random_arrays import F16, F32, F64, I64, normal
from single_op import assert_equal, convert, module_of
from xdsl.dialects.builtin import StringAttr

from nn_opt.dialects import graph
from nn_opt.reference import run

REGIONS = np.array([[0, 0, 3, 4], [-2, 1, 9, 12], [1, 1, 1, 1]], F32)
IMAGES = np.array([1, 0, 1], I64)


@pytest.mark.parametrize(
    ("dtype", "size", "count"),
    [
        (F32, 1, 1),
        (np.uint8, 9, 9),
        (F64, 90, 3),
        (F16, 300, 0),
        (F32, 260, 250),  # sorted runs of 64 are merged
        (F64, 70, 70),  # ... and of 16
    ],
)
def test_orders(dtype, size, count):
    x = np.round(normal(2, size, dtype=F64) * 9).clip(0, 20).astype(dtype)
    assert_equal(lambda x: graph.ArgSortOp(x, 1, count, descending=True), x)


@pytest.mark.parametrize(
    ("dtype", "descending"),
    [(F32, True), (I64, False), (np.int8, True), (np.uint8, False), (np.int16, False), ("?", True)],
)
def test_orders_by_digits(dtype, descending):
    x = normal(400, dtype=F64) * 99
    x[::7] = np.nan if dtype is F32 else -0.0
    x = x.astype(np.uint8 if dtype is np.uint8 else dtype)
    module = convert(module_of(lambda x: graph.ArgSortOp(x, 0, descending=descending), x))
    assert "argsort.counted" in str(module)
    assert_equal(lambda x: graph.ArgSortOp(x, 0, descending=descending), x)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("kind", ["some", "none", "all"])
def test_two_kinds_of_elements_by_many_threads(kind, descending):
    x = {"some": normal(2, 90) > 0.5, "none": np.zeros((2, 90), "?"), "all": np.ones((2, 90), "?")}
    module = module_of(lambda x: graph.ArgSortOp(x, 1, 80, descending=descending), x[kind])
    module.attributes["nn.target"] = StringAttr("opencl")
    (expected,) = run(module, [x[kind]])
    convert(module)
    np.testing.assert_array_equal(run(module, [x[kind]])[0], expected)


@pytest.mark.parametrize("dtype", [F32, I64])
@pytest.mark.parametrize("count", [3, 270])
def test_orders_by_many_threads(dtype, count):
    x = np.round(normal(300, dtype=F64) * 9).astype(dtype)
    module = module_of(lambda x: graph.ArgSortOp(x, 0, count), x)
    module.attributes["nn.target"] = StringAttr("opencl")
    (expected,) = run(module, [x])
    convert(module)
    np.testing.assert_array_equal(run(module, [x])[0], expected)


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("size", [1, 7, 8])
def test_places_among_sorted_numbers(right, size):
    numbers = np.sort(np.round(normal(2, size) * 2), axis=1)
    values = np.round(normal(2, 30) * 2)
    assert_equal(lambda n, v: graph.SearchSortedOp(n, v, right), numbers, values)


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("place", ["corners", "edges", "pixels"])
def test_samples_of_grids(mode, padding, place):
    fields = {"align_corners": place == "corners", "pixels": place == "pixels"}
    grid = normal(2, 3, 4, 2) * (5 if place == "pixels" else 1.3)
    image = normal(2, 2, 5, 6)
    assert_equal(
        lambda x, g: graph.GridSampleOp(x, g, mode, padding, **fields), image, grid, rtol=1e-4
    )


def test_samples_of_one_element_far_away():
    grid = np.array([[[[1e30], [-1e30], [np.inf]]]], F32).reshape(1, 3, 1)
    for padding in ("zeros", "border", "reflection"):
        assert_equal(
            lambda x, g, p=padding: graph.GridSampleOp(x, g, "nearest", p, align_corners=True),
            np.ones((1, 1, 1), F32),
            grid,
        )


@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("adaptive", [False, True])
@pytest.mark.parametrize("dtype", [F16, F32])
def test_regions(mode, adaptive, dtype):
    fields = {"samples": 3, "adaptive": adaptive, "half_pixel": adaptive}
    assert_equal(
        lambda x, r, b: graph.RoiAlignOp(x, r, b, [2, 3], mode=mode, **fields),
        normal(2, 2, 5, 6, dtype=dtype),
        REGIONS,
        IMAGES,
        rtol=1e-4 if dtype is F32 else 2e-3,
    )


def test_random_bits():
    assert_equal(lambda: graph.RandomBitsOp([3, 5], 2**32 - 1), rtol=0, atol=0)
