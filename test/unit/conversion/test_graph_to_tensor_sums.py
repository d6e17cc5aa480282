"""Reductions and sums of products as formulas: the graph's interpreter judges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from random_arrays import BF16, F16, F32, F64, I32, I64, U8, normal, whole
from single_op import assert_equal

from nn_opt.dialects import graph

KINDS = ["sum", "mean", "max", "min", "prod", "l1", "l2", "log_sum", "log_sum_exp", "sum_square"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("axes", [[], [1], [0, -1], [0, 1, 2]])
@pytest.mark.parametrize("keepdims", [True, False])
def test_reductions_along_some_axes(kind, axes, keepdims):
    x = np.abs(normal(3, 4, 5)) + 0.5
    assert_equal(lambda x: graph.ReduceOp(x, kind, axes, keepdims), x)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("dtype", "rtol"), [(F64, 1e-12), (F16, 2e-3), (BF16, 2e-2)])
def test_reductions_of_other_floats(kind, dtype, rtol):
    x = (np.abs(normal(3, 8)) + 0.5).astype(dtype)
    assert_equal(lambda x: graph.ReduceOp(x, kind, [1]), x, rtol=rtol)


@pytest.mark.parametrize("kind", ["sum", "mean", "max", "min", "prod", "l1", "sum_square"])
@pytest.mark.parametrize("dtype", [np.int8, I32, I64, U8, np.uint64])
def test_reductions_of_integers_are_exact(kind, dtype):
    info = np.iinfo(dtype)
    x = np.random.default_rng(0).integers(info.min, info.max, (4, 6), dtype, endpoint=True)
    if kind == "mean" and info.bits == 64:
        x = x // 16  # others are added in 64 bits
    assert_equal(lambda x: graph.ReduceOp(x, kind, [1]), x)


@pytest.mark.parametrize("dtype", [I32, np.uint32, I64])
def test_exponentials_of_integers_are_added_as_real_numbers(dtype):
    x = np.array([[1, 2, 3], [4, 5, np.iinfo(dtype).max >> 12]], dtype)
    assert_equal(lambda x: graph.ReduceOp(x, "log_sum_exp", [1]), x)


@pytest.mark.parametrize("kind", ["max", "min"])
def test_reductions_of_bools(kind):
    x = np.array([[True, False], [True, True], [False, False]])
    assert_equal(lambda x: graph.ReduceOp(x, kind, [1]), x)


@pytest.mark.parametrize("kind", ["sum", "max", "min", "prod", "log_sum_exp"])
def test_reductions_of_no_elements_give_the_identity(kind):
    assert_equal(lambda x: graph.ReduceOp(x, kind, [1]), normal(3, 0))
    assert_equal(lambda x: graph.ReduceOp(x, kind, [1]), normal(0, 3))


@pytest.mark.parametrize("kind", ["max", "min", "sum", "log_sum_exp"])
def test_reductions_of_infinities_and_nan(kind):
    x = np.array([[-np.inf, -np.inf], [np.inf, 1], [np.nan, 1], [-np.inf, 2]], F32)
    assert_equal(lambda x: graph.ReduceOp(x, kind, [1]), x)


@pytest.mark.parametrize("kind", ["max", "min"])
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("dtype", [F32, F16, np.int8, I64, U8])
def test_positions_of_extremes_among_equals(kind, last, dtype):
    x = whole(0, 3, 4, 9).astype(dtype)
    for axis, keepdims in ((0, True), (-1, False)):
        assert_equal(lambda x, a=axis, keep=keepdims: graph.ArgReduceOp(x, kind, a, keep, last), x)
    worst = np.full((2, 3), np.iinfo(dtype).min if x.dtype.kind in "iu" else -np.inf, dtype)
    assert_equal(lambda x: graph.ArgReduceOp(x, kind, 1, True, last), worst)


@pytest.mark.parametrize("kind", ["max", "min"])
@pytest.mark.parametrize("last", [False, True])
def test_nan_is_an_extreme(kind, last):
    x = np.array([[1, np.nan, 3, np.nan], [np.nan, 0, 9, 1]], F32)
    assert_equal(lambda x: graph.ArgReduceOp(x, kind, 1, True, last), x)


@pytest.mark.parametrize("op", [graph.SoftmaxOp, graph.LogSoftmaxOp])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_softmax_along_each_axis(op, axis):
    assert_equal(lambda x: op(x, axis), normal(3, 4, 5) * 30)
    assert_equal(lambda x: op(x, axis), normal(3, 4, 5, dtype=F16), rtol=2e-3)


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dtype", [F32, I32, F16])
def test_running_sums(exclusive, reverse, dtype):
    x = whole(-9, 9, 3, 4, 2).astype(dtype)
    for axis in (0, 1, -1):
        assert_equal(lambda x, a=axis: graph.CumSumOp(x, a, exclusive, reverse), x)
    if dtype == F16:  # 2048 + 1 is 2048, if rounded at once
        long = np.array([2048, 1, 1, 1, 1, 1], F16)
        assert_equal(lambda x: graph.CumSumOp(x, 0, exclusive, reverse), long)
    factors = x % 5 - 2
    assert_equal(lambda x: graph.CumProdOp(x, 1, exclusive, reverse), factors.astype(dtype))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((3, 4), (4, 5)),
        ((1, 4), (4, 5)),
        ((4,), (4, 5)),
        ((3, 4), (4,)),
        ((4,), (4,)),
        ((2, 3, 4), (4, 5)),
        ((2, 3, 4), (2, 4, 5)),
        ((6, 1, 3, 4), (2, 4, 5)),
        ((2, 3, 4), (4,)),
        ((4,), (2, 4, 5)),
        ((3, 0), (0, 5)),
        ((0, 4), (4, 5)),
    ],
)
@pytest.mark.parametrize("dtype", [F32, F64, F16, I32, U8])
def test_matmul_of_all_ranks(a, b, dtype):
    x, y = (whole(-4, 5, *shape, seed=i).astype(dtype) for i, shape in enumerate((a, b)))
    assert_equal(graph.MatmulOp, x, y)


CONVS = [
    # x, w, strides, pads, dilations, group
    ((2, 3, 7, 6), (4, 3, 3, 3), (1, 1), (1, 1, 1, 1), (1, 1), 1),
    ((1, 3, 7, 6), (4, 3, 3, 2), (2, 1), (0, 1, 2, 0), (1, 2), 1),
    ((1, 4, 5, 5), (6, 2, 3, 3), (1, 1), (1, 1, 1, 1), (1, 1), 2),
    ((1, 4, 5, 5), (4, 1, 3, 3), (1, 1), (1, 1, 1, 1), (1, 1), 4),
    ((1, 3, 5, 5), (6, 1, 3, 3), (2, 2), (0, 0, 0, 0), (1, 1), 3),
    ((2, 3, 9), (4, 3, 3), (2,), (1, 1), (1,), 1),
    ((1, 2, 4, 5, 3), (3, 2, 2, 3, 1), (1, 2, 1), (0, 1, 0, 1, 1, 0), (1, 1, 1), 1),
    ((1, 5, 1, 1), (3, 5, 1, 1), (1, 1), (0, 0, 0, 0), (1, 1), 1),
]


@pytest.mark.parametrize(("x", "w", "strides", "pads", "dilations", "group"), CONVS)
@pytest.mark.parametrize("dtype", [F32, F16, I32])
def test_convolutions(x, w, strides, pads, dilations, group, dtype):
    arrays = [whole(-3, 4, *shape, seed=i).astype(dtype) for i, shape in enumerate((x, w))]
    fields = {"strides": strides, "pads": pads, "dilations": dilations, "group": group}
    assert_equal(lambda x, w: graph.ConvOp(x, w, **fields), *arrays)
    bias = whole(-3, 4, w[0], seed=2).astype(dtype)
    assert_equal(lambda x, w, b: graph.ConvOp(x, w, b, **fields), *arrays, bias)


@pytest.mark.parametrize(
    ("x", "w", "group", "layout", "weight_layout"),
    [
        ((1, 2, 6, 5, 4), (3, 2, 3, 3, 4, 4), 1, "NCHW4c", "OIHW4i4o"),
        ((1, 3, 6, 5), (3, 3, 3, 3, 4), 1, "NCHW->NCHW4c", "OIHW4o"),
        ((1, 3, 6, 5, 4), (3, 1, 3, 3, 4), 12, "NCHW4c", "OIHW4o"),
        ((1, 3, 6, 5, 4), (3, 1, 3, 3, 4), 10, "NCHW4c", "OIHW4o"),
        ((1, 2, 9, 4), (3, 2, 3, 4, 4), 1, "NCW4c", "OIW4i4o"),
        ((1, 2, 6, 5, 4), (2, 2, 3, 3, 4, 8), 1, "NCHW4c->NCHW8c", "OIHW4i8o"),
    ],
)
def test_blocked_convolutions(x, w, group, layout, weight_layout):
    rank = 1 if "W4c" in layout and "H" not in layout else 2
    fields: dict[str, Any] = {
        "strides": [2] * rank,
        "pads": [1] * rank * 2,
        "dilations": [1] * rank,
        "group": group,
        "layout": layout,
        "weight_layout": weight_layout,
    }
    assert_equal(lambda x, w: graph.ConvOp(x, w, **fields), normal(*x), normal(*w, seed=1))


TRANSPOSED = [
    # x, w, strides, pads, dilations, group, output_padding
    ((1, 3, 4, 4), (3, 2, 3, 3), (2, 2), (1, 1, 1, 1), (1, 1), 1, (1, 1)),
    ((2, 4, 3, 5), (4, 3, 2, 3), (1, 3), (0, 1, 1, 0), (2, 1), 2, (0, 0)),
    ((1, 2, 5), (2, 3, 4), (2,), (0, 0), (1,), 1, (0,)),
    ((1, 2, 3, 3), (2, 1, 1, 1), (3, 2), (0, 0, 0, 0), (1, 1), 2, (2, 1)),
]


@pytest.mark.parametrize(("x", "w", "strides", "pads", "dilations", "group", "extra"), TRANSPOSED)
def test_transposed_convolutions(x, w, strides, pads, dilations, group, extra):
    fields: dict[str, Any] = {
        "strides": strides,
        "pads": pads,
        "dilations": dilations,
        "group": group,
        "output_padding": extra,
    }
    bias = normal(w[1] * group, seed=2)
    assert_equal(
        lambda x, w, b: graph.ConvTransposeOp(x, w, b, **fields),
        normal(*x),
        normal(*w, seed=1),
        bias,
    )
