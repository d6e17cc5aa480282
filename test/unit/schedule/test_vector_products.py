"""A vector times a matrix with rows of whole pages: row by row, the same numbers."""

import numpy as np
import pytest

import nn_opt
from nn_opt.build import level_text
from nn_opt.ir.parsing import make_context, parse_module

PRODUCT = """
func.func @main(%x: tensor<1x{k}xf32>, %w: tensor<{k}x{n}xf32>, %b: tensor<{n}xf32>) -> tensor<1x{n}xf32> {{
  %p = graph.matmul %x, %w : (tensor<1x{k}xf32>, tensor<{k}x{n}xf32>) -> tensor<1x{n}xf32>
  %s = graph.add %p, %b : (tensor<1x{n}xf32>, tensor<{n}xf32>) -> tensor<1x{n}xf32>
  %y = graph.relu %s : tensor<1x{n}xf32>
  func.return %y : tensor<1x{n}xf32>
}}"""  # noqa: E501


def loops_of(k: int, n: int) -> list[str]:
    """Return the heads of the loops around the sum, outermost first."""
    module = parse_module(make_context(), PRODUCT.format(k=k, n=n), "t.mlir")
    text = level_text(module, "x86-64-v4", "loop")
    before = text[: text.index('loop.block "matmul" ')]
    heads = [line.strip() for line in before.splitlines() if "loop.for" in line]
    return [head.split("= 0 to ")[1].rstrip(" {") for head in heads[-4:]]


def test_rows_of_pages_are_added_one_after_the_other():
    assert loops_of(24, 2048) == ["24", "32", "4 unroll", "16 vector"]


def test_other_rows_are_summed_in_registers():
    assert loops_of(24, 2032)[-2:] == ["8 unroll", "16 vector"]
    assert loops_of(24, 1024)[-2:] == ["8 unroll", "16 vector"]


@pytest.mark.parametrize(("k", "n"), [(24, 2048), (7, 3072), (3, 17408)])
def test_results(k: int, n: int):
    rng = np.random.default_rng(k)
    x, w, b = (rng.standard_normal(shape).astype(np.float32) for shape in ((1, k), (k, n), (n,)))
    module = parse_module(make_context(), PRODUCT.format(k=k, n=n), "t.mlir")
    result = nn_opt.compile(module, threads=2, cache=False)(x, w, b)
    expected = np.maximum(x.astype(np.float64) @ w + b, 0)
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)


def test_long_numbers_are_summed_in_registers():
    module = parse_module(make_context(), PRODUCT.format(k=24, n=2048).replace("f32", "f64"), "t")
    assert "= 0 to 8 vector" in level_text(module, "x86-64-v4", "loop")
