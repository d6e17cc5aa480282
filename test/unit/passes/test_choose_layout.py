# ruff: noqa: E501  (lines of IR)
from typing import Any

import numpy as np
import pytest
from programs import apply, assert_close, inputs_of, normal, op_names, program
from xdsl.dialects.builtin import ModuleOp, StringAttr

from nn_opt.dialects import graph
from nn_opt.ir.remarks import collect_remarks
from nn_opt.passes.canonicalize import CanonicalizePass
from nn_opt.passes.choose_layout import ChooseLayoutPass
from nn_opt.passes.fold_constants import FoldConstantsPass
from nn_opt.reference import run


def conv(
    result: str, x: str, w: str, shape: tuple[int, ...], weights: tuple[int, ...], group: int = 1
) -> str:
    """Return the text of a convolution that keeps the size of its image [N, C, H, W]."""
    batch, _, height, width = shape
    filters, pad = weights[0], weights[2] // 2
    types = ["x".join(map(str, s)) for s in (shape, weights, (batch, filters, height, width))]
    return (
        f"{result} = graph.conv {x}, {w} strides [1, 1] pads [{pad}, {pad}, {pad}, {pad}]"
        f" dilations [1, 1] group {group} :"
        f" (tensor<{types[0]}xf32>, tensor<{types[1]}xf32>) -> tensor<{types[2]}xf32>"
    )


def constant(name: str, *shape: int) -> str:
    return f'%{name} = graph.constant #graph.resource<"{name}"> : tensor<{"x".join(map(str, shape))}xf32>'


# 24 channels fill one block of 16 and half of another; the plain tail is the transposed result.
PADDED = f"""
func.func @main(%x: tensor<1x3x9x9xf32>) -> (tensor<1x24xf32>, tensor<1x24x9x9xf32>) {{
  {constant("w0", 24, 3, 3, 3)}
  {constant("w1", 24, 1, 3, 3)}
  {constant("w2", 24, 24, 1, 1)}
  {constant("w3", 8, 24, 1, 1)}
  {constant("w4", 24, 8, 1, 1)}
  {constant("slope", 24, 1, 1)}
  %six = graph.constant dense<6.0> : tensor<f32>
  {conv("%a", "%x", "%w0", (1, 3, 9, 9), (24, 3, 3, 3))}
  %b = graph.sigmoid %a : tensor<1x24x9x9xf32>
  {conv("%c", "%b", "%w1", (1, 24, 9, 9), (24, 1, 3, 3), 24)}
  %d = graph.prelu %c, %slope : (tensor<1x24x9x9xf32>, tensor<24x1x1xf32>) -> tensor<1x24x9x9xf32>
  %mean = graph.reduce %d kind "mean" axes [-2, -1] keepdims : (tensor<1x24x9x9xf32>) -> tensor<1x24x1x1xf32>
  {conv("%sq", "%mean", "%w3", (1, 24, 1, 1), (8, 24, 1, 1))}
  %rl = graph.relu %sq : tensor<1x8x1x1xf32>
  {conv("%ex", "%rl", "%w4", (1, 8, 1, 1), (24, 8, 1, 1))}
  %gate = graph.div %ex, %six : (tensor<1x24x1x1xf32>, tensor<f32>) -> tensor<1x24x1x1xf32>
  %e = graph.mul %d, %gate : (tensor<1x24x9x9xf32>, tensor<1x24x1x1xf32>) -> tensor<1x24x9x9xf32>
  {conv("%f", "%e", "%w2", (1, 24, 9, 9), (24, 24, 1, 1))}
  %g = graph.add %f, %a : (tensor<1x24x9x9xf32>, tensor<1x24x9x9xf32>) -> tensor<1x24x9x9xf32>
  %h = graph.exp %g : tensor<1x24x9x9xf32>
  %p = graph.pool %g kind "average" kernel [3, 3] strides [2, 2] pads [1, 1, 1, 1] dilations [1, 1] : (tensor<1x24x9x9xf32>) -> tensor<1x24x5x5xf32>
  %m = graph.reduce %p kind "max" axes [2, 3] : (tensor<1x24x5x5xf32>) -> tensor<1x24xf32>
  func.return %m, %h : tensor<1x24xf32>, tensor<1x24x9x9xf32>
}}"""
UNET = f"""
func.func @main(%x: tensor<1x16x16x16xf32>, %mask: tensor<1x1x32x32xf32>) -> tensor<1x32x32x32xf32> {{
  {constant("w0", 16, 16, 3, 3)}
  {constant("w1", 32, 32, 3, 3)}
  {conv("%a", "%x", "%w0", (1, 16, 16, 16), (16, 16, 3, 3))}
  %u = graph.resize %a mode "linear" coordinate "half_pixel" nearest_mode "floor" scales [1.0, 1.0, 2.0, 2.0] cubic_coeff -0.75 extrapolation 0.0 : (tensor<1x16x16x16xf32>) -> tensor<1x16x32x32xf32>
  %q = graph.pad %a pads [0, 0, 8, 8, 0, 0, 8, 8] mode "constant" : (tensor<1x16x16x16xf32>) -> tensor<1x16x32x32xf32>
  %c = graph.concat %u, %q axis -3 : (tensor<1x16x32x32xf32>, tensor<1x16x32x32xf32>) -> tensor<1x32x32x32xf32>
  {conv("%d", "%c", "%w1", (1, 32, 32, 32), (32, 32, 3, 3))}
  %e = graph.mul %mask, %d : (tensor<1x1x32x32xf32>, tensor<1x32x32x32xf32>) -> tensor<1x32x32x32xf32>
  func.return %e : tensor<1x32x32x32xf32>
}}"""
WEIGHTS = {
    "w0": (24, 3, 3, 3),
    "w1": (24, 1, 3, 3),
    "w2": (24, 24, 1, 1),
    "w3": (8, 24, 1, 1),
    "w4": (24, 8, 1, 1),
    "slope": (24, 1, 1),
}


