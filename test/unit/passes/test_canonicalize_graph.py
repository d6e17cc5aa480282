# ruff: noqa: E501  (lines of IR)
import numpy as np
import pytest
from programs import assert_same, op_names, program

from nn_opt.dialects.graph.layouts import parse_layout
from nn_opt.passes.canonicalize import CanonicalizePass
from nn_opt.passes.canonicalize_layouts import memory_order

SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.5, -2.5, 1e-45], np.float32)

CASES = {
    "neutral": """
      %one = graph.constant dense<1.0> : tensor<f32>
      %zero = graph.constant dense<0.0> : tensor<f32>
      %minus = graph.constant dense<-0.0> : tensor<f32>
      %a = graph.mul %x, %one : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
      %b = graph.sub %a, %zero : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
      %c = graph.add %b, %minus : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
      %d = graph.div %c, %one : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
      %y = graph.pow %d, %one : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>""",
    "plus_zero_and_times_zero": """
      %zero = graph.constant dense<0.0> : tensor<f32>
      %a = graph.add %x, %zero : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
      %b = graph.mul %x, %zero : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
      %c = graph.sub %x, %x : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
      %d = graph.add %a, %b : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
      %y = graph.add %d, %c : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>""",
    "twice": """
      %a = graph.neg %x : tensor<8xf32>
      %b = graph.neg %a : tensor<8xf32>
      %c = graph.relu %b : tensor<8xf32>
      %d = graph.relu %c : tensor<8xf32>
      %e = graph.floor %d : tensor<8xf32>
      %y = graph.floor %e : tensor<8xf32>""",
    "square": """
      %two = graph.constant dense<2.0> : tensor<f32>
      %y = graph.pow %x, %two : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>""",
    "moves": """
      %a = graph.reshape %x : (tensor<8xf32>) -> tensor<1x2x4xf32>
      %b = graph.transpose %a perm [1, 0, 2] : (tensor<1x2x4xf32>) -> tensor<2x1x4xf32>
      %c = graph.transpose %b perm [2, 1, 0] : (tensor<2x1x4xf32>) -> tensor<4x1x2xf32>
      %e = graph.expand %c : (tensor<4x1x2xf32>) -> tensor<4x3x2xf32>
      %f = graph.add %e, %c : (tensor<4x3x2xf32>, tensor<4x1x2xf32>) -> tensor<4x3x2xf32>
      %s = graph.slice %f starts [0, 1, 0] sizes [4, 1, 2] steps [1, 1, 1] : (tensor<4x3x2xf32>) -> tensor<4x1x2xf32>
      %y = graph.reshape %s : (tensor<4x1x2xf32>) -> tensor<8xf32>""",
    "layouts": """
      %a = graph.reshape %x : (tensor<8xf32>) -> tensor<1x8x1x1xf32>
      %b = graph.layout_transform %a from "NCHW" to "NCHW4c" sizes [1, 8, 1, 1] : (tensor<1x8x1x1xf32>) -> tensor<1x2x1x1x4xf32>
      %c = graph.relu %b : tensor<1x2x1x1x4xf32>
      %d = graph.layout_transform %c from "NCHW4c" to "NCHW" sizes [1, 8, 1, 1] : (tensor<1x2x1x1x4xf32>) -> tensor<1x8x1x1xf32>
      %y = graph.reshape %d : (tensor<1x8x1x1xf32>) -> tensor<8xf32>""",
}  # fmt: skip


@pytest.mark.parametrize("body", CASES.values(), ids=CASES.keys())
def test_every_bit_of_special_numbers_is_kept(body: str):
    head, tail = (
        "func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {",
        "func.return %y : tensor<8xf32>}",
    )
    assert_same(program(f"{head}{body}\n{tail}"), CanonicalizePass(), inputs=[SPECIAL])


def test_pads_of_a_convolution_take_in_a_pad():
    module = program("""
      func.func @main(%x: tensor<1x2x5x4xf32>, %w: tensor<3x2x3x3xf32>) -> tensor<1x3x6x3xf32> {
        %p = graph.pad %x pads [0, 0, 1, 0, 0, 0, 2, 1] mode "constant" : (tensor<1x2x5x4xf32>) -> tensor<1x2x8x5xf32>
        %y = graph.conv %p, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 1 : (tensor<1x2x8x5xf32>, tensor<3x2x3x3xf32>) -> tensor<1x3x6x3xf32>
        func.return %y : tensor<1x3x6x3xf32>
      }""")  # fmt: skip
    assert_same(module, CanonicalizePass())
    assert op_names(module) == ["graph.conv"]


@pytest.mark.parametrize(
    ("source", "target", "sizes", "same"),
    [
        ("NCHW", "NCHW16c", (1, 32, 1, 1), True),
        ("NCHW", "NCHW16c", (1, 32, 2, 1), False),
        ("NCHW", "NCHW16c", (1, 16, 1, 1), True),
        ("C", "C16c", (32,), True),
        ("OIHW", "OIHW4i4o", (4, 4, 1, 1), False),
        ("OIHW", "OIHW4i4o", (4, 1, 3, 1), False),
    ],
)
def test_memory_order_tells_which_transforms_move_nothing(
    source: str, target: str, sizes: tuple[int, ...], same: bool
):
    old, new = parse_layout(source), parse_layout(target)
    named = dict(zip(old.axes, sizes, strict=True))
    assert (memory_order(old, new, named) == memory_order(new, new, named)) == same
