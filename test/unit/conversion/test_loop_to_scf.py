import numpy as np
import pytest
from tensor_kernels import KERNELS, apply, assert_results, mark_vector_loops, parse
from upstream import require_tools, run_upstream, tool
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

from nn_opt.conversion.loop_to_scf import ConvertLoopToScfPass
from nn_opt.conversion.tensor_to_loop import ConvertTensorToLoopPass
from nn_opt.ir.types import element_type, numpy_dtype, shape_of
from nn_opt.passes.lower_blocks import LowerBlocksPass
from nn_opt.passes.vectorize_loops import VectorizeLoopsPass
from nn_opt.reference.running import entry_function

LOOPS = [ConvertTensorToLoopPass(), LowerBlocksPass()]


def outputs_of(module: ModuleOp, count: int) -> list[np.ndarray]:
    types = list(entry_function(module).function_type.inputs)[-count:]
    return [np.zeros(shape_of(t), numpy_dtype(element_type(t))) for t in types]


@pytest.mark.parametrize("name", KERNELS)
def test_mlir_computes_what_the_formulas_mean(name: str):
    require_tools()
    kernel = KERNELS[name]
    inputs = kernel.inputs()
    expected = kernel.expected(inputs)
    module = apply(kernel.module(), *LOOPS, ConvertLoopToScfPass())
    outputs = outputs_of(module, len(expected))
    run_upstream(module, "main", [*inputs, *outputs])
    assert_results(outputs, expected)


@pytest.mark.parametrize("name", KERNELS)
def test_vector_loops_agree_too(name: str):
    """Every innermost loop over the last dimension of a result becomes lanes."""
    require_tools()
    kernel = KERNELS[name]
    inputs = kernel.inputs(seed=2)
    expected = kernel.expected(inputs)
    module = apply(kernel.module(), ConvertTensorToLoopPass())
    mark_vector_loops(module)
    apply(module, LowerBlocksPass(), VectorizeLoopsPass(), ConvertLoopToScfPass())
    outputs = outputs_of(module, len(expected))
    run_upstream(module, "main", [*inputs, *outputs])
    assert_results(outputs, expected)


SCHEDULED = """
func.func @main(%x: memref<4x6xf32>, %y: memref<4x8xf32>) {
  %w = loop.constant dense<0.5> : tensor<f32> to memref<6x8xf32>
  %tile = loop.alloc "unused" : memref<2x2xf32, "stack">
  loop.for %i = 0 to 2 parallel {
    loop.for %jo = 0 to 1 {
      %acc = loop.alloc "acc" : memref<2x8xf32, "register">
      loop.for %k = 0 to 2 unroll {
        %zero = arith.constant dense<0.0> : vector<8xf32>
        loop.store %zero, %acc[%k, 0] : memref<2x8xf32, "register">, vector<8xf32>
      }
      loop.for %c = 0 to 6 {
        loop.for %k = 0 to 2 unroll {
          %a = loop.load %x[2 * %i + %k, %c] : memref<4x6xf32>
          %v = vector.broadcast %a : f32 to vector<8xf32>
          %b = loop.load %w[%c, 8 * %jo] : memref<6x8xf32>, vector<8xf32>
          %old = loop.load %acc[%k, 0] : memref<2x8xf32, "register">, vector<8xf32>
          %new = math.fma %v, %b, %old : vector<8xf32>
          loop.store %new, %acc[%k, 0] : memref<2x8xf32, "register">, vector<8xf32>
        }
      }
      loop.for %k = 0 to 2 {
        %v = loop.load %acc[%k, 0] : memref<2x8xf32, "register">, vector<8xf32>
        %half = loop.load %acc[%k, 1] stride 2 : memref<2x8xf32, "register">, vector<4xf32>
        %r = vector.reduction <add>, %half : vector<4xf32> into f32
        %s = vector.broadcast %r : f32 to vector<8xf32>
        %t = arith.addf %v, %s : vector<8xf32>
        loop.if (2 * %i + %k - 1 >= 0) {
          loop.store %t, %y[2 * %i + %k, 0] : memref<4x8xf32>, vector<8xf32>
        }
      }
    }
  }
  func.return
}
"""


def test_register_tiles_and_parallel_loops_agree():
    require_tools()
    module = apply(parse(SCHEDULED), ConvertLoopToScfPass())
    x = np.random.default_rng(3).standard_normal((4, 6)).astype(np.float32)
    y = np.full((4, 8), 9, np.float32)
    run_upstream(module, "main", [x, y])
    row = x.astype(np.float64).sum(1, keepdims=True) * 0.5
    wanted = np.broadcast_to(row + 4 * row, (4, 8)).copy()
    wanted[0] = 9  # the guard skips it
    assert_results([y], [wanted])


ARENA = """
func.func private @double(%x: memref<4xf32>, %y: memref<4xf32>) {
  loop.for %i = 0 to 4 {
    %a = loop.load %x[%i] : memref<4xf32>
    %b = arith.addf %a, %a : f32
    loop.store %b, %y[%i] : memref<4xf32>
  }
  func.return
}
func.func @main(%x: memref<3x4xf32>, %y: memref<3x4xf32>) {
  %arena = loop.arena : memref<64xi8>
  %t = loop.view %arena offset 16 : memref<64xi8> to memref<4xf32>
  loop.for %i = 0 to 3 {
    %row = loop.view %x offset 8 - 4 * %i : memref<3x4xf32> to memref<4xf32>
    %out = loop.view %y offset 4 * %i : memref<3x4xf32> to memref<4xf32>
    func.call @double(%row, %t) : (memref<4xf32>, memref<4xf32>) -> ()
    func.call @double(%t, %out) : (memref<4xf32>, memref<4xf32>) -> ()
  }
  func.return
}
"""


def test_parts_of_buffers_reach_functions():
    require_tools()
    module = apply(parse(ARENA), ConvertLoopToScfPass())
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    y = np.zeros_like(x)
    run_upstream(module, "main", [x, y])
    assert_results([y], [4.0 * x[::-1]])


def test_mlir_reads_and_prints_what_we_print():
    require_tools()
    module = apply(parse(SCHEDULED), ConvertLoopToScfPass())
    text = tool("mlir-opt", text=str(module))
    assert "scf.parallel" in text
    assert text.count("memref.alloca(") == 1  # "unused"; the tile is one of each iteration
    assert "loop." not in text


def test_a_block_that_was_not_lowered_is_named():
    module = apply(KERNELS["matmul"].module(), ConvertTensorToLoopPass())
    with pytest.raises(PassFailedException, match=r"loop.block: --convert-loop-to-scf has no rule"):
        apply(module, ConvertLoopToScfPass())
