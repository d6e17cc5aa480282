import math

import numpy as np
import pytest
from programs import apply, op_names, program

from nn_opt.compiler import compile
from nn_opt.passes.recognize_gelu import RecognizeGeluPass
from nn_opt.reference import run

ERF = """
func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
  %r = graph.constant dense<1.41421354> : tensor<f32>
  %one = graph.constant dense<1.0> : tensor<f32>
  %half = graph.constant dense<0.5> : tensor<f32>
  %a = graph.div %x, %r : (tensor<64xf32>, tensor<f32>) -> tensor<64xf32>
  %b = graph.erf %a : tensor<64xf32>
  %c = graph.add %b, %one : (tensor<64xf32>, tensor<f32>) -> tensor<64xf32>
  %h = graph.mul %x, %half : (tensor<64xf32>, tensor<f32>) -> tensor<64xf32>
  %y = graph.mul %h, %c : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  func.return %y : tensor<64xf32>
}"""
TANH = """
func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
  %k = graph.constant dense<0.044715> : tensor<f32>
  %s = graph.constant dense<0.7978846> : tensor<f32>
  %one = graph.constant dense<1.0> : tensor<f32>
  %half = graph.constant dense<0.5> : tensor<f32>
  %p = graph.mul %x, %x : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %q = graph.mul %p, %k : (tensor<64xf32>, tensor<f32>) -> tensor<64xf32>
  %t = graph.add %q, %one : (tensor<64xf32>, tensor<f32>) -> tensor<64xf32>
  %u = graph.mul %x, %t : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %d = graph.mul %u, %s : (tensor<64xf32>, tensor<f32>) -> tensor<64xf32>
  %e = graph.tanh %d : tensor<64xf32>
  %f = graph.add %e, %one : (tensor<64xf32>, tensor<f32>) -> tensor<64xf32>
  %h = graph.mul %half, %f : (tensor<f32>, tensor<64xf32>) -> tensor<64xf32>
  %y = graph.mul %h, %x : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  func.return %y : tensor<64xf32>
}"""
X = np.concatenate([np.linspace(-9, 9, 58), [0, -0.0, 1e3, -1e3, np.inf, np.nan]]).astype("f")


@pytest.mark.parametrize("text", [ERF, TANH], ids=["erf", "tanh"])
def test_formula_becomes_one_op_that_computes_it(text: str):
    module = program(text)
    (before,) = run(module, [X])
    apply(module, RecognizeGeluPass())
    assert op_names(module) == ["graph.gelu"]
    (after,) = run(module, [X])
    np.testing.assert_allclose(after, before, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("text", [ERF, TANH], ids=["erf", "tanh"])
def test_compiled_gelu_is_close_beside_its_argument(text: str, tmp_path):
    path = tmp_path / "gelu.mlir"
    path.write_text(text)
    x = X.astype(float)
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
    erf = np.vectorize(math.erf, otypes=[float])(x / math.sqrt(2))
    wanted = 0.5 * x * (1 + (erf if text is ERF else np.tanh(inner)))
    found = compile(path, cache=False)(X)
    # The approximation's 3.3e-7, halved, and two roundings: of x, not of the result.
    error = np.abs(found[:-2] - wanted[:-2]) / np.maximum(np.abs(x[:-2]), 1)
    assert error.max() < 3e-7
    assert found[-2] == np.inf
    assert np.isnan(found[-1])
    assert found[-3] == 0
