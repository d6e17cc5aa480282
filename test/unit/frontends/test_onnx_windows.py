"""Converters of convolution, pooling and resampling against onnxruntime."""

from __future__ import annotations

import numpy as np
import pytest
from onnx_rows import Row, ints, noise, reals
from onnx_text import at_graph_level

x, w = noise(2, 4, 7, 6), noise(6, 4, 3, 2, seed=1)
line, volume = noise(1, 4, 9), noise(1, 2, 4, 5, 6)

CONVS = [
    ("", w),
    ("<strides = [2, 3], pads = [1, 0, 2, 1], dilations = [2, 1]>", w),
    ("<group = 2>", noise(6, 2, 3, 2)),
    ("<group = 4, kernel_shape = [3, 3], pads = [1, 1, 1, 1]>", noise(8, 1, 3, 3)),
    *((f'<auto_pad = "{kind}", strides = [2, 2]>', w) for kind in ("SAME_UPPER", "SAME_LOWER")),
    ('<auto_pad = "VALID", strides = [2, 1]>', w),
]
TRANSPOSED = [
    "",
    "<strides = [2, 3], pads = [1, 0, 2, 1], dilations = [2, 1]>",
    "<strides = [2, 3], output_padding = [1, 2]>",
    "<strides = [2, 3], output_shape = [15, 18]>",
    '<strides = [2, 3], auto_pad = "SAME_UPPER">',
    '<strides = [3, 3], auto_pad = "SAME_LOWER">',
]
POOLS = [
    "kernel_shape = [2, 3]",
    "kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]",
    "kernel_shape = [3, 2], strides = [2, 2], pads = [1, 0, 0, 1], ceil_mode = 1",
    'kernel_shape = [3, 3], strides = [2, 3], auto_pad = "SAME_UPPER"',
    'kernel_shape = [2, 2], auto_pad = "SAME_LOWER"',
    'kernel_shape = [3, 3], auto_pad = "VALID", strides = [2, 2]',
]


def resize(attributes: str, **known: np.ndarray) -> Row:
    """Return a Resize-13 of `x`: sizes or scales, whichever is given."""
    operands = "x, , scales" if "scales" in known else "x, , , sizes"
    return Row(f"y = Resize<{attributes}>({operands})", {"x": x}, known, opset=13)


def mode(coordinate: str, kind: str) -> str:
    return f'mode = "{kind}", coordinate_transformation_mode = "{coordinate}"'


COORDINATES = ["half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners"]
SIZES = [ints(2, 4, 3, 11), ints(2, 4, 14, 6), ints(2, 4, 1, 1)]

