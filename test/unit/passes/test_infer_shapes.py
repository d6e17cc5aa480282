import pytest
from programs import apply, op_names, program
from xdsl.dialects.builtin import FunctionType
from xdsl.dialects.func import FuncOp
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import PassFailedException

from nn_opt.ir.types import element_type, shape_of, tensor_type
from nn_opt.passes.infer_shapes import InferShapesPass
from nn_opt.reference import entry_function

MLP = """
func.func @main(%x: tensor<?x4xf32>, %w: tensor<4x8xf32>) -> tensor<?x8xf32> {
  %m = graph.matmul %x, %w : (tensor<?x4xf32>, tensor<4x8xf32>) -> tensor<?x8xf32>
  %y = graph.relu %m : tensor<?x8xf32>
  func.return %y : tensor<?x8xf32>
}"""


def specialise(function: FuncOp, *shape: int) -> None:
    argument = function.body.block.args[0]
    Rewriter.replace_value_with_new_type(argument, tensor_type(shape, element_type(argument)))
    inputs = [a.type for a in function.body.block.args]
    function.function_type = FunctionType.from_lists(inputs, function.function_type.outputs.data)


def test_a_batch_size_given_to_the_argument_reaches_the_result():
    module = program(MLP)
    specialise(entry_function(module), 3, 4)
    apply(module, InferShapesPass())
    assert shape_of(entry_function(module).function_type.outputs.data[0]) == (3, 8)
    assert op_names(module) == ["graph.matmul", "graph.relu"]


def test_operands_that_do_not_fit_are_named():
    module = program(MLP)
    specialise(entry_function(module), 3, 5)
    with pytest.raises(PassFailedException, match=r"test.mlir:3:\d+: error: graph.matmul: "):
        InferShapesPass().apply(None, module)  # pyright: ignore[reportArgumentType]


def test_regions_follow_their_operands():
    module = program("""
      func.func @main(%x: tensor<2x?xf32>) -> tensor<2x?xf32> {
        %y = graph.fused (%a = %x : tensor<2x?xf32>) -> (tensor<2x?xf32>) {
          %r = graph.relu %a : tensor<2x?xf32>
          graph.yield %r : tensor<2x?xf32>
        }
        func.return %y : tensor<2x?xf32>
      }""")
    specialise(entry_function(module), 2, 7)
    apply(module, InferShapesPass())
    assert shape_of(entry_function(module).function_type.outputs.data[0]) == (2, 7)
