"""Converters that move elements, against onnxruntime."""

from __future__ import annotations

import numpy as np
import pytest
from onnx_rows import Row, ints, noise, reals
from onnx_text import at_graph_level

x = noise(2, 3, 4)
image = noise(1, 4, 2, 6)
column = noise(2, 1, 4)

SLICES = [
    (1, 3, 1, 1),
    (-3, -1, 1, 1),
    (5, 0, 2, -1),
    (0, 100, 2, 2),
    (-100, 2, -1, 1),
    (-100, -100, 2, -1),
]


def slice_row(start: int, end: int, axis: int, step: int) -> Row:
    values = {"s": ints(start), "e": ints(end), "a": ints(axis), "p": ints(step)}
    return Row("y = Slice(x, s, e, a, p)", {"x": x}, values, opset=13)


ROWS = [
    Row("y = Reshape(x, s)", {"x": x}, {"s": ints(0, -1)}, opset=7),
    Row("y = Flatten(x)", {"x": x}, opset=7),
    Row("y = Flatten<axis = -1>(x)", {"x": x}),
    Row("y = Flatten<axis = 0>(x)", {"x": x}),
    Row("y = Squeeze(x)", {"x": column}, opset=7),
    Row("y = Squeeze<axes = [1]>(x)", {"x": column}, opset=11),
    Row("y = Squeeze(x, a)", {"x": column}, {"a": ints(-2)}, opset=13),
    Row("y = Unsqueeze<axes = [0, 4]>(x)", {"x": x}, opset=11),
    Row("y = Unsqueeze(x, a)", {"x": x}, {"a": ints(-1, 1)}, opset=13),
    Row("y = Transpose(x)", {"x": x}, opset=7),
    Row("y = Transpose<perm = [1, 0, 2]>(x)", {"x": x}),
    Row("y = Expand(x, s)", {"x": column}, {"s": ints(5, 1, 3, 1)}, opset=8),
    Row("y = Concat<axis = -1>(x, c, x)", {"x": x, "c": noise(2, 3, 1)}),
    Row("y = Concat<axis = 0>(x)", {"x": x}, opset=7),
    Row("y, z = Split<axis = 1, split = [1, 2]>(x)", {"x": x}, opset=11, results="float[] z"),
    Row("y, z = Split<axis = -1>(x)", {"x": x}, opset=7, results="float[] y, float[] z"),
    Row("y, z = Split<axis = 2>(x, s)", {"x": x}, {"s": ints(3, 1)}, results="float[] z"),
    Row(
        "y, z = Split<axis = 1, num_outputs = 2>(x)",
        {"x": x},
        opset=18,
        results="float[] y, float[] z",
    ),
    *(slice_row(*bounds) for bounds in SLICES),
    Row("y = Slice<starts = [1, -2], ends = [9, -1], axes = [0, 2]>(x)", {"x": x}, opset=9),
    Row("y = Slice(x, s, e)", {"x": x}, {"s": ints(0, 1), "e": ints(1, 3)}, opset=10),
    Row("y = Pad<pads = [0, 1, 0, 2, 0, 1], value = 3.0>(x)", {"x": x}, opset=7),
    Row('y = Pad<pads = [0, 1, 2, 0, 1, 3], mode = "reflect">(x)', {"x": x}, opset=10),
    Row("y = Pad(x, p, v)", {"x": x, "v": np.array(2, np.float32)}, {"p": ints(0, 0, 1, 0, -1, 1)}),
    *(
        Row(f'y = Pad<mode = "{mode}">(x, p, , a)', {"x": x}, {"p": ints(1, 2), "a": ints(-1)}, 19)
        for mode in ("constant", "edge", "reflect", "wrap")
    ),
    Row("y = Tile(x, r)", {"x": x}, {"r": ints(2, 1, 3)}),
    *(
        Row(f'y = DepthToSpace<blocksize = 2, mode = "{mode}">(x)', {"x": image}, opset=11)
        for mode in ("DCR", "CRD")
    ),
    Row("y = SpaceToDepth<blocksize = 2>(x)", {"x": image}),
    Row("y = Gather<axis = -1>(x, i)", {"x": x, "i": np.array([[3, -4], [0, 1]], np.int32)}),
    Row("y = Gather(x, i)", {"x": x, "i": np.array(-1, np.int64)}, opset=7),
    Row(
        "y = GatherElements<axis = 2>(x, i)", {"x": x[:, :, :2], "i": ints(0, -1).reshape(1, 2, 1)}
    ),
    Row("y = GatherND<batch_dims = 1>(x, i)", {"x": x, "i": ints(2, 0, -1, 1).reshape(2, 1, 2)}),
    *(
        Row(
            f'y = ScatterElements<axis = 1, reduction = "{kind}">(x, i, u)',
            {"x": x[0], "i": ints(1, 3, -1, 0).reshape(2, 2), "u": noise(2, 2, seed=3)},
            opset=18,
        )
        for kind in ("none", "add", "mul", "max", "min")
    ),
    Row("y = Scatter(x, i, x)", {"x": x[0], "i": ints(*range(12)).reshape(3, 4) % 3}, opset=9),
    Row(
        'y = ScatterND<reduction = "add">(x, i, u)',
        {"x": x, "i": ints(0, 2, 0, 2, 1, 1).reshape(3, 2), "u": noise(3, 4)},
        opset=16,
    ),
    *(
        Row(f"y = Trilu<upper = {upper}>(x, k)", {"x": x}, {"k": np.int64(k)})
        for upper, k in ((0, 1), (1, -1), (1, 2))
    ),
    Row("y = Trilu(x)", {"x": x}),
    *(
        Row(
            f"y = ReverseSequence<time_axis = {t}, batch_axis = {1 - t}>(x, n)",
            {"x": noise(3, 3, 2)},
            {"n": ints(1, 3, 2)},
        )
        for t in (0, 1)
    ),
    Row("y = Compress<axis = 1>(x, c)", {"x": x}, {"c": np.array([True, False, True])}),
    Row("y = Compress(x, c)", {"x": x}, {"c": np.array([False, True, True])}),
    Row("y = Dropout<ratio = 0.5>(x)", {"x": x}, opset=7),
    Row("y, z = Dropout(x, r, t)", {"x": x}, {"r": np.float32(0.5), "t": np.array(False)}),
]


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_agrees_with_onnxruntime(row: Row) -> None:
    row.check()


def test_dropout_keeps_everything_in_its_mask() -> None:
    row = Row("y, z = Dropout(x)", {"x": x}, results="bool[] z")
    (mask,) = at_graph_level(row.model(), {"x": x})
    assert mask.dtype == np.bool_
    assert mask.all()


def test_blocks_may_count_less_than_channels() -> None:
    blocks = reals(*range(16)).reshape(1, 2, 2, 4)
    row = Row('y = SpaceToDepth<blocksize = 2, mode = "CRD">(x)', {"x": blocks}, opset=28)
    (got,) = at_graph_level(row.model(), {"x": blocks})
    want = [[0, 2], [1, 3], [4, 6], [5, 7], [8, 10], [9, 11], [12, 14], [13, 15]]
    np.testing.assert_array_equal(got.reshape(8, 2), want)
