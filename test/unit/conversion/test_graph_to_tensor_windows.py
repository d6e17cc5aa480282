"""Windows and resampling as formulas: the graph's interpreter judges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from random_arrays import F16, F32, U8, normal, whole
from single_op import assert_equal, convert, module_of

from nn_opt.dialects import graph

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


COORDINATES = [
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "tf_half_pixel_for_nn",
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
