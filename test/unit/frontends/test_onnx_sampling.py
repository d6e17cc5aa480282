"""Samples of images, regions, windows and their inverses against onnxruntime."""

from __future__ import annotations

import numpy as np
import pytest
from onnx_rows import Row, ints, noise
from onnx_text import at_graph_level

import nn_opt

image = noise(2, 3, 5, 6)
volume = noise(1, 2, 3, 4, 5)
grid = 1.4 * np.tanh(noise(2, 4, 3, 2, seed=1))
places = 1.4 * np.tanh(noise(1, 2, 3, 2, 3, seed=1))
rois = np.array([[0, 0, 4, 3], [-3, 1, 9, 12], [2, 2, 2.2, 2.1], [30, 30, 40, 40]], np.float32)
images = ints(0, 1, 1, 0)

GRIDS = [
    Row(
        f'y = GridSample<mode = "{mode}", padding_mode = "{pad}", align_corners = {align}>(x, g)',
        {"x": image, "g": grid},
        opset=20,
    )
    for mode in ("linear", "nearest", "cubic")
    for pad in ("zeros", "border", "reflection")
    for align in (0, 1)
]
CHANNELS = [
    Row(
        f'y = GridSample<mode = "{mode}", padding_mode = "{pad}">(x, g)',
        {"x": noise(2, 19, 5, 6), "g": grid},
        opset=20,
    )
    for mode, pad in (("linear", "zeros"), ("nearest", "border"))
]
VOLUMES = [
    Row(
        f'y = GridSample<mode = "{mode}", padding_mode = "{padding}">(x, g)',
        {"x": volume, "g": places},
        opset=22,
    )
    for mode in ("linear", "nearest")
    for padding in ("zeros", "border", "reflection")
]
SIZES = "output_height = 3, output_width = 2, spatial_scale = 0.5"
REGIONS = [
    Row(
        f'y = RoiAlign<mode = "{mode}", sampling_ratio = {ratio}, {SIZES}{half}>(x, r, b)',
        {"x": image},
        {"r": rois, "b": images},
        opset=opset,
    )
    for mode in ("avg", "max")
    for ratio in (0, 2)
    for opset, half in (
        (10, ""),
        (16, ""),
        (16, ', coordinate_transformation_mode = "output_half_pixel"'),
    )
]
boxes = np.concatenate([images[:, None], np.round(rois)], axis=1).astype(np.float32)
plain = "float[] y, int64[] i"
POOLS = [
    *(
        Row(f"y, i = MaxPool<{text}>(x)", {"x": image}, opset=12, results=plain)
        for text in (
            "kernel_shape = [2, 3]",
            "kernel_shape = [3, 2], pads = [1, 0, 1, 1], strides = [2, 1]",
            "kernel_shape = [2, 2], dilations = [2, 1], storage_order = 1",
            "kernel_shape = [3, 3], strides = [2, 2], ceil_mode = 1",
            'kernel_shape = [3, 3], strides = [2, 2], auto_pad = "SAME_LOWER"',
        )
    ),
    Row("y, i = MaxPool<kernel_shape = [2]>(x)", {"x": noise(1, 2, 7)}, results=plain),
    Row("y, i = MaxPool<kernel_shape = [2, 2, 2]>(x)", {"x": volume}, results=plain),
    Row(
        "y, i = MaxPool<kernel_shape = [2, 2]>(x)",
        {"x": np.arange(12, dtype=np.uint8).reshape(1, 1, 3, 4) % 5},
        results="uint8[] y, int64[] i",
    ),
    Row(
        "y = MaxRoiPool<pooled_shape = [2, 3], spatial_scale = 0.7>(x, r)", {"x": image, "r": boxes}
    ),
]
AVERAGES = [
    Row(f"y = AveragePool<kernel_shape = [3, 2], {text}>(x)", {"x": image}, opset=22)
    for text in (
        "ceil_mode = 1, strides = [2, 2], count_include_pad = 1, pads = [1, 1, 1, 1]",
        "ceil_mode = 1, strides = [2, 2], pads = [1, 0, 1, 1]",
        "dilations = [1, 2], count_include_pad = 1, pads = [1, 1, 1, 1]",
        "dilations = [2, 1], pads = [1, 1, 1, 1]",
        'auto_pad = "SAME_UPPER", strides = [2, 2]',
        'auto_pad = "SAME_LOWER", count_include_pad = 1, strides = [2, 3]',
    )
]
NORMS = [
    *(
        Row(
            f"y = LpPool<kernel_shape = [2, 2], p = {p}, strides = [2, 1]>(x)",
            {"x": image},
            opset=18,
        )
        for p in (1, 2, 3)
    ),
    Row("y = GlobalLpPool<p = 3>(x)", {"x": image}),
]
small = noise(1, 2, 3, 4)
UNDONE = [
    *(
        Row(f"y = ConvTranspose<{text}>(x, w)", {"x": small, "w": noise(2, 2, 3, 2)})
        for text in (
            "output_shape = [7, 9], strides = [2, 2]",
            'auto_pad = "SAME_UPPER", strides = [2, 1]',
            'auto_pad = "SAME_LOWER", strides = [2, 2]',
            "dilations = [2, 1], pads = [1, 0, 1, 1], output_padding = [1, 0], strides = [2, 1]",
            "group = 2, strides = [2, 2]",
        )
    ),
    Row("y = ConvTranspose<strides = [2]>(x, w)", {"x": noise(1, 2, 5), "w": noise(2, 3, 3)}),
    Row(
        "y = ConvTranspose<strides = [2, 1, 2]>(x, w)",
        {"x": noise(1, 2, 2, 3, 2), "w": noise(2, 1, 2, 2, 2)},
    ),
    *(
        Row(
            f'y = Conv<auto_pad = "{pad}", strides = [2, 2]>(x, w)',
            {"x": image, "w": noise(2, 3, 2, 4)},
        )
        for pad in ("SAME_UPPER", "SAME_LOWER", "VALID")
    ),
    *(
        Row(
            f"y = Col2Im<{text}>(x, s, k)",
            {"x": noise(2, 12, windows)},
            {"s": ints(4, 5), "k": ints(2, 3)},
            opset=18,
        )
        for text, windows in (
            ("strides = [1, 1]", 9),
            ("strides = [2, 2]", 4),
            ("pads = [1, 0, 0, 1], dilations = [2, 1]", 12),
            ("pads = [2, 2, 1, 2], strides = [3, 4], dilations = [2, 1]", 4),
        )
    ),
    Row(
        "y = Col2Im(x, s, k)",
        {"x": noise(1, 72, 6)},
        {"s": ints(7, 8), "k": ints(6, 6)},
        opset=18,
    ),
    Row(
        "y = Col2Im<strides = [1, 2, 2]>(x, s, k)",
        {"x": noise(1, 8, 27)},
        {"s": ints(4, 5, 6), "k": ints(2, 1, 2)},
        opset=18,
    ),
    Row(
        "y = MaxUnpool<kernel_shape = [2, 2], strides = [2, 2]>(x, i)",
        {
            "x": noise(1, 2, 2, 3),
            "i": ints(0, 3, 5, 12, 20, 17, 24, 27, 29, 40, 43, 47).reshape(1, 2, 2, 3),
        },
    ),
    Row(
        "y = DeformConv<pads = [1, 0, 1, 0], offset_group = 2, group = 2>(x, w, o, b, m)",
        {
            "x": noise(1, 4, 4, 5),
            "w": noise(2, 2, 2, 2),
            "o": noise(1, 16, 5, 4, seed=2),
            "b": noise(2),
            "m": noise(1, 8, 5, 4, seed=3),
        },
        opset=22,
    ),
]


