"""Ops that move or pick elements in the interpreter of graph against onnxruntime."""

from __future__ import annotations

import numpy as np
import pytest
from against_onnx import F32, I64, check, normal, ours, theirs, whole

from nn_opt.dialects import graph

A, B = normal(2, 3, 4), normal(3, 1, seed=1)

SERIES = normal(2, 3, 4, 5)

INDICES = np.array([[0, -1], [2, 1]], I64)


def test_movement():
    x = SERIES
    shape = np.array([3, 0, -1], I64)[[0, 2]]
    check(ours(lambda v: graph.ReshapeOp(v, [3, 40]), x), theirs("Reshape", [x, shape]))
    perm = [2, 0, 3, 1]
    check(ours(lambda v: graph.TransposeOp(v, perm), x), theirs("Transpose", [x], perm=perm))
    expanded = theirs("Expand", [B, np.array([2, 3, 4], I64)])
    check(ours(lambda v: graph.ExpandOp(v, [2, 3, 4]), B), expanded)
    joined = theirs("Concat", [x, x[:, :1]], axis=1)
    check(ours(lambda a, b: graph.ConcatOp([a, b], 1), x, x[:, :1]), joined)
    tiled = theirs("Tile", [x, np.array([1, 2, 1, 3], I64)])
    check(ours(lambda v: graph.TileOp(v, [1, 2, 1, 3]), x), tiled)
    check(ours(graph.DropoutOp, x), x)


def test_slice_walks_back_with_a_negative_step():
    starts, ends = np.array([3, 1], I64), np.array([-9, 5], I64)
    axes, steps = np.array([2, 3], I64), np.array([-2, 3], I64)
    actual = ours(lambda v: graph.SliceOp(v, [0, 0, 3, 1], [2, 3, 2, 2], [1, 1, -2, 3]), SERIES)
    check(actual, theirs("Slice", [SERIES, starts, ends, axes, steps]))


@pytest.mark.parametrize(
    ("mode", "pads"),
    [
        ("constant", [0, 1, 2, 0, 0, 0, 1, 3]),
        ("constant", [0, -1, 2, 0, 0, 0, -1, 3]),
        ("reflect", [0, 0, 2, 1, 0, 1, 3, 4]),
        ("edge", [0, 1, 2, 0, 0, 0, 1, 3]),
        ("wrap", [0, 1, 2, 0, 0, 0, 1, 3]),
    ],
)
def test_pad(mode: str, pads: list[int]):
    value = np.array(2.5, F32) if mode == "constant" else None
    expected = theirs("Pad", [SERIES, np.array(pads, I64), value], mode=mode)
    given = [] if value is None else [value]
    check(ours(lambda x, v=None: graph.PadOp(x, pads, mode, v), SERIES, *given), expected)


@pytest.mark.parametrize("axis", [0, 2, -1])
def test_gather(axis: int):
    indices = INDICES if axis else np.array([1, -2, 0], I64)
    expected = theirs("Gather", [SERIES, indices], axis=axis)
    check(ours(lambda x, i: graph.GatherOp(x, i, axis), SERIES, indices), expected)


def test_gather_elements():
    indices = whole(-4, 4, 2, 3, 7, 5)
    expected = theirs("GatherElements", [SERIES, indices], axis=2)
    check(ours(lambda x, i: graph.GatherElementsOp(x, i, 2), SERIES, indices), expected)


@pytest.mark.parametrize(
    ("batch", "indices"),
    [(0, np.array([[0, 1], [-1, 2]], I64)), (1, np.array([[[2, -1]], [[0, 3]]], I64))],
)
def test_gather_nd(batch: int, indices: np.ndarray):
    expected = theirs("GatherND", [SERIES, indices], batch_dims=batch)
    check(ours(lambda x, i: graph.GatherNDOp(x, i, batch), SERIES, indices), expected)


@pytest.mark.parametrize("reduction", ["none", "add", "mul", "max", "min"])
def test_scatter(reduction: str):
    repeated = [[0, 1], [1, 2], [0, 1]] if reduction != "none" else [[0, 1], [1, -1], [0, 2]]
    indices, updates = np.array(repeated, I64), normal(3, 4, 5, seed=3)
    expected = theirs("ScatterND", [SERIES, indices, updates], reduction=reduction)
    actual = ours(lambda x, i, u: graph.ScatterNDOp(x, i, u, reduction), SERIES, indices, updates)
    check(actual, expected)
    x, indices, updates = normal(3, 4), np.array([[0, -1], [2, 1]], I64), normal(2, 2, seed=4)
    expected = theirs("ScatterElements", [x, indices, updates], axis=1, reduction=reduction)
    actual = ours(
        lambda x, i, u: graph.ScatterElementsOp(x, i, u, 1, reduction), x, indices, updates
    )
    check(actual, expected)


@pytest.mark.parametrize("flags", [(0, 0), (1, 0), (0, 1), (1, 1)])
@pytest.mark.parametrize("x", [SERIES, whole(-9, 9, 3, 4, 2)])
def test_cumsum(x: np.ndarray, flags: tuple[int, int]):
    exclusive, reverse = flags
    axis = np.array(1, I64)
    expected = theirs("CumSum", [x, axis], exclusive=exclusive, reverse=reverse)
    check(ours(lambda v: graph.CumSumOp(v, 1, bool(exclusive), bool(reverse)), x), expected)


def test_cumprod():
    x = np.array([2.0, 3.0, 4.0], np.float32)
    for flags, expected in (
        ((False, False), [2, 6, 24]),
        ((True, False), [1, 2, 6]),
        ((False, True), [24, 12, 4]),
        ((True, True), [12, 4, 1]),
    ):
        check(ours(lambda v, f=flags: graph.CumProdOp(v, 0, *f), x), np.float32(expected))


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


def test_layout_transform():
    x, w = normal(2, 6, 3, 4), normal(5, 6, 2, 2)
    packed = ours(lambda v: graph.LayoutTransformOp(v, "NCHW", "NCHW4c"), x)
    np.testing.assert_array_equal(packed, blocked(x, 4))
    back = ours(lambda v: graph.LayoutTransformOp(v, "NCHW4c", "NCHW", x.shape), packed)
    np.testing.assert_array_equal(back, x)
    packed = ours(lambda v: graph.LayoutTransformOp(v, "OIHW", "OIHW4i3o"), w)
    np.testing.assert_array_equal(packed, blocked_weights(w, 4, 3))
    last = ours(lambda v: graph.LayoutTransformOp(v, "NCHW", "NHWC"), x)
    np.testing.assert_array_equal(last, x.transpose(0, 2, 3, 1))
    columns = ours(lambda v: graph.LayoutTransformOp(v, "KN", "NK4n"), x[0, :, :, 0])
    expected = np.pad(x[0, :, :, 0], ((0, 0), (0, 1))).T.reshape(1, 4, 6).transpose(0, 2, 1)
    np.testing.assert_array_equal(columns, expected)
