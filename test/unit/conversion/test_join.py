"""Concatenations between kernels: the whole is written part by part, in place."""

import numpy as np

import nn_opt
from nn_opt.ir.parsing import make_context, parse_module
from nn_opt.reference import run

# %a is read behind the join, too; %x is no kernel's, so that join is a kernel of its own.
TEXT = """
func.func @main(%x: tensor<1x2x5xf32>) -> (tensor<1x5x5xf32>, tensor<1x2x5xf32>, tensor<1x7x5xf32>) {
  %a = graph.relu %x : tensor<1x2x5xf32>
  %s = graph.reduce %x kind "sum" axes [1] keepdims : (tensor<1x2x5xf32>) -> tensor<1x1x5xf32>
  %b = graph.tanh %x : tensor<1x2x5xf32>
  %y = graph.concat %a, %s, %b axis 1 : (tensor<1x2x5xf32>, tensor<1x1x5xf32>, tensor<1x2x5xf32>) -> tensor<1x5x5xf32>
  %z = graph.neg %y : tensor<1x5x5xf32>
  %c = graph.exp %a : tensor<1x2x5xf32>
  %u = graph.concat %z, %x axis 1 : (tensor<1x5x5xf32>, tensor<1x2x5xf32>) -> tensor<1x7x5xf32>
  func.return %z, %c, %u : tensor<1x5x5xf32>, tensor<1x2x5xf32>, tensor<1x7x5xf32>
}
"""  # noqa: E501


def expected(x):
    y = np.concatenate([np.maximum(x, 0), x.sum(axis=1, keepdims=True), np.tanh(x)], axis=1)
    return -y, np.exp(np.maximum(x, 0)), np.concatenate([-y, x], axis=1)


def test_compiled_join_is_the_concatenation():
    module = parse_module(make_context(), TEXT, "join.mlir")
    x = np.random.default_rng(3).standard_normal((1, 2, 5), np.float32)
    results = nn_opt.compile(module, cache=False, threads=1).run({"arg0": x})
    for result, wanted in zip(results.values(), expected(x.astype(np.float64)), strict=True):
        np.testing.assert_allclose(result, wanted, rtol=1e-6, atol=1e-6)


JOIN = """
func.func @main(%a: tensor<2x3xf32>, %b: tensor<1x3xf32>) -> tensor<9xf32> {
  %y = tensor.join %a, %b : tensor<2x3xf32>, tensor<1x3xf32> to tensor<9xf32>
  func.return %y : tensor<9xf32>
}
"""


def test_interpreter_lays_parts_behind_each_other():
    module = parse_module(make_context(), JOIN, "join.mlir")
    a, b = np.arange(6, dtype=np.float32).reshape(2, 3), np.full((1, 3), 7, np.float32)
    (result,) = run(module, [a, b])
    np.testing.assert_array_equal(result, [0, 1, 2, 3, 4, 5, 7, 7, 7])
