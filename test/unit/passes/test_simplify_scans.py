"""Scans compute the same after --simplify-scans, and do less in a step."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import nn_opt
from nn_opt.dialects import graph
from nn_opt.ir.parsing import make_context
from nn_opt.ir.types import element_type, numpy_dtype, shape_of
from nn_opt.passes.simplify_scans import SimplifyScansPass
from nn_opt.reference.running import run

PARTS = (Path(__file__).parents[2] / "lit/passes/simplify-scans.mlir").read_text().split("// -----")
NESTED = """
func.func @main(%h: tensor<3xf32>, %xs: tensor<4x2x3xf32>, %k: tensor<3x3xf32>) -> tensor<3xf32> {
  %r = graph.scan (%s = %h : tensor<3xf32>) over (%x = %xs : tensor<4x2x3xf32>) -> (tensor<3xf32>) {
    %q = graph.scan (%t = %s : tensor<3xf32>) over (%y = %x : tensor<2x3xf32>) -> (tensor<3xf32>) {
      %w = graph.tanh %k : tensor<3x3xf32>
      %p = graph.matmul %y, %w : (tensor<3xf32>, tensor<3x3xf32>) -> tensor<3xf32>
      %n = graph.add %t, %p : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
      graph.yield %n : tensor<3xf32>
    }
    graph.yield %q : tensor<3xf32>
  }
  func.return %r : tensor<3xf32>
}"""


def simplified(module: ModuleOp) -> ModuleOp:
    copy = module.clone()
    SimplifyScansPass().apply(make_context(), copy)
    copy.verify()
    return copy


@pytest.mark.parametrize("text", [*PARTS, NESTED], ids=range(len(PARTS) + 1))
def test_results_stay(text: str) -> None:
    name = text.split("func.func @")[1].split("(")[0]
    module = nn_opt.parse(text.replace(f"@{name}(", "@main("))
    (main,) = module.ops
    rng = np.random.default_rng(1)
    inputs = [
        rng.standard_normal(shape_of(argument)).astype(numpy_dtype(element_type(argument)))
        for argument in main.body.block.args
    ]
    after = run(simplified(module), inputs)
    for got, want in zip(after, run(module, inputs), strict=True):
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        np.testing.assert_allclose(got, want, rtol=1e-6)


def test_products_leave_scans_in_scans() -> None:
    module = simplified(nn_opt.parse(NESTED))
    scans = [op for op in module.walk() if isinstance(op, graph.ScanOp)]
    assert len(scans) == 2
    assert not any(isinstance(op, graph.MatmulOp | graph.TanhOp) for op in scans[0].walk())
