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


ROW = """
func.func @main(%q: tensor<{b}x1x{k}xf32>, %m: tensor<{b}x{n}x{k}xf32>) -> tensor<{b}x1x{n}xf32> {{
  %t = graph.transpose %m perm [0, 2, 1] : (tensor<{b}x{n}x{k}xf32>) -> tensor<{b}x{k}x{n}xf32>
  %y = graph.matmul %q, %t : (tensor<{b}x1x{k}xf32>, tensor<{b}x{k}x{n}xf32>) -> tensor<{b}x1x{n}xf32>
  func.return %y : tensor<{b}x1x{n}xf32>
}}"""  # noqa: E501


@pytest.mark.parametrize(("b", "n", "k"), [(1, 5, 32), (3, 17, 64), (2, 40, 333)])
def test_one_row_by_transposes_sums_along_rows(b: int, n: int, k: int):
    q, m = normal(b, 1, k), normal(b, n, k, seed=1)
    expected = q.astype(np.float64) @ m.transpose(0, 2, 1)
    module = program(ROW.format(b=b, n=n, k=k))
    apply(module, PackMatmulsPass())
    assert op_names(module) == ["graph.reshape", "graph.matmul", "graph.reshape"]
    np.testing.assert_allclose(run(module, [q, m])[0], expected, rtol=1e-5, atol=1e-4)
    compiled = compile(program(ROW.format(b=b, n=n, k=k)), cache=False)
    np.testing.assert_allclose(compiled(q, m), expected, rtol=1e-5, atol=1e-4)


def test_a_large_variable_is_packed_where_many_rows_share_it():
    text = """
func.func @main(%x: tensor<130x800xf32>, %w: tensor<800x801xf32>) -> tensor<130x801xf32> {
  %y = graph.matmul %x, %w : (tensor<130x800xf32>, tensor<800x801xf32>) -> tensor<130x801xf32>
  func.return %y : tensor<130x801xf32>
}"""
    module = program(text)
    apply(module, PackMatmulsPass())
    assert op_names(module) == ["graph.layout_transform", "graph.matmul"]
    x, w = normal(130, 800), normal(800, 801, seed=1)
    compiled = compile(program(text), cache=False)
    np.testing.assert_allclose(compiled(x, w), x.astype(np.float64) @ w, rtol=1e-5, atol=1e-3)
