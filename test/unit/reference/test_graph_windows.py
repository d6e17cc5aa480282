"""Products, convolutions and pools in the interpreter of graph against onnxruntime."""

from __future__ import annotations

import numpy as np
import pytest
from against_onnx import F32, F64, check, normal, ours, theirs

from nn_opt.dialects import graph


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((3, 4), (4, 5)),
        ((2, 3, 4), (4, 5)),
        ((2, 1, 3, 4), (5, 4, 2)),
        ((4,), (4, 5)),
        ((3, 4), (4,)),
        ((4,), (4,)),
    ],
)
def test_matmul(a: tuple[int, ...], b: tuple[int, ...]):
    x, y = normal(*a), normal(*b, seed=1)
    check(ours(graph.MatmulOp, x, y), theirs("MatMul", [x, y]))


CONVS = [
    ((2, 3, 8, 9), (4, 3, 3, 2), [2, 1], [1, 0, 2, 1], [1, 2], 1),
    ((1, 6, 7, 7), (6, 1, 3, 3), [1, 1], [1, 1, 1, 1], [1, 1], 6),
    ((1, 4, 9), (6, 2, 3), [2], [1, 1], [2], 2),
    ((1, 2, 4, 5, 4), (3, 2, 2, 3, 1), [1, 2, 1], [0, 1, 0, 1, 1, 0], [1, 1, 1], 1),
]


@pytest.mark.parametrize(("x", "w", "strides", "pads", "dilations", "group"), CONVS)
@pytest.mark.parametrize("biased", [False, True])
def test_conv(x, w, strides, pads, dilations, group, biased):
    options = {"strides": strides, "pads": pads, "dilations": dilations, "group": group}
    bias = [normal(w[0], seed=2)] if biased else []
    arrays = [normal(*x), normal(*w, seed=1), *bias]
    check(ours(lambda *v: graph.ConvOp(*v, **options), *arrays), theirs("Conv", arrays, **options))


@pytest.mark.parametrize(
    ("x", "w", "strides", "pads", "dilations", "group", "extra"),
    [
        ((1, 2, 4, 5), (2, 3, 3, 3), [2, 3], [1, 0, 0, 1], [1, 2], 1, [1, 0]),
        ((1, 4, 6), (4, 2, 3), [2], [1, 1], [1], 2, [1]),
        ((1, 2, 2, 3, 2), (2, 1, 2, 2, 2), [1, 2, 1], [0] * 6, [1, 1, 1], 1, [0, 1, 0]),
    ],
)
def test_conv_transpose(x, w, strides, pads, dilations, group, extra):
    options = {
        "strides": strides,
        "pads": pads,
        "dilations": dilations,
        "group": group,
        "output_padding": extra,
    }
    arrays = [normal(*x), normal(*w, seed=1), normal(w[1] * group, seed=2)]
    actual = ours(lambda *v: graph.ConvTransposeOp(*v, **options), *arrays)
    check(actual, theirs("ConvTranspose", arrays, **options))


POOLS = [
    ((1, 2, 8, 9), [3, 2], [2, 2], [1, 0, 1, 1], [1, 1], False),
    ((1, 2, 8, 9), [3, 3], [2, 2], [0, 0, 0, 0], [1, 1], True),
    ((1, 2, 9, 9), [3, 3], [2, 2], [1, 1, 1, 1], [2, 1], True),
    ((1, 2, 10), [3], [2], [1, 1], [2], False),
]


@pytest.mark.parametrize(("x", "kernel", "strides", "pads", "dilations", "ceil"), POOLS)
@pytest.mark.parametrize("kind", ["max", "average", "lp"])
def test_pool(x, kernel, strides, pads, dilations, ceil, kind):
    data = normal(*x)
    options = {"strides": strides, "pads": pads, "dilations": dilations}
    ours_options = {"ceil_mode": ceil, "p": 3}
    actual = ours(lambda v: graph.PoolOp(v, kind, kernel, **options, **ours_options), data)
    name = {"max": "MaxPool", "average": "AveragePool", "lp": "LpPool"}[kind]
    extra = {"p": 3} if kind == "lp" else {}
    options = {**options, "kernel_shape": kernel, "ceil_mode": int(ceil)}
    check(actual, theirs(name, [data], **options, **extra))


