"""Default schedules keep the numbers on every target, and put tiles into registers."""

from __future__ import annotations

import numpy as np
import pytest
from kernels import CONV, KERNELS, MATMUL, SOFTMAX, assert_right, random_inputs
from lowering import STEPS, lowered
from xdsl.dialects import vector
from xdsl.dialects.builtin import VectorType

from nn_opt.dialects.loop import AllocOp, ForKind, ForOp, IfOp, LoadOp, StoreOp
from nn_opt.dialects.sched import ScriptOp
from nn_opt.ir.target import TARGETS
from nn_opt.ir.types import memory_space, shape_of
from nn_opt.reference import run


@pytest.mark.parametrize("until", STEPS[1:])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("text", KERNELS.values(), ids=KERNELS)
def test_every_step_keeps_the_numbers(text: str, target: str, until: str):
    assert_right(lowered(text, target, until), text)


def test_script_stands_beside_the_kernel_until_it_is_applied():
    module = lowered(MATMUL, "x86-64-v3", "default-schedules")
    assert [type(op) for op in module.ops][1:] == [ScriptOp]
    module = lowered(MATMUL, "x86-64-v3", "apply-schedule")
    assert not any(isinstance(op, ScriptOp) for op in module.ops)


@pytest.mark.parametrize(("text", "tile"), [(CONV, (7, 4)), (MATMUL, (6, 12))])
def test_accumulators_are_a_register_tile(text: str, tile: tuple[int, int]):
    module = lowered(text, "neon", "compact-buffers")
    tiles = [
        tuple(size for size in shape_of(op.result) if size > 1)
        for op in module.walk()
        if isinstance(op, AllocOp) and memory_space(op.result) == "register"
    ]
    assert tiles[0] == tile


def test_partition_leaves_no_test_in_a_tiled_matmul():
    before = lowered(MATMUL, "x86-64-v3", "lower-blocks")
    after = lowered(MATMUL, "x86-64-v3", "partition-loops")
    assert any(isinstance(op, IfOp) for op in before.walk())
    assert not any(isinstance(op, IfOp) for op in after.walk())


def test_softmax_runs_row_by_row():
    module = lowered(SOFTMAX, "x86-64-v3", "compact-buffers")
    spaces = {
        op.buffer.data: (memory_space(op.result), shape_of(op.result))
        for op in module.walk()
        if isinstance(op, AllocOp)
    }
    assert spaces == {
        "max": ("register", (1,)),
        "max.parts": ("register", (1, 16)),
        "max.parts2": ("register", (1, 8)),
        "exp": ("stack", (1, 21)),
        "sum": ("register", (1,)),
        "sum.parts": ("register", (1, 16)),
        "sum.parts2": ("register", (1, 8)),
    }


@pytest.mark.parametrize("length", [256, 257, 263, 264, 300])
def test_long_rows_are_summed_in_four_vectors_and_then_in_one(length: int):
    text = f"""
func.func @sum(%x: tensor<5x{length}xf32>) -> tensor<5xf32> attributes {{kernel}} {{
  %y = tensor.compute "sum" (%i: 5) reduce fast add (%k: {length}) : tensor<5xf32> {{
    %a = tensor.read %x[%i, %k] : tensor<5x{length}xf32>
    tensor.yield %a : f32
  }}
  func.return %y : tensor<5xf32>
}}
"""
    module = lowered(text, "x86-64-v3", "vectorize-loops")
    spaces = {
        op.buffer.data: (memory_space(op.result), shape_of(op.result))
        for op in module.walk()
        if isinstance(op, AllocOp)
    }
    assert spaces == {
        "sum": ("register", (1,)),
        "sum.parts": ("register", (1, 32)),
        "sum.parts2": ("register", (1, 8)),
    }
    inputs = random_inputs(text)
    (result,) = run(module, inputs)
    np.testing.assert_allclose(
        result, inputs[0].astype(np.float64).sum(axis=1), rtol=1e-5, atol=1e-5
    )
    reductions = [op for op in module.walk() if isinstance(op, vector.ReductionOp)]
    assert len(reductions) == 1


TRANSPOSE = """
func.func @transpose(%x: tensor<40x3x48xf32>) -> tensor<3x48x40xf32> attributes {kernel} {
  %y = tensor.compute "t" (%i: 3, %j: 48, %k: 40) : tensor<3x48x40xf32> {
    %a = tensor.read %x[%k, %i, %j] : tensor<40x3x48xf32>
    tensor.yield %a : f32
  }
  func.return %y : tensor<3x48x40xf32>
}
"""
GATHER = """
func.func @gather(%x: tensor<9x32xf32>, %n: tensor<5xi64>) -> tensor<5x32xf32>
    attributes {kernel} {
  %y = tensor.compute "g" (%i: 5, %j: 32) : tensor<5x32xf32> {
    %a = tensor.read %n[%i] : tensor<5xi64>
    %b = arith.index_cast %a : i64 to index
    %c = tensor.read %x[%b, %j] : tensor<9x32xf32>
    tensor.yield %c : f32
  }
  func.return %y : tensor<5x32xf32>
}
"""


@pytest.mark.parametrize(("rows", "length"), [(33, 133), (4, 64), (35, 16), (3, 300)])
def test_softmax_of_any_size(rows: int, length: int):
    text = SOFTMAX.replace("21", str(length)).replace("<3x", f"<{rows}x")
    text = text.replace("<3xf32>", f"<{rows}xf32>").replace("%i: 3", f"%i: {rows}")
    module = lowered(text, "x86-64-v4", "vectorize-loops")
    module.verify()
    (x,) = random_inputs(text)
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    expected = e / e.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(run(module, [x])[0], expected, rtol=2e-5, atol=1e-7)


def test_a_transpose_reads_whole_cache_lines():
    module = lowered(TRANSPOSE, "x86-64-v4", "vectorize-loops")
    loads = [op for op in module.walk() if isinstance(op, LoadOp)]
    lines = [op.parent_op() for op in loads]
    assert lines
    assert all(isinstance(op, ForOp) and op.how is ForKind.UNROLL for op in lines)
    assert all(isinstance(op, ForOp) and op.trips == 16 for op in lines)
    assert all(isinstance(op.result.type, VectorType) for op in loads)
    (x,) = random_inputs(TRANSPOSE)
    np.testing.assert_array_equal(run(module, [x])[0], x.transpose(1, 2, 0))


def test_rows_found_by_number_are_read_in_vectors():
    module = lowered(GATHER, "x86-64-v4", "vectorize-loops")
    stores = [op for op in module.walk() if isinstance(op, StoreOp)]
    assert all(isinstance(op.value.type, VectorType) for op in stores)
    x, _ = random_inputs(GATHER)
    n = np.array([8, 0, 3, 3, 1])
    np.testing.assert_array_equal(run(module, [x, n])[0], x[n])


def test_small_kernels_stay_on_one_thread():
    module = lowered(MATMUL, "x86-64-v3", "apply-schedule")
    kinds = {op.how for op in module.walk() if isinstance(op, ForOp)}
    assert ForKind.PARALLEL not in kinds
