"""Kernels run for all threads; what threads do to each other's data is told apart from errors."""

# ruff: noqa: E501  (lines of IR)
from __future__ import annotations

import re

import numpy as np
import pytest
from one_kernel import module_of, numbers, refusal, result
from xdsl.utils.exceptions import InterpretationError

from nn_opt.ir.parsing import make_context, parse_module
from nn_opt.reference import run

# A tile is read by other threads than those that wrote it.
REVERSE = """
  %b = gpu.block_id x
  %t = gpu.thread_id x
  %tile = loop.alloc "tile" : memref<32xf32, "shared">
  %v = loop.load %x0[%b, %t] : memref<4x32xf32>
  loop.store %v, %tile[%t] : memref<32xf32, "shared">
  gpu.barrier
  %w = loop.load %tile[31 - %t] : memref<32xf32, "shared">
  loop.store %w, %x1[%b, %t] : memref<4x32xf32>
"""
TYPES = ["4x32xf32", "4x32xf32"]


def test_threads_see_what_others_wrote_before_a_barrier():
    x = numbers(4, 32)
    np.testing.assert_array_equal(result(REVERSE, TYPES, [x], grid=(4, 1, 1)), x[:, ::-1])


def test_more_blocks_than_run_at_once(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("nn_opt.reference.gpu.MOST_THREADS", 32)
    x = numbers(4, 32)
    np.testing.assert_array_equal(result(REVERSE, TYPES, [x], grid=(4, 1, 1)), x[:, ::-1])


def test_missing_barrier_is_a_race_with_both_places():
    body = REVERSE.replace("gpu.barrier", "")
    message = refusal(body, TYPES, [numbers(4, 32)], grid=(4, 1, 1))
    assert message.splitlines() == [
        "k.mlir: error: loop.load: data race: thread (0, 0, 0) of block (0, 0, 0) reads element"
        " [31] of 'tile', which thread (31, 0, 0) of block (0, 0, 0) writes with no barrier between",
        "  hint: put a gpu.barrier between the two accesses, as --insert-barriers does",
        "k.mlir: note: the other access, which writes it",
    ]


def test_without_barriers_yet_each_op_is_done_for_all_threads():
    body, x = REVERSE.replace("gpu.barrier", ""), numbers(4, 32)
    marks = ", gpu.lockstep"
    np.testing.assert_array_equal(result(body, TYPES, [x], grid=(4, 1, 1), marks=marks), x[:, ::-1])


def test_next_iteration_may_not_overwrite_what_is_still_read():
    body = f"loop.for %k = 0 to 2 {{ {REVERSE} }}"
    message = refusal(body, TYPES, [numbers(4, 32)], grid=(4, 1, 1))
    assert (
        "loop.store: data race: thread (0, 0, 0) of block (0, 0, 0) writes element [0]" in message
    )
    assert "note: the other access, which reads it" in message
    x, fixed = numbers(4, 32), body.replace("loop.store %w", "gpu.barrier loop.store %w")
    np.testing.assert_array_equal(result(fixed, TYPES, [x], grid=(4, 1, 1)), x[:, ::-1])


def test_barrier_that_some_threads_skip():
    body = REVERSE.replace("gpu.barrier", "loop.if (15 - %t >= 0) { gpu.barrier }\n gpu.barrier")
    assert refusal(body, TYPES, [numbers(4, 32)], grid=(4, 1, 1)).splitlines() == [
        "k.mlir: error: gpu.barrier: barrier divergence: 16 of 32 threads come here, thread"
        " (16, 0, 0) of block (0, 0, 0) does not",
        "  hint: a barrier is for all threads of a block: move it out of what depends on the thread",
        "k.mlir: note: the condition here does not hold for all threads",
        "k.mlir: note: the others go on to this barrier",
    ]


def test_threads_that_end_do_not_come_to_a_barrier():
    body = REVERSE + "loop.if (-1 * %t >= 0) { gpu.barrier }"
    message = refusal(body, TYPES, [numbers(4, 32)], grid=(4, 1, 1))
    assert "1 of 32 threads come here, thread (1, 0, 0) of block (0, 0, 0) does not" in message
    assert message.endswith("note: the others go on to the end of the kernel")


def test_whole_blocks_may_skip_a_barrier():
    body = REVERSE.replace("gpu.barrier", "gpu.barrier loop.if (1 - %b >= 0) { gpu.barrier }")
    x = numbers(4, 32)
    np.testing.assert_array_equal(result(body, TYPES, [x], grid=(4, 1, 1)), x[:, ::-1])


def test_out_of_bounds_names_the_thread():
    body = REVERSE.replace("31 - %t", "32 - %t")
    message = refusal(body, TYPES, [numbers(4, 32)], grid=(4, 1, 1))
    assert (
        "loop.load: thread (0, 0, 0) of block (0, 0, 0) reaches [32] in a buffer of [32]" in message
    )


def test_shared_memory_has_no_contents_at_first():
    body = REVERSE.replace("%tile[%t]", "%tile[0]").replace("gpu.barrier", "} gpu.barrier")
    body = body.replace("loop.store %v", "loop.if (-1 * %t >= 0) { loop.store %v")
    message = refusal(body, TYPES, [numbers(4, 32)], grid=(4, 1, 1))
    assert "thread (0, 0, 0) of block (0, 0, 0) reads element [31] of 'tile'" in message
    assert "which no thread has written" in message


def test_blocks_may_not_write_to_each_other():
    body = """
      %b = gpu.block_id x
      %t = gpu.thread_id x
      %v = loop.load %x0[%b, %t] : memref<4x32xf32>
      loop.store %v, %x1[0, %t] : memref<4x32xf32>
    """
    message = refusal(body, TYPES, [numbers(4, 32)], grid=(4, 1, 1))
    assert "data race: thread (0, 0, 0) of block (0, 0, 0) writes element [0, 0] of %x1" in message
    assert "which thread (0, 0, 0) of block (3, 0, 0) writes, too" in message
    assert "hint: nothing orders blocks: use a kernel for each step, or atomics" in message


def test_a_block_may_not_read_what_another_one_writes():
    body = """
      %b = gpu.block_id x
      %t = gpu.thread_id x
      %v = loop.load %x1[0, %t] : memref<4x32xf32>
      loop.store %v, %x1[%b, %t] : memref<4x32xf32>
    """
    message = refusal(body, TYPES, [numbers(4, 32)], grid=(4, 1, 1))
    assert (
        "of block (0, 0, 0) writes element [0, 0] of %x1, which a thread of another block reads"
        in message
    )


def test_threads_may_write_the_same_value():
    body = """
      %t = gpu.thread_id x
      %c = arith.constant 3.0 : f32
      loop.store %c, %x0[0] : memref<1xf32>
    """
    assert result(body, ["1xf32"], []) == 3
    own = "%i = arith.index_cast %t : index to i32  %v = arith.sitofp %i : i32 to f32  loop.store"
    other = body.replace("%c, ", "%v, ").replace("loop.store", own)
    assert "data race: thread (0, 0, 0) writes element [0] of %x0" in refusal(other, ["1xf32"], [])


def test_ids_in_three_dimensions():
    body = """
      %bx = gpu.block_id x
      %by = gpu.block_id y
      %tx = gpu.thread_id x
      %ty = gpu.thread_id y
      %tz = gpu.thread_id z
      %gx = gpu.global_id x
      %nx = gpu.block_dim x
      %mx = gpu.grid_dim x
      %v = loop.apply 1000 * %gx + 100 * %nx + %mx
      %i = arith.index_cast %v : index to i64
      loop.store %i, %x0[%bx, %by, %tx, %ty, %tz] : memref<2x3x2x4x2xi64>
    """
    out = result(body, ["2x3x2x4x2xi64"], [], grid=(2, 3, 1), block=(2, 4, 2), subgroup=0)
    gx = (np.arange(2)[:, None] * 2 + np.arange(2))[:, None, :, None, None]
    np.testing.assert_array_equal(out, np.broadcast_to(1000 * gx + 202, out.shape))


def test_attributions_are_buffers_of_a_block_and_of_a_thread():
    text = str(module_of(REVERSE, TYPES, grid=(4, 1, 1)))
    text = text.replace(
        "%x1: memref<4x32xf32>) kernel",
        '%x1: memref<4x32xf32>) workgroup(%tile: memref<32xf32, "shared">) private(%p: memref<1xf32, "stack">) kernel',
        1,
    )
    text = re.sub(r"%tile = loop.alloc.*", "", text)
    text = re.sub(
        r"(loop.store %w, %x1)",
        r'loop.store %w, %p[0] : memref<1xf32, "stack">\n%q = loop.load %p[0] : memref<1xf32, "stack">\nloop.store %q, %x1',
        text,
    )
    x = numbers(4, 32)
    np.testing.assert_array_equal(
        run(parse_module(make_context(), text, "k.mlir"), [x])[0], x[:, ::-1]
    )


def test_kernels_without_a_function_are_not_run():
    text = """func.func @main(%x: memref<4xf32>) {
      %c = arith.constant 1 : index
      gpu.launch blocks(%a, %b, %d) in (%e = %c, %f = %c, %g = %c) threads(%h, %i, %j) in (%k = %c, %l = %c, %m = %c) {
        gpu.terminator
      }
      func.return
    }"""
    with pytest.raises(InterpretationError, match=r"gpu\.launch: a kernel that has no function"):
        run(parse_module(make_context(), text, "k.mlir"), [numbers(4)])


def test_arguments_that_overlap_in_part():
    """Rows of one array: what is written of the second is read of the first."""
    body = """
      %t = gpu.thread_id x
      %v = loop.load %x0[{}] : memref<48xf32>
      loop.store %v, %x1[%t] : memref<32xf32>
    """
    text = """builtin.module attributes {gpu.container_module} {
      gpu.module @kernels {
        gpu.func @f(%x0: memref<48xf32>, %x1: memref<32xf32>) kernel {
          BODY
          gpu.return
        }
      }
      func.func @main(%x: memref<64xf32>) {
        %c1 = arith.constant 1 : index
        %c32 = arith.constant 32 : index
        %a = loop.view %x : memref<64xf32> to memref<48xf32>
        %b = loop.view %x offset 32 : memref<64xf32> to memref<32xf32>
        gpu.launch_func @kernels::@f blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1) args(%a : memref<48xf32>, %b : memref<32xf32>)
        func.return
      }
    }"""
    for index, races in (("%t", False), ("%t + 8", True)):
        module = parse_module(make_context(), text.replace("BODY", body.format(index)), "k.mlir")
        module.verify()
        if not races:
            run(module, [numbers(64)])
            continue
        with pytest.raises(InterpretationError, match=r"loop.store: data race: .* of %x1"):
            run(module, [numbers(64)])


def test_arguments_of_other_types_overlap():
    text = """builtin.module attributes {gpu.container_module} {
      gpu.module @kernels {
        gpu.func @f(%x0: memref<32xf32>, %x1: memref<64xf16>) kernel {
          %t = gpu.thread_id x
          %v = loop.load %x0[%t] : memref<32xf32>
          %h = arith.truncf %v : f32 to f16
          loop.store %h, %x1[2 * %t + 1] : memref<64xf16>
          gpu.return
        }
      }
      func.func @main(%x: memref<64xf32>) {
        %c1 = arith.constant 1 : index
        %c32 = arith.constant 32 : index
        %a = loop.view %x : memref<64xf32> to memref<32xf32>
        %b = loop.view %x offset OFFSET : memref<64xf32> to memref<64xf16>
        gpu.launch_func @kernels::@f blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1) args(%a : memref<32xf32>, %b : memref<64xf16>)
        func.return
      }
    }"""
    run(parse_module(make_context(), text.replace("OFFSET", "32"), "k.mlir"), [numbers(64)])
    module = parse_module(make_context(), text.replace("OFFSET", "16"), "k.mlir")
    with pytest.raises(InterpretationError) as caught:
        run(module, [numbers(64)])
    expected = "thread (0, 0, 0) writes element [1] of %x1, which thread (16, 0, 0) reads"
    assert expected in str(caught.value)