def counted_average(x, kernel, stride, pads, ceil):
    """The average of each window, cell by cell, as AveragePool-19 and PyTorch define it."""
    (h, w), (kh, kw), s, (top, left, bottom, right) = x.shape, kernel, stride, pads

    def count(size, k, before, after):
        span = size + before + after - k
        n = (-(-span // s) if ceil else span // s) + 1
        return n - 1 if ceil and (n - 1) * s >= size + before else n

    result = np.zeros((count(h, kh, top, bottom), count(w, kw, left, right)))
    for i, j in np.ndindex(*result.shape):
        cells = [(i * s - top + a, j * s - left + b) for a, b in np.ndindex(kh, kw)]
        counted = [(r, c) for r, c in cells if -top <= r < h + bottom and -left <= c < w + right]
        inside = [x[r, c] for r, c in counted if 0 <= r < h and 0 <= c < w]
        result[i, j] = sum(inside) / len(counted)
    return result


@pytest.mark.parametrize("ceil", [False, True])
@pytest.mark.parametrize(
    ("stride", "pads"), [(2, (1, 1, 1, 1)), (3, (0, 1, 1, 1)), (2, (1, 0, 2, 0))]
)
def test_average_counts_padding_but_nothing_beyond_it(ceil, stride, pads):
    x = normal(1, 1, 4, 5)
    actual = ours(
        lambda v: graph.PoolOp(
            v,
            "average",
            [3, 3],
            strides=[stride] * 2,
            pads=pads,
            dilations=[1, 1],
            ceil_mode=ceil,
            count_include_pad=True,
        ),
        x,
    )
    expected = counted_average(x[0, 0].astype(F64), (3, 3), stride, pads, ceil)
    check(actual, expected[None, None].astype(F32))


def test_max_pool_passes_nan_on():
    x = np.array([[[1, np.nan, 2, 3]]], F32)
    options = {"strides": [2], "pads": [0, 0], "dilations": [1]}
    actual = ours(lambda v: graph.PoolOp(v, "max", [2], **options), x)
    np.testing.assert_array_equal(actual, np.array([[[np.nan, 3]]], F32))


def blocked(x: np.ndarray, block: int) -> np.ndarray:
    """[N, C, H, W] as [N, ceil(C / block), H, W, block], by hand."""
    n, c, h, w = x.shape
    result = np.zeros((n, -(-c // block), h, w, block), x.dtype)
    for channel in range(c):
        result[:, channel // block, :, :, channel % block] = x[:, channel]
    return result


def blocked_weights(w: np.ndarray, inner: int, outer: int) -> np.ndarray:
    """[O, I, R, S] as [O / outer, I / inner, R, S, inner, outer], by hand."""
    o, i, r, s = w.shape
    result = np.zeros((-(-o // outer), -(-i // inner), r, s, inner, outer), w.dtype)
    for f, c in np.ndindex(o, i):
        result[f // outer, c // inner, :, :, c % inner, f % outer] = w[f, c]
    return result


CONV = {"strides": [2, 1], "pads": [1, 1, 0, 1], "dilations": [1, 1]}


@pytest.mark.parametrize(
    ("layout", "weight_layout", "group"),
    [("NCHW4c", "OIHW4i4o", 1), ("NCHW->NCHW4c", "OIHW4o", 1), ("NCHW4c", "OIHW4o", 6)],
)
def test_blocked_conv(layout: str, weight_layout: str, group: int):
    x, w = normal(2, 6, 5, 7), normal(6, 6 // group, 3, 3, seed=1)
    plain = theirs("Conv", [x, w], **CONV, group=group)
    given = x if "->" in layout else blocked(x, 4)
    packed = blocked_weights(w, 4 if "i" in weight_layout else 1, 4)
    packed = packed if "i" in weight_layout else packed[..., 0, :]
    options = {**CONV, "group": group, "layout": layout, "weight_layout": weight_layout}
    actual = ours(lambda a, b: graph.ConvOp(a, b, **options), given, packed)
    check(actual, blocked(plain, 4))


@pytest.mark.parametrize("kind", ["max", "average"])
def test_blocked_pool(kind: str):
    x = normal(1, 6, 5, 7)
    options = {"strides": [2, 2], "pads": [1, 1, 1, 1], "dilations": [1, 1]}
    name = {"max": "MaxPool", "average": "AveragePool"}[kind]
    plain = theirs(name, [x], **options, kernel_shape=[3, 3])
    actual = ours(
        lambda v: graph.PoolOp(v, kind, [3, 3], layout="NCHW4c", **options), blocked(x, 4)
    )
    check(actual, blocked(plain, 4))
