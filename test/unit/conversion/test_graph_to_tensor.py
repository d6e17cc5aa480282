"""Graph ops that move, combine or pick elements, as formulas: the graph's interpreter judges."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from single_op import assert_equal, convert, module_of
from xdsl.builder import ImplicitBuilder
from xdsl.dialects import arith
from xdsl.ir import Block, Region
from xdsl.utils.exceptions import PassFailedException

from nn_opt.conversion.graph_to_tensor import ConvertGraphToTensorPass
from nn_opt.conversion.to_tensor.control import CONVERTERS, STRUCTURE
from nn_opt.dialects import graph, tensor
from nn_opt.ir.parsing import make_context, parse_module
from nn_opt.ir.types import element_type, shape_of, tensor_type

F32, F64, F16, BF16 = np.float32, np.float64, np.float16, ml_dtypes.bfloat16
I32, I64, U8 = np.int32, np.int64, np.uint8


def normal(*shape: int, dtype: Any = F32, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def whole(low: int, high: int, *shape: int, dtype: Any = I64, seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(low, high, shape).astype(dtype)


# moving elements ------------------------------------------------------------------------------

X = (2, 3, 4, 5)
MOVES = {
    "reshape": lambda x: graph.ReshapeOp(x, [6, 20]),
    "reshape to the same": lambda x: graph.ReshapeOp(x, X),
    "transpose": lambda x: graph.TransposeOp(x, [2, 0, 3, 1]),
    "expand": lambda x: graph.ExpandOp(x, [3, 2, 3, 4, 5]),
    "slice": lambda x: graph.SliceOp(x, [0, 2, 1, 4], [1, 2, 1, 3], [1, -1, 1, -2]),
    "slice to nothing": lambda x: graph.SliceOp(x, [0, 0, 0, 0], [2, 0, 4, 5], [1, 1, 1, 1]),
    "tile": lambda x: graph.TileOp(x, [1, 2, 1, 3]),
    "tile to nothing": lambda x: graph.TileOp(x, [1, 0, 1, 3]),
    "pad": lambda x: graph.PadOp(x, [0, 1, 2, 0, 1, 0, 1, 3]),
    "crop": lambda x: graph.PadOp(x, [-1, 1, -2, 0, 0, -1, 1, -3]),
    "reflect": lambda x: graph.PadOp(x, [0, 2, 3, 1, 1, 0, 3, 4], "reflect"),
    "edge": lambda x: graph.PadOp(x, [1, 2, 0, 0, 0, 3, 0, 7], "edge"),
    "wrap": lambda x: graph.PadOp(x, [1, 2, 0, 0, 0, 3, 0, 7], "wrap"),
    "reflect after cropping": lambda x: graph.PadOp(x, [0, 0, -1, 0, 0, 0, 1, -1], "reflect"),
    "to blocks": lambda x: graph.LayoutTransformOp(x, "NCHW", "NCHW4c"),
    "to two blocks": lambda x: graph.LayoutTransformOp(x, "OIHW", "OIHW4i2o"),
    "to NHWC": lambda x: graph.LayoutTransformOp(x, "NCHW", "NHWC"),
}


@pytest.mark.parametrize("move", MOVES.values(), ids=MOVES)
@pytest.mark.parametrize("dtype", [F32, U8, bool, F16])
def test_moves_keep_every_bit(move, dtype):
    x = (normal(*X) * 50).astype(np.int8).astype(dtype)
    assert_equal(move, x, rtol=0, atol=0)


@pytest.mark.parametrize(
    ("shape", "source", "target", "sizes"),
    [
        ((2, 2, 3, 3, 4), "NCHW4c", "NCHW", [2, 7, 3, 3]),
        ((2, 2, 3, 3, 4), "NCHW4c", "NCHW3c", [2, 7, 3, 3]),
        ((2, 2, 3, 3, 4), "NCHW4c", "NCHW8c", [2, 8, 3, 3]),
        ((2, 2, 3, 4, 2), "AB4b2a", "BA", [4, 7]),
        ((5, 7), "KN", "NK4n", [5, 7]),
    ],
)
def test_layouts_crop_and_pad_at_the_logical_size(shape, source, target, sizes):
    if source == "AB4b2a":
        shape = (2, 2, 4, 2)
    assert_equal(
        lambda x: graph.LayoutTransformOp(x, source, target, sizes), normal(*shape), rtol=0, atol=0
    )


@pytest.mark.parametrize("dtype", [F32, U8, F16])
def test_pads_with_a_value_known_at_compile_time_or_not(dtype):
    x, value = (normal(3, 4) * 9).astype(dtype), np.array(7, dtype)
    assert_equal(lambda x, value: graph.PadOp(x, [1, 0, 2, -1], "constant", value), x, value)
    assert_equal(
        lambda x: graph.PadOp(x, [1, 0, 2, -1], "constant", graph.ConstantOp(value).result), x
    )


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_concat_along_each_axis(axis):
    shapes = [[2, 3, 4] for _ in range(4)]
    for extra, shape in enumerate(shapes):
        shape[axis] = extra  # the first has no elements
    arrays = [normal(*shape, seed=seed) for seed, shape in enumerate(shapes)]
    assert_equal(lambda *xs: graph.ConcatOp(xs, axis), *arrays, rtol=0, atol=0)


def test_concat_of_nothing():
    assert_equal(lambda *xs: graph.ConcatOp(xs, 0), normal(0, 3), normal(0, 3))


# data-dependent indices -----------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [I32, I64])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_gathers_count_negative_indices_from_the_end(axis, dtype):
    x = normal(4, 4, 4)
    assert_equal(lambda x, i: graph.GatherOp(x, i, axis), x, whole(-4, 4, 2, 3, dtype=dtype))
    assert_equal(lambda x, i: graph.GatherOp(x, i, axis), x, np.array(-2, dtype))
    elements = whole(-4, 4, 3, 4, 2, dtype=dtype)
    assert_equal(lambda x, i: graph.GatherElementsOp(x, i, axis), x, elements)


def test_a_gather_out_of_range_stays_inside_the_tensor():
    module = module_of(lambda x, i: graph.GatherOp(x, i), normal(3, 2), np.array([9, -9], I64))
    from nn_opt.reference import run

    x = normal(3, 2)
    (result,) = run(convert(module), [x, np.array([9, -9], I64)])
    np.testing.assert_array_equal(result, x[[2, 0]])


@pytest.mark.parametrize(("indices", "batch"), [((3, 2), 0), ((2, 3, 1), 1), ((2, 5, 3, 1), 2)])
def test_gather_nd(indices, batch):
    x = normal(2, 5, 4, 3)
    assert_equal(lambda x, i: graph.GatherNDOp(x, i, batch), x, whole(-2, 2, *indices))


REDUCTIONS = ["none", "add", "mul", "max", "min"]


@pytest.mark.parametrize("dtype", [F32, I32, U8, F16])
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_scatters_take_repeated_indices_in_order(reduction, dtype):
    x = (normal(4, 5) * 9).astype(np.int8).astype(dtype)
    rows = np.array([[1], [3], [1], [-1]], I64)
    updates = (normal(4, 5, seed=1) * 3).astype(np.int8).astype(dtype)
    assert_equal(lambda *xs: graph.ScatterNDOp(*xs, reduction), x, rows, updates)
    points = np.array([[1, 2], [0, -1], [1, 2], [1, 2]], I64)
    assert_equal(lambda *xs: graph.ScatterNDOp(*xs, reduction), x, points, updates[:, 0])
    for axis in (0, 1, -1):
        indices = whole(-4, 4, 3, 4)
        assert_equal(
            lambda *xs, axis=axis: graph.ScatterElementsOp(*xs, axis, reduction),
            x,
            indices,
            updates[:3, :4],
        )


def test_scatters_of_nothing():
    x = normal(4, 5)
    empty = np.zeros((0, 1), I64)
    assert_equal(lambda *xs: graph.ScatterNDOp(*xs), x, empty, normal(0, 5))
    assert_equal(lambda *xs: graph.ScatterElementsOp(*xs), x, np.zeros((0, 5), I64), normal(0, 5))


# reductions -----------------------------------------------------------------------------------

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
    assert_equal(lambda x: graph.ReduceOp(x, kind, [1]), x if kind != "mean" else x // 16)


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
    factors = x % 5 - 2
    assert_equal(lambda x: graph.CumProdOp(x, 1, exclusive, reverse), factors.astype(dtype))


# sums of products -----------------------------------------------------------------------------


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


# windows --------------------------------------------------------------------------------------

POOLS = [
    # x, kernel, strides, pads, dilations, ceil
    ((1, 2, 6, 7), (2, 2), (2, 2), (0, 0, 0, 0), (1, 1), False),
    ((1, 2, 6, 7), (3, 3), (2, 2), (1, 1, 1, 1), (1, 1), False),
    ((1, 2, 6, 7), (3, 2), (2, 2), (1, 0, 1, 0), (1, 1), True),
    ((2, 1, 8, 9), (3, 2), (1, 2), (2, 1, 1, 1), (2, 3), False),
    ((2, 1, 8, 9), (3, 3), (3, 2), (1, 1, 0, 1), (1, 2), True),
    ((1, 2, 9), (3,), (2,), (1, 1), (1,), True),
    ((1, 1, 4, 4, 4), (2, 3, 2), (1, 2, 2), (1, 1, 0, 1, 0, 1), (1, 1, 1), True),
]


@pytest.mark.parametrize(("x", "kernel", "strides", "pads", "dilations", "ceil"), POOLS)
@pytest.mark.parametrize("kind", ["max", "average", "average with pad", "lp", "lp 3"])
@pytest.mark.parametrize("dtype", [F32, F16])
def test_pools(x, kernel, strides, pads, dilations, ceil, kind, dtype):
    fields: dict[str, Any] = {
        "strides": strides,
        "pads": pads,
        "dilations": dilations,
        "ceil_mode": ceil,
        "count_include_pad": kind == "average with pad",
        "p": 3 if kind == "lp 3" else 2,
    }
    word = kind.split()[0]
    rtol = 1e-5 if dtype is F32 else 2e-3
    assert_equal(
        lambda x: graph.PoolOp(x, word, kernel, **fields), normal(*x, dtype=dtype), rtol=rtol
    )


@pytest.mark.parametrize("dtype", [np.int8, U8])
def test_max_pools_of_bytes(dtype):
    info = np.iinfo(dtype)
    x = np.random.default_rng(0).integers(info.min, info.max, (1, 2, 5, 5), dtype, endpoint=True)
    fields: dict[str, Any] = {"strides": [2, 2], "pads": [1, 1, 1, 1], "dilations": [1, 1]}
    assert_equal(lambda x: graph.PoolOp(x, "max", [2, 2], **fields), x)


@pytest.mark.parametrize("kind", ["max", "average"])
def test_pools_in_blocks(kind):
    fields: dict[str, Any] = {"strides": [2, 2], "pads": [1, 1, 1, 1], "dilations": [1, 1]}
    assert_equal(
        lambda x: graph.PoolOp(x, kind, [3, 3], **fields, layout="NCHW4c"), normal(1, 2, 6, 7, 4)
    )


# resampling -----------------------------------------------------------------------------------

COORDINATES = [
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "align_corners",
    "asymmetric",
    "tf_crop_and_resize",
]


@pytest.mark.parametrize("coordinate", COORDINATES)
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("sizes", [(1, 2, 8, 12), (1, 2, 3, 4), (1, 2, 5, 9), (1, 2, 1, 4)])
def test_resize_by_every_rule(mode, coordinate, sizes):
    x = normal(1, 2, 4, 6)
    scales = [s / d for s, d in zip(sizes, x.shape, strict=True)]
    roi = [0, 0, -0.2, 0.1, 1, 1, 0.8, 1.3] if coordinate == "tf_crop_and_resize" else []
    assert_equal(
        lambda x: graph.ResizeOp(
            x, sizes, scales, mode=mode, coordinate=coordinate, roi=roi, extrapolation=9.0
        ),
        x,
    )


@pytest.mark.parametrize("nearest", ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
@pytest.mark.parametrize("dtype", [F32, U8, F16])
def test_nearest_by_every_rounding(nearest, dtype):
    x = (normal(3, 4, 5) * 20).astype(dtype)
    for sizes in ((3, 8, 5), (3, 4, 10), (3, 2, 15), (3, 7, 3)):
        scales = [s / d for s, d in zip(sizes, x.shape, strict=True)]
        assert_equal(
            lambda x, n=sizes, s=scales: graph.ResizeOp(
                x, n, s, coordinate="asymmetric", nearest_mode=nearest
            ),
            x,
        )


@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_antialiasing_has_many_taps(mode):
    x = normal(1, 1, 16, 9)
    assert_equal(
        lambda x: graph.ResizeOp(
            x, [1, 1, 5, 4], [1, 1, 5 / 16, 4 / 9], mode=mode, antialias=True, exclude_outside=True
        ),
        x,
    )


def test_resize_of_bytes_truncates():
    x = whole(0, 255, 1, 1, 4, 4, dtype=U8)
    assert_equal(lambda x: graph.ResizeOp(x, [1, 1, 7, 8], [1, 1, 7 / 4, 2], mode="linear"), x)


@pytest.mark.parametrize(
    ("sizes", "formula"), [((3, 8), "floordiv 2"), ((3, 12), "floordiv 3"), ((3, 2), "2 * %")]
)
def test_resize_by_a_whole_number_needs_no_table(sizes, formula):
    scales = [1.0, sizes[1] / 4]
    module = module_of(
        lambda x: graph.ResizeOp(x, sizes, scales, coordinate="asymmetric", nearest_mode="floor"),
        normal(3, 4),
    )
    text = str(convert(module))
    assert formula in text
    assert "tensor.constant" not in text


# programs -------------------------------------------------------------------------------------


@pytest.mark.parametrize("reverse", [False, True])
def test_scans_read_values_from_around_them(reverse):
    def build(h, xs, w):
        state, row = h.type, tensor_type(shape_of(xs)[1:], element_type(xs))
        block = Block(arg_types=[state, row])
        with ImplicitBuilder(block) as (s, x):
            new = graph.TanhOp(graph.AddOp(graph.MatmulOp(s, w).result, x).result).result
            graph.YieldOp(new, graph.NegOp(new).result)
        return graph.ScanOp([h], [xs], Region(block), reverse)

    assert_equal(build, normal(2, 3), normal(5, 2, 3, seed=1), normal(3, 3, seed=2))


@pytest.mark.parametrize("dtype", [F32, U8, np.uint64, bool, BF16, I64])
def test_constants_keep_their_bits(dtype):
    big, small = whole(0, 200, 5, 6).astype(dtype), np.array([1, 0, 200]).astype(dtype)
    assert_equal(lambda: graph.ConstantOp(big))
    assert_equal(lambda: graph.ConstantOp(small))


def test_every_graph_op_has_a_rule():
    ruled = {*CONVERTERS, *(op.name for op in STRUCTURE)}
    assert {op.name for op in graph.Graph.operations} <= ruled


def test_the_entry_function_keeps_its_dtypes():
    module = module_of(graph.LessOp, np.zeros(3, U8), np.zeros(3, U8))
    (main,) = convert(module).ops
    assert str(main.attributes["arg_dtypes"]) == '["uint8", "uint8"]'
    assert str(main.attributes["result_dtypes"]) == '["bool"]'


def test_a_convolution_sums_nothing_but_products():
    fields: dict[str, Any] = {"strides": [1, 1], "pads": [1] * 4, "dilations": [1, 1]}
    module = module_of(
        lambda x, w, b: graph.ConvOp(x, w, b, **fields),
        normal(1, 3, 5, 5),
        normal(2, 3, 3, 3),
        normal(2),
    )
    conv, bias = (op for op in convert(module).walk() if isinstance(op, tensor.ComputeOp))
    kinds = [type(op) for op in conv.body.block.ops]
    assert kinds == [tensor.ReadOp, tensor.ReadOp, arith.MulfOp, tensor.YieldOp]
    assert (conv.stage.data, bias.stage.data) == ("conv", "bias")


def failure(text: str) -> str:
    module = parse_module(make_context(), text, "test.mlir")
    with pytest.raises(PassFailedException) as caught:
        ConvertGraphToTensorPass().apply(make_context(), module)
    return str(caught.value)


def test_a_region_that_is_not_outlined_says_what_to_run():
    message = failure("""
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.fused (%a = %x : tensor<4xf32>) -> (tensor<4xf32>) {
    graph.yield %a : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}""")
    assert "test.mlir:3:" in message
    assert "run --outline-kernels before" in message


def test_an_unknown_size_is_refused_where_it_is():
    message = failure("""
func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  %y = graph.relu %x : tensor<?xf32>
  func.return %y : tensor<?xf32>
}""")
    assert "test.mlir:3:" in message
    assert "tensor<?xf32> is unknown" in message


def test_locations_go_on_to_what_an_op_becomes():
    text = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.softmax %x axis 0 : tensor<4xf32>
  func.return %y : tensor<4xf32>
}"""
    module = convert(parse_module(make_context(), text, "test.mlir"))
    stages = [op for op in module.walk() if isinstance(op, tensor.ComputeOp)]
    assert [op.location.line.data for op in stages] == [3, 3, 3, 3, 3]
