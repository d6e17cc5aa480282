# ruff: noqa: E501  (lines of IR)
import numpy as np
import pytest
from programs import apply, assert_close, normal, op_names, program

from nn_opt.dialects import graph
from nn_opt.passes.dce import DcePass
from nn_opt.passes.fold_scale_axis import FoldScaleAxisPass
from nn_opt.reference import run

CONV = """
func.func @main(%x: tensor<2x4x6x6xf32>) -> tensor<2x6x6x6xf32> {
  %w = graph.constant #graph.resource<"w"> : tensor<6x2x3x3xf32>
  %b = graph.constant #graph.resource<"b"> : tensor<6xf32>
  %s = graph.constant #graph.resource<"s"> : tensor<6x1x1xf32>
  %t = graph.constant #graph.resource<"t"> : tensor<1x6x1x1xf32>
  %two = graph.constant dense<2.0> : tensor<f32>
  %c = graph.conv %x, %w, %b strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] group 2 : (tensor<2x4x6x6xf32>, tensor<6x2x3x3xf32>, tensor<6xf32>) -> tensor<2x6x6x6xf32>
  %m = graph.mul %s, %c : (tensor<6x1x1xf32>, tensor<2x6x6x6xf32>) -> tensor<2x6x6x6xf32>
  %a = graph.add %m, %t : (tensor<2x6x6x6xf32>, tensor<1x6x1x1xf32>) -> tensor<2x6x6x6xf32>
  %d = graph.div %a, %two : (tensor<2x6x6x6xf32>, tensor<f32>) -> tensor<2x6x6x6xf32>
  %y = graph.sub %t, %d : (tensor<1x6x1x1xf32>, tensor<2x6x6x6xf32>) -> tensor<2x6x6x6xf32>
  func.return %y : tensor<2x6x6x6xf32>
}"""
TRANSPOSED = """
func.func @main(%x: tensor<1x4x3x3xf32>) -> tensor<1x6x5x5xf32> {
  %w = graph.constant #graph.resource<"w"> : tensor<4x3x3x3xf32>
  %s = graph.constant #graph.resource<"s"> : tensor<6x1x1xf32>
  %t = graph.constant #graph.resource<"t"> : tensor<6x1x1xf32>
  %c = graph.conv_transpose %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 2 output_padding [0, 0] : (tensor<1x4x3x3xf32>, tensor<4x3x3x3xf32>) -> tensor<1x6x5x5xf32>
  %m = graph.mul %c, %s : (tensor<1x6x5x5xf32>, tensor<6x1x1xf32>) -> tensor<1x6x5x5xf32>
  %y = graph.sub %m, %t : (tensor<1x6x5x5xf32>, tensor<6x1x1xf32>) -> tensor<1x6x5x5xf32>
  func.return %y : tensor<1x6x5x5xf32>
}"""
MATMUL = """
func.func @main(%x: tensor<2x3x4xf32>) -> tensor<2x3x5xf32> {
  %w = graph.constant #graph.resource<"w"> : tensor<4x5xf32>
  %t = graph.constant #graph.resource<"t"> : tensor<5xf32>
  %two = graph.constant dense<2.0> : tensor<f32>
  %c = graph.matmul %x, %w : (tensor<2x3x4xf32>, tensor<4x5xf32>) -> tensor<2x3x5xf32>
  %a = graph.add %t, %c : (tensor<5xf32>, tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
  %y = graph.div %a, %two : (tensor<2x3x5xf32>, tensor<f32>) -> tensor<2x3x5xf32>
  func.return %y : tensor<2x3x5xf32>
}"""


def test_a_chain_after_a_grouped_convolution_goes_into_weights_and_bias():
    weights = {
        "w": normal(6, 2, 3, 3),
        "b": normal(6, seed=1),
        "s": normal(6, 1, 1, seed=2),
        "t": normal(1, 6, 1, 1, seed=3),
    }
    module = program(CONV, **weights)
    assert_close(module, FoldScaleAxisPass(), DcePass())
    assert op_names(module) == ["graph.conv"]
    # The weights are products of float64 rounded once: exact to half a unit in the last place.
    w, s = weights["w"].astype(np.float64), weights["s"].astype(np.float64)
    constants = [op.array() for op in module.walk() if isinstance(op, graph.ConstantOp)]
    (folded,) = [array for array in constants if array.ndim == 4]
    np.testing.assert_array_equal(folded, (w * -s[:, None] / 2).astype(np.float32))


def test_filters_of_a_transposed_convolution_lie_on_axis_one_of_each_group():
    module = program(
        TRANSPOSED, w=normal(4, 3, 3, 3), s=normal(6, 1, 1, seed=2), t=normal(6, 1, 1, seed=3)
    )
    assert_close(module, FoldScaleAxisPass(), DcePass())
    assert op_names(module) == ["graph.conv_transpose"]


def test_a_scale_after_a_bias_reaches_both():
    module = program(MATMUL, w=normal(4, 5), t=normal(5, seed=1))
    assert_close(module, FoldScaleAxisPass(), DcePass())
    assert op_names(module) == ["graph.matmul", "graph.add"]


@pytest.mark.parametrize("divisor", [0.0, np.inf])
def test_a_factor_without_an_inverse_is_left(divisor: float):
    text = MATMUL.replace("dense<2.0> : tensor<f32>", '#graph.resource<"z"> : tensor<f32>')
    module = program(text, w=normal(4, 5), t=normal(5), z=np.array(divisor, np.float32))
    x = [normal(2, 3, 4)]
    with np.errstate(all="ignore"):
        before = run(module, x)
        apply(module, FoldScaleAxisPass())
        np.testing.assert_array_equal(run(module, x)[0], before[0])
