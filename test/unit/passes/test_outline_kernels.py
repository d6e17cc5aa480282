from programs import apply, assert_same, program
from test_fuse_ops import GELU, LAYER_NORM, LSTM
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp

from nn_opt.passes.fuse_ops import FuseOpsPass
from nn_opt.passes.outline_kernels import OutlineKernelsPass

TWICE = """
func.func @main(%x: tensor<4x4xf32>, %v: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %a = graph.matmul %x, %v : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc("first")
  %b = graph.relu %a : tensor<4x4xf32> loc("second")
  %c = graph.matmul %b, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %d = graph.relu %c : tensor<4x4xf32>
  func.return %d : tensor<4x4xf32>
}"""


def kernel_names(module: ModuleOp) -> list[str]:
    return [
        op.sym_name.data
        for op in module.ops
        if isinstance(op, FuncOp) and "kernel" in op.attributes
    ]


def test_layers_that_differ_in_weights_share_a_kernel():
    module = program(TWICE)
    assert_same(module, FuseOpsPass(), OutlineKernelsPass())
    assert kernel_names(module) == ["matmul_relu_0"]
    first, second = [op for op in module.walk() if isinstance(op, CallOp)]
    assert str(first.attributes["nn.nodes"]) == '["first", "second"]'
    assert str(first.location) == 'loc(fused["first", "second"])'
    assert "nn.nodes" not in second.attributes


def test_known_programs_keep_their_results():
    for text in (LAYER_NORM, GELU, LSTM):
        assert_same(program(text), FuseOpsPass(), OutlineKernelsPass())


def test_a_long_kernel_has_a_short_name():
    module = program(GELU)
    apply(module, FuseOpsPass(), OutlineKernelsPass())
    assert kernel_names(module) == ["matmul_add_div_erf_add_etc_0"]


def test_outlining_again_finds_nothing_and_takes_no_name():
    module = program(TWICE)
    apply(module, FuseOpsPass(), OutlineKernelsPass(), OutlineKernelsPass())
    assert kernel_names(module) == ["matmul_relu_0"]
