# ruff: noqa: E501  (lines of IR)
import numpy as np
from programs import apply, assert_close, normal, op_names, program

from nn_opt.passes.simplify_inference import SimplifyInferencePass
from nn_opt.reference import run

CONSTANT = """
func.func @main(%x: tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32> {
  %s = graph.constant #graph.resource<"s"> : tensor<4xf32>
  %b = graph.constant #graph.resource<"b"> : tensor<4xf32>
  %m = graph.constant #graph.resource<"m"> : tensor<4xf32>
  %v = graph.constant #graph.resource<"v"> : tensor<4xf32>
  %d = graph.dropout %x : tensor<2x4x3x5xf32>
  %y = graph.batch_norm %d, %s, %b, %m, %v epsilon 1.0e-5 : (tensor<2x4x3x5xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x3x5xf32>
  func.return %y : tensor<2x4x3x5xf32>
}"""
VARIABLE = """
func.func @main(%x: tensor<2x4xf32>, %s: tensor<4xf32>, %b: tensor<4xf32>, %m: tensor<4xf32>, %u: tensor<4xf32>) -> tensor<2x4xf32> {
  %v = graph.exp %u : tensor<4xf32>
  %y = graph.batch_norm %x, %s, %b, %m, %v epsilon 1.0e-3 : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  func.return %y : tensor<2x4xf32>
}"""


def test_folded_statistics_compute_what_batch_norm_means():
    s, b, m = (normal(4, seed=k) for k in range(3))
    v = np.abs(normal(4, seed=3)) + np.float32(0.5)
    module = program(CONSTANT, s=s, b=b, m=m, v=v)
    apply(module, SimplifyInferencePass())
    assert op_names(module) == ["graph.mul", "graph.add"]
    x = normal(2, 4, 3, 5, seed=4)
    wide = [array.astype(np.float64).reshape(4, 1, 1) for array in (s, b, m, v)]
    expected = wide[0] * (x - wide[2]) / np.sqrt(wide[3] + 1e-5) + wide[1]
    np.testing.assert_allclose(run(module, [x])[0], expected, rtol=1e-5, atol=1e-6)


def test_statistics_known_at_run_time():
    module = program(VARIABLE)
    assert_close(module, SimplifyInferencePass())
    assert "graph.batch_norm" not in op_names(module)