def padded(target: str) -> ModuleOp:
    weights = {
        name: 0.3 * normal(*shape, seed=k) for k, (name, shape) in enumerate(WEIGHTS.items())
    }
    module = program(PADDED, **{name: w.astype(np.float32) for name, w in weights.items()})
    module.attributes["nn.target"] = StringAttr(target)
    return module


@pytest.mark.parametrize("target", ["x86-64-v4", "x86-64-v3", "x86-64-v2"])
def test_filled_up_channels_compute_the_same(target: str):
    module = padded(target)
    # Sums of a convolution are taken in another order: f32 rounding, about 1e-7 a term.
    assert_close(module, ChooseLayoutPass(), tolerance=1e-5)
    convs = [op for op in module.walk() if isinstance(op, graph.ConvOp)]
    assert len(convs) == 5
    assert all(op.layout is not None for op in convs)


def test_packing_leaves_transforms_at_the_borders_only():
    module = padded("x86-64-v4")
    assert_close(
        module, ChooseLayoutPass(), FoldConstantsPass(), CanonicalizePass(), tolerance=1e-5
    )
    assert op_names(module).count("graph.layout_transform") == 2  # for exp, for the [1, 24] result


def test_resize_pad_concat_and_a_mask_stay_inside():
    module = program(UNET, w0=normal(16, 16, 3, 3), w1=normal(32, 32, 3, 3, seed=1))
    assert_close(
        module, ChooseLayoutPass(), FoldConstantsPass(), CanonicalizePass(), tolerance=1e-5
    )
    assert op_names(module).count("graph.layout_transform") == 2  # of %x, and of the result


def test_filled_lanes_never_turn_a_result_into_nan():
    module = padded("x86-64-v4")
    inputs = [1e30 * array for array in inputs_of(module)]
    before = run(module, inputs)
    apply(module, ChooseLayoutPass())
    for left, right in zip(before, run(module, inputs), strict=True):
        np.testing.assert_array_equal(np.isnan(right), np.isnan(left))