ROWS = [
    *(Row(f"y = Conv{a}(x, w, b)", {"x": x}, {"w": f, "b": noise(len(f))}) for a, f in CONVS),
    Row("y = Conv(x, w)", {"x": x, "w": w}, opset=7),
    Row("y = Conv<pads = [2, 1]>(x, w)", {"x": line}, {"w": noise(3, 4, 3)}),
    Row("y = Conv<strides = [1, 2, 1]>(x, w)", {"x": volume}, {"w": noise(3, 2, 2, 3, 2)}),
    *(Row(f"y = ConvTranspose{a}(x, w)", {"x": x}, {"w": noise(4, 3, 3, 4)}) for a in TRANSPOSED),
    Row("y = ConvTranspose<group = 2>(x, w, b)", {"x": x}, {"w": w[:4, :2], "b": noise(4)}),
    Row("y = ConvTranspose<strides = [2]>(x, w)", {"x": line}, {"w": noise(4, 2, 3)}),
    *(Row(f"y = MaxPool<{a}>(x)", {"x": x}, opset=12) for a in POOLS),
    *(Row(f"y = AveragePool<{a}>(x)", {"x": x}, opset=19) for a in POOLS),
    *(
        Row(f"y = AveragePool<{a}, count_include_pad = 1>(x)", {"x": x}, opset=19)
        for a in POOLS
        if "SAME" not in a  # counted by hand in the case of microsoft/onnxruntime#24681
    ),
    *(Row(f"y = LpPool<{a}, p = {p}>(x)", {"x": x}, opset=18) for a in POOLS[:2] for p in (1, 3)),
    Row("y = MaxPool<kernel_shape = [2, 2], dilations = [2, 3]>(x)", {"x": x}, opset=10),
    Row("y = AveragePool<kernel_shape = [2], strides = [3]>(x)", {"x": line}, opset=7),
    Row("y = MaxPool<kernel_shape = [2, 2, 3]>(x)", {"x": volume}),
    *(Row(f"y = Global{kind}Pool(x)", {"x": x}) for kind in ("Average", "Max", "Lp")),
    Row("y = GlobalLpPool<p = 3>(x)", {"x": x}),
    Row("y = GlobalAveragePool(x)", {"x": volume}),
    *(
        resize(mode(coordinate, kind), sizes=sizes)
        for coordinate in COORDINATES
        for kind in ("linear", "nearest")
        for sizes in SIZES
    ),
    *(resize(mode(c, "cubic"), sizes=SIZES[1]) for c in COORDINATES),
    resize(
        mode("half_pixel", "cubic") + ", cubic_coeff_a = -0.5, exclude_outside = 1", sizes=SIZES[0]
    ),
    *(
        resize(mode("asymmetric", "nearest") + f', nearest_mode = "{kind}"', sizes=SIZES[0])
        for kind in ("floor", "ceil", "round_prefer_floor", "round_prefer_ceil")
    ),
    resize(mode("half_pixel", "linear"), scales=reals(1, 1, 1.7, 0.6)),
    resize(mode("asymmetric", "nearest"), scales=reals(1, 1, 2.6, 1.5)),
    Row("y = Resize(x, s)", {"x": x}, {"s": reals(1, 1, 2, 1.5)}, opset=10),
    Row("y = Resize(x, s)", {"x": x}, {"s": reals(1, 1, 0.6, 1.5)}, opset=10),
    *(
        Row(
            f"y = Resize<{mode('tf_half_pixel_for_nn', kind)}>(x, roi, s)",
            {"x": x},
            {"roi": reals(), "s": reals(1, 1, 0.7, 1.6)},
            opset=11,
        )
        for kind in ("nearest", "linear")
    ),
    Row(  # an element in the middle of two
        f"y = Resize<{mode('half_pixel_symmetric', 'nearest')}>(x, , s)",
        {"x": x},
        {"s": reals(1, 1, 1, 1.6)},
        opset=19,
    ),
    Row('y = Upsample<mode = "linear">(x, s)', {"x": x}, {"s": reals(1, 1, 2, 2)}, opset=9),
    Row("y = Upsample<scales = [1.0, 1.0, 2.0, 3.0]>(x)", {"x": x}, opset=7),
    Row(
        'y = Resize<mode = "linear", axes = [3, 2]>(x, , , s)',
        {"x": x},
        {"s": ints(9, 5)},
        opset=18,
    ),
    *(
        Row(
            f'y = Resize<axes = [2, 3], keep_aspect_ratio_policy = "{policy}">(x, , , s)',
            {"x": x},
            {"s": ints(9, 5)},
            opset=18,
        )
        for policy in ("stretch", "not_larger", "not_smaller")
    ),
    Row(
        'y = Resize<mode = "linear", coordinate_transformation_mode = "tf_crop_and_resize",'
        " extrapolation_value = 9.0>(x, roi, , s)",
        {"x": x},
        {"roi": reals(0, 0, 0.2, -0.1, 1, 1, 0.8, 1.2), "s": ints(2, 4, 5, 5)},
        opset=13,
    ),
]


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_agrees_with_onnxruntime(row: Row) -> None:
    row.check(rtol=1e-4, atol=1e-5)  # sums of up to 48 products of noise


def test_a_batch_of_no_images_is_resized() -> None:
    none = np.zeros((0, 4, 7, 6), np.float32)
    for known, operands in (
        ({"s": ints(0, 4, 9, 3)}, "x, , , s"),
        ({"s": reals(1, 1, 2, 0.5)}, "x, , s"),
    ):
        (got,) = at_graph_level(
            Row(f"y = Resize({operands})", {"x": none}, known, opset=13).model(), {"x": none}
        )
        assert got.shape == (0, 4, 9 if operands.count(",") == 3 else 14, 3)
