"""Arithmetic of kernels, counted by hand."""

from __future__ import annotations

import pytest

import nn_opt
from nn_opt.build import main_of
from nn_opt.kernels import block_flops, kernels_of

CASES = {
    # 2 * 16 * 6 * 6 results, each of 8 * 3 * 3 products
    "conv": (
        "%y = graph.conv %a, %b strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 1",
        ("2x8x8x8xf32", "16x8x3x3xf32"),
        "2x16x6x6xf32",
        2 * 2 * 16 * 6 * 6 * 8 * 3 * 3,
    ),
    # depthwise: 3 * 3 products a result
    "depthwise": (
        "%y = graph.conv %a, %b strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] group 8",
        ("1x8x8x8xf32", "8x1x3x3xf32"),
        "1x8x8x8xf32",
        2 * 8 * 8 * 8 * 9,
    ),
    "matmul": (
        "%y = graph.matmul %a, %b",
        ("5x2x3xf32", "3x4xf32"),
        "5x2x4xf32",
        2 * 5 * 2 * 4 * 3,
    ),
    "add": ("%y = graph.add %a, %b", ("2x3xf32", "3xf32"), "2x3xf32", 6),
    "relu": ("%y = graph.relu %a", ("2x3xf32",), "2x3xf32", 6),
    "softmax": ("%y = graph.softmax %a axis 1", ("2x3xf32",), "2x3xf32", 24),
    "transpose": ("%y = graph.transpose %a perm [1, 0]", ("2x3xf32",), "3x2xf32", 0),
}


@pytest.mark.parametrize("name", CASES)
def test_one_op(name):
    text, operands, result, flops = CASES[name]
    types = [f"tensor<{t}>" for t in operands]
    arguments = ", ".join(f"%{letter}: {t}" for letter, t in zip("ab", types, strict=False))
    same = types == [f"tensor<{result}>"]
    types_text = types[0] if same else f"({', '.join(types)}) -> tensor<{result}>"
    module = nn_opt.parse(
        f"func.func @main({arguments}) -> tensor<{result}> {{\n"
        f"  {text} : {types_text}\n  func.return %y : tensor<{result}>\n}}\n"
    )
    assert block_flops(main_of(module).body.block) == flops


def test_a_blocked_convolution_counts_as_the_plain_one():
    module = nn_opt.parse("""
    func.func @main(%x: tensor<1x2x8x8x16xf32>, %w: tensor<3x2x3x3x16x16xf32>)
        -> tensor<1x3x6x6x16xf32> {
      %y = "graph.conv"(%x, %w) <{
        strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>,
        group = 1 : i64, layout = "NCHW16c", weight_layout = "OIHW16i16o"
      }> : (tensor<1x2x8x8x16xf32>, tensor<3x2x3x3x16x16xf32>) -> tensor<1x3x6x6x16xf32>
      func.return %y : tensor<1x3x6x6x16xf32>
    }
    """)
    assert block_flops(main_of(module).body.block) == 2 * 48 * 6 * 6 * 32 * 9


def test_each_call_has_a_row_and_a_scan_multiplies():
    module = nn_opt.parse("""
    func.func private @k(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
      %z = graph.add %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      func.return %z : tensor<4xf32>
    }
    func.func @main(%h: tensor<4xf32>, %xs: tensor<9x4xf32>) -> tensor<4xf32> {
      %a = func.call @k(%h, %h) {nn.nodes = ["n1", "n2"]}
          : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %b = graph.scan (%s = %a : tensor<4xf32>) over (%x = %xs : tensor<9x4xf32>)
          -> (tensor<4xf32>) {
        %c = func.call @k(%s, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
        graph.yield %c : tensor<4xf32>
      }
      func.return %b : tensor<4xf32>
    }
    """)
    rows = [(row.name, row.nodes, row.flops) for row in kernels_of(module)]
    assert rows == [("k", ("n1", "n2"), 4), ("k", ("<text>:11",), 36)]
