import numpy as np
import pytest
from programs import assert_same, normal, op_names, program

from nn_opt.passes.canonicalize import CanonicalizePass
from nn_opt.passes.combine_products import CombineProductsPass

TEXT = """
func.func @main(%x: tensor<2x5x8xf32>) -> tensor<2x2x5x5xf32> {
  %w = graph.constant #graph.resource<"w"> : tensor<8x6xf32>
  %v = graph.constant #graph.resource<"v"> : tensor<8x6xf32>
  %b = graph.constant #graph.resource<"b"> : tensor<6xf32>
  %c = graph.constant #graph.resource<"c"> : tensor<6xf32>
  %s = graph.constant dense<0.5> : tensor<f32>
  %p = graph.matmul %x, %w : (tensor<2x5x8xf32>, tensor<8x6xf32>) -> tensor<2x5x6xf32>
  %r = graph.matmul %x, %v : (tensor<2x5x8xf32>, tensor<8x6xf32>) -> tensor<2x5x6xf32>
  BIAS
  %h = graph.mul %q, %s : (tensor<2x5x6xf32>, tensor<f32>) -> tensor<2x5x6xf32>
  %q4 = graph.reshape %h : (tensor<2x5x6xf32>) -> tensor<2x5x2x3xf32>
  %k4 = graph.reshape %k : (tensor<2x5x6xf32>) -> tensor<2x5x2x3xf32>
  %qt = graph.transpose %q4 perm [0, 2, 1, 3] : (tensor<2x5x2x3xf32>) -> tensor<2x2x5x3xf32>
  %kt = graph.transpose %k4 perm [0, 2, 3, 1] : (tensor<2x5x2x3xf32>) -> tensor<2x2x3x5xf32>
  %y = graph.matmul %qt, %kt : (tensor<2x2x5x3xf32>, tensor<2x2x3x5xf32>) -> tensor<2x2x5x5xf32>
  func.return %y : tensor<2x2x5x5xf32>
}"""
ADD = "%{0} = graph.add %{1}, %{2} : (tensor<2x5x6xf32>, tensor<6xf32>) -> tensor<2x5x6xf32>"
BOTH = ADD.format("q", "p", "b") + ADD.format("k", "r", "c")
NONE = "".join(
    f"%{y} = graph.mul %{x}, %s : (tensor<2x5x6xf32>, tensor<f32>) -> tensor<2x5x6xf32>"
    for y, x in (("q", "p"), ("k", "r"))
)
ONE = ADD.format("q", "p", "b") + NONE[NONE.index("%k") :]


@pytest.mark.parametrize(("bias", "products"), [(BOTH, 2), (NONE, 2), (ONE, 3)])
def test_results_are_the_same_bits(bias: str, products: int):
    weights = {name: normal(8, 6, seed=k) for k, name in enumerate("wv")}
    biases = {name: normal(6, seed=k) for k, name in enumerate("bc")}
    module = program(TEXT.replace("BIAS", bias), **weights, **biases)
    assert_same(module, CombineProductsPass())
    assert op_names(module).count("graph.matmul") == products


def test_a_slice_is_taken_behind_the_split_of_its_axis():
    module = program("""
func.func @main(%x: tensor<3x12x2xf32>) -> tensor<3x2x4x2xf32> {
  %p = graph.slice %x starts [0, 4, 0] sizes [3, 8, 2] steps [1, 1, 1]
    : (tensor<3x12x2xf32>) -> tensor<3x8x2xf32>
  %y = graph.reshape %p : (tensor<3x8x2xf32>) -> tensor<3x2x4x2xf32>
  func.return %y : tensor<3x2x4x2xf32>
}""")
    x = np.arange(72, dtype=np.float32).reshape(3, 12, 2)
    assert_same(module, CombineProductsPass(), inputs=[x])
    assert op_names(module) == ["graph.reshape", "graph.slice"]


def test_transpositions_meet_behind_a_view():
    """As torch writes keys: heads side by side, in one axis, and apart again."""
    module = program("""
func.func @main(%x: tensor<2x5x3x4xf32>) -> tensor<2x3x4x5xf32> {
  %h = graph.transpose %x perm [0, 2, 1, 3] : (tensor<2x5x3x4xf32>) -> tensor<2x3x5x4xf32>
  %f = graph.reshape %h : (tensor<2x3x5x4xf32>) -> tensor<6x5x4xf32>
  %t = graph.transpose %f perm [0, 2, 1] : (tensor<6x5x4xf32>) -> tensor<6x4x5xf32>
  %y = graph.reshape %t : (tensor<6x4x5xf32>) -> tensor<2x3x4x5xf32>
  func.return %y : tensor<2x3x4x5xf32>
}""")
    assert_same(module, CombineProductsPass(), CanonicalizePass())
    assert op_names(module) == ["graph.transpose"]


def test_a_transposition_of_regrouped_axes_stays():
    module = program("""
func.func @main(%x: tensor<2x4x3xf32>) -> tensor<4x2x3xf32> {
  %h = graph.transpose %x perm [0, 2, 1] : (tensor<2x4x3xf32>) -> tensor<2x3x4xf32>
  %f = graph.reshape %h : (tensor<2x3x4xf32>) -> tensor<2x4x3xf32>
  %y = graph.transpose %f perm [1, 0, 2] : (tensor<2x4x3xf32>) -> tensor<4x2x3xf32>
  func.return %y : tensor<4x2x3xf32>
}""")
    assert_same(module, CombineProductsPass())
    assert op_names(module) == ["graph.transpose", "graph.reshape", "graph.transpose"]
