"""Shape functions of graph ops against published or hand-computed sizes."""

from __future__ import annotations

import pytest

from nn_opt.dialects.graph import layouts, shapes

NONE = (0, 0, 0, 0)
ONE = (1, 1)


@pytest.mark.parametrize(
    ("x", "w", "strides", "pads", "dilations", "group", "expected"),
    [
        # The ResNet-18 stem, as published: 224 -> 112.
        ((1, 3, 224, 224), (64, 3, 7, 7), (2, 2), (3, 3, 3, 3), ONE, 1, (1, 64, 112, 112)),
        # AlexNet's first layer, as published: 227 -> 55.
        ((1, 3, 227, 227), (96, 3, 11, 11), (4, 4), NONE, ONE, 1, (1, 96, 55, 55)),
        # MobileNet's first depthwise layer of stride 2: 112 -> 56.
        ((1, 64, 112, 112), (64, 1, 3, 3), (2, 2), (1, 1, 1, 1), ONE, 64, (1, 64, 56, 56)),
        # Dilation 2 makes 3 taps reach 5 elements.
        ((1, 1, 9, 9), (1, 1, 3, 3), (1, 1), NONE, (2, 2), 1, (1, 1, 5, 5)),
        # Each stride acts on its own axis, and a one-sided pad adds one row.
        ((1, 1, 5, 4), (1, 1, 3, 2), (2, 1), NONE, ONE, 1, (1, 1, 2, 3)),
        ((1, 1, 3, 3), (1, 1, 3, 3), (1, 1), (1, 0, 0, 0), ONE, 1, (1, 1, 2, 1)),
        # One and three spatial axes.
        ((2, 4, 9), (6, 2, 3), (2,), (1, 1), (1,), 2, (2, 6, 5)),
        ((1, 1, 4, 4, 4), (1, 1, 2, 2, 2), (1,) * 3, (0,) * 6, (1,) * 3, 1, (1, 1, 3, 3, 3)),
        # An unknown size stays unknown, the others are computed.
        ((-1, 3, -1, 8), (4, 3, 3, 3), ONE, NONE, ONE, 1, (-1, 4, -1, 6)),
    ],
)
def test_conv(x, w, strides, pads, dilations, group, expected):
    assert shapes.conv_shape(x, w, strides, pads, dilations, group) == expected


@pytest.mark.parametrize(
    ("x", "w", "strides", "pads", "extra", "expected"),
    [
        # DCGAN's doubling layer: 4 -> 8 with kernel 4, stride 2, pad 1.
        ((1, 8, 4, 4), (8, 4, 4, 4), (2, 2), (1, 1, 1, 1), (0, 0), (1, 4, 8, 8)),
        # ONNX ConvTranspose's example: 3 -> 5.
        ((1, 1, 3, 3), (1, 2, 3, 3), (1, 1), NONE, (0, 0), (1, 2, 5, 5)),
        # Output padding makes odd sizes reachable.
        ((1, 1, 3, 3), (1, 2, 3, 3), (3, 2), NONE, (1, 1), (1, 2, 10, 8)),
    ],
)
def test_conv_transpose(x, w, strides, pads, extra, expected):
    assert shapes.conv_transpose_shape(x, w, strides, pads, ONE, 1, extra) == expected


