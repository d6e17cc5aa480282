import numpy as np
import pytest
from tensor_kernels import KERNELS, apply, assert_results, parse
from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerAttr, NameLoc, StringAttr, UnknownLoc
from xdsl.utils.exceptions import PassFailedException

from nn_opt.conversion.tensor_to_loop import ConvertTensorToLoopPass
from nn_opt.dialects import loop
from nn_opt.reference.running import run


@pytest.mark.parametrize("name", KERNELS)
def test_loops_compute_what_the_formulas_mean(name: str):
    kernel = KERNELS[name]
    inputs = kernel.inputs()
    module = apply(kernel.module(), ConvertTensorToLoopPass())
    assert_results(run(module, inputs), kernel.expected(inputs))


@pytest.mark.parametrize("name", KERNELS)
def test_tensor_and_loop_interpreters_agree(name: str):
    kernel = KERNELS[name]
    inputs = kernel.inputs(seed=1)
    before = run(kernel.module(), inputs)
    after = run(apply(kernel.module(), ConvertTensorToLoopPass()), inputs)
    # Sums of at most 144 terms may be rounded in another order, or fused.
    assert_results(after, before)


def loops(name: str):
    return apply(KERNELS[name].module(), ConvertTensorToLoopPass())


def count(module, kind: type) -> int:
    return sum(isinstance(op, kind) for op in module.walk())


def test_each_function_takes_the_buffers_of_its_results():
    module = loops("scan")
    step, main = (op for op in module.ops if isinstance(op, func.FuncOp))
    assert [len(f.function_type.inputs) for f in (step, main)] == [3, 3]
    assert not main.function_type.outputs
    assert [f.attributes["num_outputs"] for f in (step, main)] == [
        IntegerAttr(1, 64),
        IntegerAttr(2, 64),
    ]


def test_a_result_is_written_in_place_and_not_copied():
    assert count(loops("conv"), loop.CopyOp) == 0
    assert count(loops("conv"), loop.AllocOp) == 1  # the convolution before its bias


def test_a_view_that_is_returned_costs_no_copy():
    module = loops("elementwise")
    assert count(module, loop.CopyOp) == 0
    assert count(module, loop.ViewOp) == 1


def test_a_constant_of_one_element_needs_no_buffer():
    assert count(loops("conv"), loop.ConstantOp) == 0
    assert count(loops("scan"), loop.ConstantOp) == 1


def test_an_ordered_reduction_keeps_its_order():
    (block,) = (op for op in loops("depthwise").walk() if isinstance(op, loop.BlockOp))
    assert [*block.axis_kinds] == [loop.Kind.PAR] * 4 + [loop.Kind.SEQ] * 2


def test_states_that_are_exchanged_are_saved_first():
    names = [op.buffer.data for op in loops("swap").walk() if isinstance(op, loop.AllocOp)]
    assert names.count("saved") == 2


def test_stages_of_one_name_are_numbered():
    text = """
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %a = tensor.compute "s" (%i: 2) : tensor<2xf32> {
        %v = tensor.read %x[%i] : tensor<2xf32>
        tensor.yield %v : f32
      }
      %b = tensor.compute "s" (%i: 2) : tensor<2xf32> {
        %v = tensor.read %a[%i] : tensor<2xf32>
        tensor.yield %v : f32
      }
      func.return %b : tensor<2xf32>
    }"""
    module = apply(parse(text), ConvertTensorToLoopPass())
    stages = [op.stage.data for op in module.walk() if isinstance(op, loop.BlockOp)]
    assert stages == ["s", "s_1"]


def test_locations_reach_every_op():
    module = KERNELS["matmul"].module()
    node = NameLoc(StringAttr("MatMul_7"), UnknownLoc())
    for op in module.walk():
        op.location = node
    apply(module, ConvertTensorToLoopPass())
    function = next(op for op in module.ops if isinstance(op, func.FuncOp))
    assert {op.location for op in function.walk()} == {node}


def test_attributes_of_a_call_stay():
    text = """
    func.func private @f(tensor<2xf32>) -> tensor<2xf32>
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %y = func.call @f(%x) {nn.nodes = ["Conv_1"]} : (tensor<2xf32>) -> tensor<2xf32>
      func.return %y : tensor<2xf32>
    }"""
    module = apply(parse(text), ConvertTensorToLoopPass())
    (call,) = (op for op in module.walk() if isinstance(op, func.CallOp))
    assert "nn.nodes" in call.attributes
    assert len(call.arguments) == 2


def test_a_reduction_keeps_its_own_kind_of_identity():
    text = """
    func.func @main(%x: tensor<3x0xi8>) -> (tensor<3xi8>, tensor<3xi8>) {
      %a = tensor.compute "least" (%i: 3) reduce fast min (%j: 0) : tensor<3xi8> {
        %v = tensor.read %x[%i, %j] : tensor<3x0xi8>
        tensor.yield %v : i8
      }
      %b = tensor.compute "bits" (%i: 3) reduce fast and (%j: 0) : tensor<3xi8> {
        %v = tensor.read %x[%i, %j] : tensor<3x0xi8>
        tensor.yield %v : i8
      }
      func.return %a, %b : tensor<3xi8>, tensor<3xi8>
    }"""
    module = apply(parse(text), ConvertTensorToLoopPass())
    least, bits = run(module, [np.zeros((3, 0), np.int8)])
    assert [*least] == [127] * 3
    assert [*bits] == [-1] * 3


def test_a_result_beside_tensors_is_refused():
    text = """
    func.func @main(%x: tensor<2xf32>, %i: index) -> (tensor<2xf32>, index) {
      func.return %x, %i : tensor<2xf32>, index
    }"""
    with pytest.raises(PassFailedException, match=r"2:.*func.func: returns index beside tensors"):
        apply(parse(text), ConvertTensorToLoopPass())


def test_an_op_of_another_level_is_named():
    text = """
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %y = graph.relu %x : tensor<2xf32>
      func.return %y : tensor<2xf32>
    }"""
    with pytest.raises(PassFailedException, match=r"test.mlir:3:.*graph.relu: takes or returns"):
        apply(parse(text), ConvertTensorToLoopPass())
