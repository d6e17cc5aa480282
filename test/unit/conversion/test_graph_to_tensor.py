"""Whole programs, constants and refusals on the way from graph to tensor."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from random_arrays import BF16, F32, I64, U8, normal, whole
from single_op import assert_equal, convert, module_of
from xdsl.builder import ImplicitBuilder
from xdsl.dialects import arith
from xdsl.ir import Block, Region
from xdsl.utils.exceptions import PassFailedException

from nn_opt.conversion.graph_to_tensor import ConvertGraphToTensorPass
from nn_opt.conversion.to_tensor.control import CONVERTERS, STRUCTURE
from nn_opt.dialects import graph, tensor
from nn_opt.ir.parsing import make_context, parse_module
from nn_opt.ir.types import element_type, shape_of, tensor_type


@pytest.mark.parametrize("reverse", [False, True])
def test_scans_read_values_from_around_them(reverse):
    def build(h, xs, w):
        state, row = h.type, tensor_type(shape_of(xs)[1:], element_type(xs))
        block = Block(arg_types=[state, row])
        with ImplicitBuilder(block) as (s, x):
            new = graph.TanhOp(graph.AddOp(graph.MatmulOp(s, w).result, x).result).result
            graph.YieldOp(new, graph.NegOp(new).result)
        return graph.ScanOp([h], [xs], Region(block), reverse)

    assert_equal(build, normal(2, 3), normal(5, 2, 3, seed=1), normal(3, 3, seed=2))


@pytest.mark.parametrize("dtype", [F32, U8, np.uint64, bool, BF16, I64])
def test_constants_keep_their_bits(dtype):
    big, small = whole(0, 200, 5, 6).astype(dtype), np.array([1, 0, 200]).astype(dtype)
    assert_equal(lambda: graph.ConstantOp(big))
    assert_equal(lambda: graph.ConstantOp(small))


def test_every_graph_op_has_a_rule():
    ruled = {*CONVERTERS, *(op.name for op in STRUCTURE)}
    assert {op.name for op in graph.Graph.operations} <= ruled


def test_the_entry_function_keeps_its_dtypes():
    module = module_of(graph.LessOp, np.zeros(3, U8), np.zeros(3, U8))
    (main,) = convert(module).ops
    assert str(main.attributes["arg_dtypes"]) == '["uint8", "uint8"]'
    assert str(main.attributes["result_dtypes"]) == '["bool"]'


def test_a_convolution_sums_nothing_but_products():
    fields: dict[str, Any] = {"strides": [1, 1], "pads": [1] * 4, "dilations": [1, 1]}
    module = module_of(
        lambda x, w, b: graph.ConvOp(x, w, b, **fields),
        normal(1, 3, 5, 5),
        normal(2, 3, 3, 3),
        normal(2),
    )
    conv, bias = (op for op in convert(module).walk() if isinstance(op, tensor.ComputeOp))
    kinds = [type(op) for op in conv.body.block.ops]
    assert kinds == [tensor.ReadOp, tensor.ReadOp, arith.MulfOp, tensor.YieldOp]
    assert (conv.stage.data, bias.stage.data) == ("conv", "bias")


def failure(text: str) -> str:
    module = parse_module(make_context(), text, "test.mlir")
    with pytest.raises(PassFailedException) as caught:
        ConvertGraphToTensorPass().apply(make_context(), module)
    return str(caught.value)


def test_a_region_that_is_not_outlined_says_what_to_run():
    message = failure("""
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.fused (%a = %x : tensor<4xf32>) -> (tensor<4xf32>) {
    graph.yield %a : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}""")
    assert "test.mlir:3:" in message
    assert "run --outline-kernels before" in message


def test_an_unknown_size_is_refused_where_it_is():
    message = failure("""
func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  %y = graph.relu %x : tensor<?xf32>
  func.return %y : tensor<?xf32>
}""")
    assert "test.mlir:3:" in message
    assert "tensor<?xf32> is unknown" in message


def test_locations_go_on_to_what_an_op_becomes():
    text = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.softmax %x axis 0 : tensor<4xf32>
  func.return %y : tensor<4xf32>
}"""
    module = convert(parse_module(make_context(), text, "test.mlir"))
    stages = [op for op in module.walk() if isinstance(op, tensor.ComputeOp)]
    assert [op.location.line.data for op in stages] == [3, 3, 3, 3, 3]
