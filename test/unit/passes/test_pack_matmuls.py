import numpy as np
import pytest
from programs import apply, normal, op_names, program

from nn_opt.compiler import compile
from nn_opt.passes.fold_constants import FoldConstantsPass
from nn_opt.passes.pack_matmuls import PackMatmulsPass
from nn_opt.reference import run

TEXT = """
func.func @main(%x: tensor<{m}x160xf32>, %b: tensor<{n}xf32>) -> tensor<{m}x{n}xf32> {{
  %w = graph.constant #graph.resource<"w"> : tensor<160x{n}xf32>
  %p = graph.matmul %x, %w : (tensor<{m}x160xf32>, tensor<160x{n}xf32>) -> tensor<{m}x{n}xf32>
  %y = graph.add %p, %b : (tensor<{m}x{n}xf32>, tensor<{n}xf32>) -> tensor<{m}x{n}xf32>
  func.return %y : tensor<{m}x{n}xf32>
}}"""


@pytest.mark.parametrize(("m", "n"), [(3, 96), (17, 80), (64, 128), (1, 130), (9, 101)])
def test_packed_weights_compute_the_same(m: int, n: int):
    w, x, b = normal(160, n), normal(m, 160, seed=1), normal(n, seed=2)
    expected = x.astype(np.float64) @ w + b
    module = program(TEXT.format(m=m, n=n), w=w)
    apply(module, PackMatmulsPass(), FoldConstantsPass())
    assert op_names(module) == ["graph.matmul", "graph.add"]
    np.testing.assert_allclose(run(module, [x, b])[0], expected, rtol=1e-5, atol=1e-4)
    compiled = compile(program(TEXT.format(m=m, n=n), w=w), cache=False)
    np.testing.assert_allclose(compiled(x, b), expected, rtol=1e-5, atol=1e-4)