@pytest.mark.parametrize(
    ("size", "kernel", "stride", "pads", "dilation", "ceil", "expected"),
    [
        # ResNet's max pooling, as published: 112 -> 56.
        (112, 3, 2, (1, 1), 1, False, 56),
        # SqueezeNet's, as published, with ceil: 109 -> 54, 54 -> 27, 27 -> 13; 112 -> 56.
        (109, 3, 2, (0, 0), 1, True, 54),
        (112, 3, 2, (0, 0), 1, True, 56),
        (112, 3, 2, (0, 0), 1, False, 55),
        # PyTorch: the last window may not start in the padding behind the data.
        (4, 2, 3, (1, 1), 1, True, 2),
        (3, 1, 2, (0, 1), 1, True, 2),
        (7, 3, 1, (0, 0), 3, False, 1),
        (-1, 3, 1, (0, 0), 1, False, -1),
    ],
)
def test_window_positions(size, kernel, stride, pads, dilation, ceil, expected):
    assert shapes.window_positions(size, kernel, stride, pads, dilation, ceil) == expected


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        # The table of numpy.matmul's and NumPy's broadcasting documentation.
        ((3, 4), (4, 5), (3, 5)),
        ((9, 5, 7, 4), (9, 5, 4, 3), (9, 5, 7, 3)),
        ((2, 1, 3, 4), (5, 4, 6), (2, 5, 3, 6)),
        ((4,), (4, 5), (5,)),
        ((3, 4), (4,), (3,)),
        ((4,), (4,), ()),
        ((-1, 4), (4, 5), (-1, 5)),
    ],
)
def test_matmul(a, b, expected):
    assert shapes.matmul_shape(a, b) == expected


@pytest.mark.parametrize(
    ("operands", "expected"),
    [
        # NumPy's documentation of broadcasting.
        (((256, 256, 3), (3,)), (256, 256, 3)),
        (((8, 1, 6, 1), (7, 1, 5)), (8, 7, 6, 5)),
        (((5, 4), (1,)), (5, 4)),
        (((15, 3, 5), (15, 1, 5)), (15, 3, 5)),
        (((), (2, 0)), (2, 0)),
        # An unknown size is 1 or the other one.
        (((-1, 3), (4, 1)), (4, 3)),
        (((-1,), (1,)), (-1,)),
    ],
)
def test_broadcast(operands, expected):
    assert shapes.broadcast_shape(*operands) == expected


@pytest.mark.parametrize(
    ("function", "arguments", "expected"),
    [
        (shapes.transpose_shape, ((2, 3, 4), (2, 0, 1)), (4, 2, 3)),
        (shapes.concat_shape, (((2, 3), (2, 5)), 1), (2, 8)),
        (shapes.concat_shape, (((-1, 3), (2, -1)), -1), (2, -1)),
        (shapes.pad_shape, ((2, 3), (0, 1, 2, -1)), (4, 3)),
        (shapes.gather_shape, ((5, 6, 7), (2, 3), 1), (5, 2, 3, 7)),
        # The examples of ONNX GatherND.
        (shapes.gather_nd_shape, ((2, 2), (2, 2), 0), (2,)),
        (shapes.gather_nd_shape, ((2, 2), (2, 1), 0), (2, 2)),
        (shapes.gather_nd_shape, ((2, 2, 2), (2, 1, 2), 0), (2, 1, 2)),
        (shapes.gather_nd_shape, ((2, 2, 2), (2, 1), 1), (2, 2)),
        (shapes.tile_shape, ((2, 3), (2, 1)), (4, 3)),
        (shapes.reduce_shape, ((2, 3, 4), (1, -1), True), (2, 1, 1)),
        (shapes.reduce_shape, ((2, 3, 4), (1, -1), False), (2,)),
        (shapes.reduce_shape, ((2, 3), (), True), (2, 3)),
        (shapes.slice_shape, ((9, 9), (8, 0), (5, 3), (-2, 4)), (5, 3)),
        (shapes.slice_shape, ((4,), (0,), (0,), (1,)), (0,)),
        (shapes.expand_shape, ((3, 1), (2, 3, 4)), (2, 3, 4)),
        (shapes.reshape_shape, ((-1, 4), (8,)), (8,)),
    ],
)
def test_movement(function, arguments, expected):
    assert function(*arguments) == expected


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (shapes.conv_shape, ((1, 3), (4, 3), (), (), (), 1), "ranks are 2 and 2"),
        (shapes.conv_transpose_shape, ((1, 3), (4, 3), (), (), (), 1, ()), "ranks are 2 and 2"),
        (shapes.pool_shape, ((1, 3), (), (), (), (), False), "rank is 2, expected at least 3"),
        (shapes.concat_shape, ((), 0), "has no operands"),
        (shapes.matmul_shape, ((), (3,)), "operands must have at least 1 axis"),
        (shapes.expand_shape, ((2, 3), (3,)), "has more axes"),
        (shapes.gather_nd_shape, ((2,), (), 0), "must have at least 1 axis"),
        (shapes.gather_nd_shape, ((2,), (2,), 1), "batch_dims is 1"),
        (
            shapes.scatter_elements_shape,
            ((3, 3), (1, 2), (2, 2), 0),
            r"updates have shape \[2, 2\], expected \[1, 2\]",
        ),
        (
            shapes.conv_transpose_shape,
            ((1, 1, 1), (1, 1, 1), (1,), (1, 1), (1,), 1, (0,)),
            "result size would be -1, expected at least 1",
        ),
    ],
)
def test_what_does_not_fit_is_a_value_error(function, arguments, message):
    with pytest.raises(ValueError, match=message):
        function(*arguments)


