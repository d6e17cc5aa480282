# ruff: noqa: E501  (lines of IR)
from dataclasses import dataclass

import pytest
from programs import apply, assert_close, normal, op_names, program

from nn_opt.dialects.graph.shapes import conv_transpose_shape
from nn_opt.passes.unfold_conv_transpose import UnfoldConvTransposePass


@dataclass(frozen=True)
class Case:
    x: tuple[int, ...]
    w: tuple[int, ...]
    strides: tuple[int, ...]
    pads: tuple[int, ...] = (0, 0, 0, 0)
    dilations: tuple[int, ...] = (1, 1)
    group: int = 1
    more: tuple[int, ...] = (0, 0)


CASES = {
    "stride_is_kernel": Case((1, 3, 4, 5), (3, 2, 2, 2), (2, 2)),
    "overlapping_and_cropped": Case((2, 3, 4, 5), (3, 2, 4, 4), (2, 2), (1, 1, 1, 1)),
    "odd_kernel": Case((1, 3, 4, 5), (3, 2, 3, 3), (2, 2), (1, 1, 1, 1), more=(1, 1)),
    "unlike_axes": Case((1, 2, 5, 3), (2, 3, 3, 5), (3, 2), (1, 2, 0, 1), more=(2, 0)),
    "stride_one": Case((1, 2, 5, 6), (2, 3, 3, 3), (1, 1), (1, 1, 1, 1)),
    "dilated": Case((1, 2, 5, 6), (2, 3, 3, 2), (1, 2), (1, 0, 1, 0), (2, 2)),
    "grouped": Case((1, 4, 3, 3), (4, 3, 2, 2), (2, 2), group=2),
    "one_axis": Case((1, 3, 7), (3, 2, 4), (2,), (1, 1), (1,), more=(0,)),
}


def text_of(case: Case) -> str:
    shape = conv_transpose_shape(
        case.x, case.w, case.strides, case.pads, case.dilations, case.group, case.more
    )
    x, w, y, b = (
        f"tensor<{'x'.join(map(str, s))}xf32>" for s in (case.x, case.w, shape, (shape[1],))
    )
    attributes = (
        f"strides {list(case.strides)} pads {list(case.pads)} dilations {list(case.dilations)} "
        f"group {case.group} output_padding {list(case.more)}"
    )
    return f"""
func.func @main(%x: {x}) -> {y} {{
  %w = graph.constant #graph.resource<"w"> : {w}
  %b = graph.constant #graph.resource<"b"> : {b}
  %y = graph.conv_transpose %x, %w, %b {attributes} : ({x}, {w}, {b}) -> {y}
  func.return %y : {y}
}}"""


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_places_side_by_side_are_the_transposed_convolution(case: Case):
    filters = case.w[1] * case.group
    module = program(text_of(case), w=normal(*case.w), b=normal(filters, seed=1))
    assert_close(module, UnfoldConvTransposePass())
    names = op_names(module)
    assert names[0] == "graph.conv"
    assert "graph.conv_transpose" not in names


UNARY = """
func.func @main(%x: tensor<1x3x4x4xf32>) -> (tensor<1x2x8x8xf32>, tensor<1x2x8x8xf32>) {
  %w = graph.constant #graph.resource<"w"> : tensor<3x2x2x2xf32>
  %y = graph.conv_transpose %x, %w strides [2, 2] pads [0, 0, 0, 0] dilations [1, 1] group 1 output_padding [0, 0] : (tensor<1x3x4x4xf32>, tensor<3x2x2x2xf32>) -> tensor<1x2x8x8xf32>
  %r = graph.relu %y : tensor<1x2x8x8xf32>
  %t = graph.tanh %r : tensor<1x2x8x8xf32>
  %n = graph.neg %t : tensor<1x2x8x8xf32>
  func.return %t, %n : tensor<1x2x8x8xf32>, tensor<1x2x8x8xf32>
}"""


def test_unary_readers_go_before_the_pixels_move():
    module = program(UNARY, w=normal(3, 2, 2, 2))
    assert_close(module, UnfoldConvTransposePass())
    moves = ["graph.reshape", "graph.transpose", "graph.reshape"]
    assert op_names(module) == ["graph.conv", "graph.relu", "graph.tanh", *moves, "graph.neg"]


SPARSE = Case((1, 2, 3, 3), (2, 2, 1, 1), (3, 3))  # 9 filters for one that is not zero


def test_mostly_zero_filters_are_not_made():
    module = program(text_of(SPARSE), w=normal(*SPARSE.w), b=normal(2))
    apply(module, UnfoldConvTransposePass())
    assert op_names(module) == ["graph.conv_transpose"]


def test_weights_known_at_run_time_stay():
    text = text_of(CASES["stride_is_kernel"])
    w = '  %w = graph.constant #graph.resource<"w"> : tensor<3x2x2x2xf32>\n'
    text = text.replace(w, "").replace("xf32>) ->", "xf32>, %w: tensor<3x2x2x2xf32>) ->", 1)
    module = program(text, b=normal(2))
    apply(module, UnfoldConvTransposePass())
    assert op_names(module) == ["graph.conv_transpose"]
