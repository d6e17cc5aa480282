"""Constants in passes: products in float64, rounded once, without a copy in float64."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from nn_opt.dialects import graph
from nn_opt.passes.constants import scaled


def value_of(array: np.ndarray):
    return graph.ConstantOp(array).results[0]


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.float64, ml_dtypes.bfloat16])
def test_products_are_rounded_once(dtype):
    random = np.random.default_rng(0)
    weights = random.standard_normal((7, 5, 3, 3)).astype(dtype)
    scale = random.standard_normal(7).reshape(-1, 1, 1, 1)
    got = scaled(weights, scale, value_of(weights))
    assert got is not None
    assert got.dtype == dtype
    np.testing.assert_array_equal(got, (weights.astype(np.float64) * scale).astype(dtype))


def test_a_finite_number_that_overflows_is_refused():
    weights = np.array([1.0, 3e38], np.float32)
    assert scaled(weights, np.array([2.0, 2.0]), value_of(weights)) is None


def test_infinite_weights_stay():
    weights = np.array([1.0, np.inf, -np.inf, np.nan], np.float32)
    got = scaled(weights, np.full(4, 2.0), value_of(weights))
    np.testing.assert_array_equal(got, [2.0, np.inf, -np.inf, np.nan])