def one_conv(edge: int, channels: int, size: int, group: int = 1) -> ModuleOp:
    """Return a lone convolution, as many filters as channels."""
    shape, weights = (1, channels, edge, edge), (channels, channels // group, size, size)
    text = f"""
      func.func @main(%x: tensor<1x{channels}x{edge}x{edge}xf32>) -> tensor<1x{channels}x{edge}x{edge}xf32> {{
        {constant("w", *weights)}
        {conv("%y", "%x", "%w", shape, weights, group)}
        func.return %y : tensor<1x{channels}x{edge}x{edge}xf32>
      }}"""
    return program(text, w=normal(*weights))


def test_a_region_that_does_not_gain_is_left_with_a_remark():
    module = one_conv(32, 16, 3, group=16)
    with collect_remarks() as remarks:
        apply(module, ChooseLayoutPass())
    assert op_names(module) == ["graph.conv"]
    assert remarks[0].text.startswith("not worth NCHW16c: 1 convolutions gain")


def test_rows_too_short_for_lanes_are_blocked():
    module = one_conv(7, 64, 3, group=64)
    assert_close(module, ChooseLayoutPass(), tolerance=1e-5)
    assert op_names(module).count("graph.layout_transform") == 3  # of the image, weights, result


def test_short_rows_of_whole_blocks_are_read_as_blocks():
    """A cache line holds a pixel's sixteen channels, or a row of seven of one channel."""
    module = one_conv(7, 64, 1)
    assert_close(module, ChooseLayoutPass(), tolerance=1e-5)
    assert [
        op.layout.data for op in module.walk() if isinstance(op, graph.ConvOp) and op.layout
    ] == ["NCHW16c"]


@pytest.mark.parametrize(
    ("size", "options", "plain"),
    [
        (1, {}, True),
        (3, {}, False),  # may become Winograd's
        (3, {"winograd": "off"}, True),
        (1, {"precision": "bf16"}, False),
    ],
)
def test_any_number_of_channels_is_read_from_a_plain_image(
    size: int, options: dict[str, Any], plain: bool
):
    module = one_conv(20, 48, size)
    assert_close(module, ChooseLayoutPass(**options), tolerance=1e-5)
    layouts = [op.layout.data for op in module.walk() if isinstance(op, graph.ConvOp) and op.layout]
    assert layouts == ["NCHW->NCHW16c" if plain else "NCHW16c"]


@pytest.mark.parametrize(
    ("channels", "group", "layouts"),
    [
        (64, 2, ["NCHW->NCHW16c", "NCHW16c"]),
        (96, 3, ["NCHW->NCHW16c", "NCHW16c"]),
        (64, 8, []),  # eight filters a group are half a block
    ],
)
def test_groups_of_whole_blocks_are_blocked(channels: int, group: int, layouts: list[str]):
    shape, weights = (1, channels, 20, 20), (channels, channels // group, 3, 3)
    type_ = f"tensor<1x{channels}x20x20xf32>"
    module = program(
        f"""
        func.func @main(%x: {type_}) -> {type_} {{
          {constant("w", *weights)}
          {conv("%y", "%x", "%w", shape, weights, group)}
          %r = graph.relu %y : {type_}
          {conv("%z", "%r", "%w", shape, weights, group)}
          func.return %z : {type_}
        }}""",
        w=normal(*weights) / 10,
    )
    assert_close(module, ChooseLayoutPass(), tolerance=1e-5)
    convs = [op for op in module.walk() if isinstance(op, graph.ConvOp)]
    assert [op.layout.data for op in convs if op.layout] == layouts


def test_a_group_may_have_one_channel_and_a_block_of_filters():
    text = f"""
      func.func @main(%x: tensor<1x4x9x9xf32>) -> tensor<1x64x9x9xf32> {{
        {constant("w", 64, 1, 3, 3)}
        {conv("%y", "%x", "%w", (1, 4, 9, 9), (64, 1, 3, 3), 4)}
        func.return %y : tensor<1x64x9x9xf32>
      }}"""
    module = program(text, w=normal(64, 1, 3, 3))
    assert_close(module, ChooseLayoutPass(), tolerance=1e-5)
    assert "graph.layout_transform" in op_names(module)