def test_layouts_are_letters_then_blocks():
    layout = layouts.parse_layout("OIHW4i16o4i")
    assert layout.axes == "OIHW"
    assert layout.blocks == ((4, "I"), (16, "O"), (4, "I"))
    assert [layout.block_of(axis) for axis in layout.axes] == [16, 16, 1, 1]


@pytest.mark.parametrize(
    ("shape", "source", "target", "sizes", "expected"),
    [
        ((1, 64, 7, 7), "NCHW", "NCHW16c", (1, 64, 7, 7), (1, 4, 7, 7, 16)),
        ((1, 3, 7, 7), "NCHW", "NCHW8c", (1, 3, 7, 7), (1, 1, 7, 7, 8)),
        ((1, 1, 7, 7, 8), "NCHW8c", "NCHW", (1, 3, 7, 7), (1, 3, 7, 7)),
        ((1, 2, 7, 7, 16), "NCHW16c", "NCHW8c", (1, 20, 7, 7), (1, 3, 7, 7, 8)),
        ((64, 3, 7, 7), "OIHW", "OIHW16o", (64, 3, 7, 7), (4, 3, 7, 7, 16)),
        ((64, 32, 3, 3), "OIHW", "OIHW16i16o", (64, 32, 3, 3), (4, 2, 3, 3, 16, 16)),
        ((512, 1000), "KN", "NK32n", (512, 1000), (32, 512, 32)),
        ((1, 3, 7, 7), "NCHW", "NHWC", (1, 3, 7, 7), (1, 7, 7, 3)),
        ((-1, 3, 7, 7), "NCHW", "NCHW8c", (-1, 3, 7, 7), (-1, 1, 7, 7, 8)),
    ],
)
def test_layout_transform(shape, source, target, sizes, expected):
    assert layouts.layout_transform_shape(shape, source, target, sizes) == expected


@pytest.mark.parametrize(
    ("x", "w", "group", "layout", "weight_layout", "expected"),
    [
        ((1, 4, 9, 9, 16), (8, 4, 3, 3, 16, 16), 1, "NCHW16c", "OIHW16i16o", (1, 8, 7, 7, 16)),
        ((1, 3, 9, 9), (4, 3, 3, 3, 16), 1, "NCHW->NCHW16c", "OIHW16o", (1, 4, 7, 7, 16)),
        ((1, 2, 9, 9, 16), (2, 1, 3, 3, 16), 24, "NCHW16c", "OIHW16o", (1, 2, 7, 7, 16)),
        ((1, 2, 9, 9, 8), (2, 2, 3, 3, 8, 16), 1, "NCHW8c->NCHW16c", "OIHW8i16o", (1, 2, 7, 7, 16)),
    ],
)
def test_blocked_conv(x, w, group, layout, weight_layout, expected):
    actual = layouts.blocked_conv_shape(x, w, ONE, NONE, ONE, group, layout, weight_layout)
    assert actual == expected