@pytest.mark.parametrize(
    "row", [*GRIDS, *CHANNELS, *VOLUMES, *REGIONS, *POOLS, *AVERAGES, *NORMS, *UNDONE], ids=str
)
def test_agrees_with_onnxruntime(row: Row) -> None:
    row.check(rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (
            Row(
                "y = AffineGrid(t, s)", {"t": noise(1, 2, 3)}, {"s": ints(1, 2, 3, 4, 5)}, opset=20
            ),
            r"theta has shape \[1, 2, 3\] for an image of sizes \[1, 2, 3, 4, 5\]",
        ),
        (
            Row(
                "y = RoiAlign<sampling_ratio = -1>(x, r, b)",
                {"x": image, "r": rois},
                {"b": images},
            ),
            "sampling_ratio is -1, expected at least 0",
        ),
        (
            Row(
                "y = DeformConv<group = 2>(x, w, o)",
                {"x": noise(1, 4, 3, 3), "w": noise(3, 2, 1, 1), "o": noise(1, 2, 3, 3)},
                opset=19,
            ),
            r"3 filters of 2 channels for 2 group\(s\)",
        ),
        (
            Row(
                "y = DeformConv(x, w, o)",
                {"x": noise(1, 4, 3, 3), "w": noise(3, 4, 1, 1), "o": noise(1, 3, 3, 3)},
                opset=19,
            ),
            "offset has 3 channels, expected 2",
        ),
        (
            Row(
                "y = Col2Im(x, s, k)",
                {"x": noise(1, 12, 8)},
                {"s": ints(4, 5), "k": ints(2, 3)},
                opset=18,
            ),
            r"operand has shape \[1, 12, 8\], expected 9 blocks of \[2, 3\]",
        ),
    ],
    ids=str,
)
def test_refusals(row: Row, words: str) -> None:
    with pytest.raises(nn_opt.DiagnosticError, match=words):
        at_graph_level(row.model(), row.inputs)


def test_blocks_of_bools_are_joined_by_or() -> None:
    x = np.ones((1, 4, 2), np.bool_)
    known = {"s": ints(2, 3), "k": ints(2, 2)}
    row = Row("y = Col2Im(x, s, k)", {"x": x}, known, opset=18, results="bool[] y")
    (got,) = nn_opt.compile(row.model(), threads=1).run({"x": x}).values()
    assert got.all()


def test_sorted_indices_find_their_elements() -> None:
    x, size = noise(1, 2, 20, 20), 40
    places = np.arange(x.size).reshape(x.shape)
    rows, columns = places % 400 // 20 * 2 + 1, places % 20 * 2
    indices = (places // 400 * size + rows) * size + columns
    indices[0, 1, 0, 0] = indices[0, 0, 3, 4]  # the last of several counts
    node = "y = MaxUnpool<kernel_shape = [2, 2], strides = [2, 2]>(x, i)"
    row = Row(node, {"x": x, "i": indices.astype(np.int64)})
    (got,) = at_graph_level(row.model(), row.inputs)
    want = np.zeros(2 * size * size, np.float32)
    want[indices.reshape(-1)] = x.reshape(-1)
    np.testing.assert_array_equal(got.reshape(-1), want)
