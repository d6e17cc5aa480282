"""Primitives for blocks of threads: shared memory, tiles without tests, joined axes."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np
import pytest
from kernels import CHAIN, CONV, MATMUL, ORDERED, SOFTMAX, assert_right, loops, random_inputs
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

from nn_opt.dialects.loop import AllocOp, BlockOp, IfOp
from nn_opt.ir.types import memory_space, shape_of
from nn_opt.reference import run
from nn_opt.registry import load_pass
from nn_opt.schedule.nest import find_block, loops_around
from nn_opt.schedule.schedule import Schedule
from nn_opt.schedule.script import replay

Script = Callable[[Schedule], object]
STRIDED = """
func.func @conv(%x: tensor<2x3x7x8xf32>, %w: tensor<5x3x3x2xf32>) -> tensor<2x5x4x4xf32>
    attributes {kernel} {
  %y = tensor.compute "conv" (%n: 2, %f: 5, %p: 4, %q: 4) reduce fast add (%c: 3, %r: 3, %s: 2)
      : tensor<2x5x4x4xf32> {
    %a = tensor.read %x[%n, %c, 2 * %p + %r - 1, 2 * %q + %s] or 0.0 : tensor<2x3x7x8xf32>
    %k = tensor.read %w[%f, %c, %r, %s] : tensor<5x3x3x2xf32>
    %m = arith.mulf %a, %k : f32
    tensor.yield %m : f32
  }
  %z = tensor.compute "neg" (%n: 2, %f: 5, %p: 4, %q: 4) : tensor<2x5x4x4xf32> {
    %a = tensor.read %y[%n, %f, %p, %q] : tensor<2x5x4x4xf32>
    %m = arith.negf %a : f32
    tensor.yield %m : f32
  }
  func.return %z : tensor<2x5x4x4xf32>
}
"""
ODD = """
func.func @odd(%x: tensor<4x6xf32>, %i: tensor<4xi64>) -> tensor<4x6xf32> attributes {kernel} {
  %p = tensor.compute "pairs" (%m: 4, %n: 6) : tensor<4x6xf32> {
    %a = tensor.read %x[%m, %n] : tensor<4x6xf32>
    %b = tensor.read %x[%m, 5 - %n] : tensor<4x6xf32>
    %c = arith.addf %a, %b : f32
    tensor.yield %c : f32
  }
  %g = tensor.compute "gather" (%m: 4, %n: 6) : tensor<4x6xf32> {
    %a = tensor.read %i[%m] : tensor<4xi64>
    %b = arith.index_cast %a : i64 to index
    %c = tensor.read %p[%b, %n] : tensor<4x6xf32>
    %d = arith.index_cast %n : index to i64
    %e = arith.sitofp %d : i64 to f32
    %f = arith.addf %c, %e : f32
    tensor.yield %f : f32
  }
  %s = tensor.compute "shift" (%m: 4, %n: 6) : tensor<4x6xf32> {
    %a = tensor.read %g[%m - 1, %n] or 0.0 : tensor<4x6xf32>
    %b = tensor.read %p[%m, %n] : tensor<4x6xf32>
    %c = arith.addf %a, %b : f32
    tensor.yield %c : f32
  }
  func.return %s : tensor<4x6xf32>
}
"""


SHIFTED = """
func.func @shifted(%x: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {kernel} {
  %g = tensor.compute "neg" (%m: 4, %n: 8) : tensor<4x8xf32> {
    %a = tensor.read %x[%m, %n] : tensor<4x8xf32>
    %b = arith.negf %a : f32
    tensor.yield %b : f32
  }
  %s = tensor.compute "shift" (%m: 4, %n: 8) : tensor<4x8xf32> {
    %a = tensor.read %g[%m, %n - 1] or 0.0 : tensor<4x8xf32>
    tensor.yield %a : f32
  }
  func.return %s : tensor<4x8xf32>
}
"""


def strided_conv() -> np.ndarray:
    x, w = (array.astype(np.float64) for array in random_inputs(STRIDED))
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 2), axis=(2, 3))
    return -np.einsum("ncpqrs,fcrs->nfpq", windows[:, :, ::2, ::2], w)


def block_tiles(s: Schedule, stage: str = "matmul") -> tuple[str, str]:
    """Tiles of 4 x 8 for blocks of 2 x 4 threads, factors of 4 steps in shared memory."""
    if not s.function.sym_name.data == "conv":
        s.cache_write(stage)
    m, n, k = s.axes(stage)
    for loop, tile in ((m, 4), (n, 8), (k, 4)):
        s.pad(loop, tile)
    left, right = s.reindex(stage, 0, [2, 0]), s.reindex(stage, 1, [2, 1])
    mo, mi = s.split(m, 4)
    no, ni = s.split(n, 8)
    my, mr = s.split(mi, 2)
    nx, nr = s.split(ni, 2)
    ko, ki = s.split(k, 4)
    s.reorder(mo, no, my, nx, ko, ki, mr, nr)
    for loop, kind in ((mo, "block_y"), (no, "block_x"), (my, "thread_y"), (nx, "thread_x")):
        s.bind(loop, kind)
    for copy in (left, right):
        s.set_scope(copy, "shared")
        s.compute_at(copy, ko)
        fetched = reduce(s.fuse, s.axes(copy)[5:])
        rest, x = s.split(fetched, 4)
        _, y = s.split(rest, 2)
        s.bind(x, "thread_x")
        s.bind(y, "thread_y")
    return left, right


def shared_tiles(s: Schedule) -> None:
    block_tiles(s)
    s.decompose_init("matmul", s.axes("matmul")[4])
    s.reverse_compute_at("matmul.copy", s.axes("matmul")[3])
    s.set_scope("matmul", "register")


def two_tiles(s: Schedule) -> None:
    left, right = block_tiles(s)
    s.storage_align(left, 32, 5)
    s.double_buffer(left, s.axes("matmul")[4])
    s.double_buffer(right, s.axes("matmul")[4])


def join_loops(s: Schedule) -> None:
    axes = s.axes("conv")
    s.join(*axes[:4])
    s.join(*axes[6:8])


def join_a_stage_and_its_reader(s: Schedule) -> None:
    for stage in ("bias", "conv"):
        n, fo, p, q, *_ = s.axes(stage)
        s.reorder(n, p, q, fo)
        s.join(n, p, q)
    s.reverse_compute_at("bias", s.axes("conv")[0])


def permute(s: Schedule) -> None:
    s.permute("exp", [1, 0])


def reindex_and_pad(s: Schedule) -> None:
    s.cache_write("matmul")
    m, n, _ = s.axes("matmul")
    s.pad(m, 4)
    s.pad(n, 16)
    s.reindex("matmul", 1, [1, 2])


SCRIPTS: dict[Script, str] = {
    shared_tiles: MATMUL,
    two_tiles: MATMUL,
    reindex_and_pad: MATMUL,
    permute: SOFTMAX,
    join_loops: CONV,
    join_a_stage_and_its_reader: CONV,
}


@pytest.mark.parametrize(
    ("script", "text"), SCRIPTS.items(), ids=lambda v: getattr(v, "__name__", "")
)
def test_result_stays_and_the_script_repeats_it(script: Script, text: str):
    ctx, module, function = loops(text)
    _, plain, copy = loops(text)
    schedule = Schedule(function)
    script(schedule)
    assert_right(module, text)
    replay(schedule.script, copy)
    assert str(plain) == str(module)
    for name in ("lower-blocks", "partition-loops", "compact-buffers"):
        load_pass(name)().apply(ctx, module)
        assert_right(module, text)


def allocs(module: ModuleOp) -> dict[str, AllocOp]:
    return {op.buffer.data: op for op in module.walk() if isinstance(op, AllocOp)}


def compact(script: Script) -> tuple[ModuleOp, dict[str, AllocOp]]:
    ctx, module, function = loops(MATMUL)
    script(Schedule(function))
    for name in ("lower-blocks", "partition-loops", "compact-buffers"):
        load_pass(name)().apply(ctx, module)
    return module, allocs(module)


def test_a_shared_tile_is_what_all_threads_read_and_lies_outside_of_them():
    _, found = compact(shared_tiles)
    shapes = {name: shape_of(alloc.result) for name, alloc in found.items()}
    assert shapes == {"matmul": (2, 2), "matmul.in0": (4, 4), "matmul.in1": (4, 8)}
    for name in ("matmul.in0", "matmul.in1"):
        assert memory_space(found[name].result) == "shared"
        assert [loop.how for loop in loops_around(found[name])] == ["block_y", "block_x"]


def test_two_tiles_are_a_ring_whose_rows_have_the_length_asked_for():
    module, found = compact(two_tiles)
    assert shape_of(found["matmul.in0"].result) == (8, 5)
    assert shape_of(found["matmul.in1"].result) == (8, 8)
    assert "8 * ((" not in str(module)
    assert "4 * ((" in str(module)


def test_padded_tiles_need_no_test():
    _, _, function = loops(MATMUL)
    schedule = Schedule(function)
    shared_tiles(schedule)
    for stage in ("matmul", "matmul.init", "matmul.in0", "matmul.in1"):
        assert not find_block(function, stage).conditions.data.results, stage
    assert find_block(function, "matmul.copy").conditions.data.results


def test_a_convolution_becomes_a_product():
    ctx, module, function = loops(STRIDED)
    s = Schedule(function)
    for stage in ("neg", "conv"):
        n, f, p, q, *taps = s.axes(stage)
        s.reorder(f, n, p, q)
        s.join(n, p, q)
        if taps:
            s.join(*taps)
    joined = find_block(function, "conv")
    order = [joined.axis_sizes[k] for k in range(3)]
    assert sorted(order) == [5, 18, 32]
    assert shape_of(allocs(module)["conv"].result) == tuple(order[:2])
    np.testing.assert_allclose(run(module, random_inputs(STRIDED))[0], strided_conv(), rtol=2e-5)
    load_pass("lower-blocks")().apply(ctx, module)
    np.testing.assert_allclose(run(module, random_inputs(STRIDED))[0], strided_conv(), rtol=2e-5)


def test_axes_of_a_buffer_whose_reads_may_leave_it_join_without_it():
    _, module, function = loops(SHIFTED)
    schedule = Schedule(function)
    schedule.join(*schedule.axes("neg"))
    assert find_block(function, "neg").axis_sizes == (32,)
    assert shape_of(allocs(module)["neg"].result) == (4, 8)
    (x,) = random_inputs(SHIFTED)
    shifted = np.pad(-x[:, :-1], ((0, 0), (1, 0)))
    np.testing.assert_array_equal(run(module, [x])[0], shifted)


def test_a_bound_loop_is_not_partitioned():
    ctx, module, function = loops(CHAIN)
    s = Schedule(function)
    s.inline("mul")
    outer, inner = s.split(reduce(s.fuse, s.axes("neg")), 64)
    s.bind(outer, "block_x")
    s.bind(inner, "thread_x")
    for name in ("lower-blocks", "partition-loops"):
        load_pass(name)().apply(ctx, module)
    assert sum(isinstance(op, IfOp) for op in module.walk()) == 1
    assert not any(isinstance(op, BlockOp) for op in module.walk())
    assert_right(module, CHAIN)


def _scheduled_reader(s: Schedule) -> None:
    s.split(s.axes("matmul")[0], 2)
    s.pad(s.axes("matmul")[0], 4)


def _not_tiles(s: Schedule) -> None:
    copy = s.cache_read("conv", 0)
    s.compute_at(copy, s.axes("conv")[6])
    s.double_buffer(copy, s.axes("conv")[6])


def _read_elsewhere(s: Schedule) -> None:
    outer, _ = s.split(s.axes("neg")[1], 4)
    s.double_buffer("neg", outer)


REFUSALS: list[tuple[str, Script, str]] = [
    (MATMUL, _scheduled_reader, "pad: %mo is not the plain axis of one stage"),
    (
        MATMUL,
        lambda s: s.pad(s.axes("matmul")[0], 4),
        "'matmul' does not write a buffer of its own",
    ),
    (
        MATMUL,
        lambda s: s.pad(s.axes("matmul")[0], 0),
        "pad: the multiple of %m is 0, expected at least 1",
    ),
    (SOFTMAX, lambda s: s.pad(s.axes("max")[1], 4), "pad: zeros change what 'max' accumulates"),
    (CONV, lambda s: s.pad(s.axes("conv")[6], 2), "'conv' reads more than zeros where axis 6 is 3"),
    (MATMUL, lambda s: s.join(*s.axes("matmul")), "%k of 'matmul' are not all independent"),
    (ORDERED, lambda s: s.join(*s.axes("sum")[1:]), "'sum' are not all independent, or all red"),
    (MATMUL, lambda s: s.join(*s.axes("matmul")[::2]), "join: %k is not all that %m holds"),
    (
        MATMUL,
        lambda s: s.reindex("matmul", 2, [0]),
        "reindex: stage 'matmul' reads 2 buffers, not 3",
    ),
    (MATMUL, lambda s: s.reindex("matmul", 0, [0, 1]), "reads it at axes [0, 2], not at [0, 1]"),
    (CONV, _not_tiles, "double_buffer: %r does not walk through 'conv.in0' tile by tile"),
    (
        SHIFTED,
        lambda s: s.permute("neg", [1, 1]),
        "[1, 1] is no order of the 2 dimensions of 'neg'",
    ),
    (ODD, lambda s: s.join(*s.axes("gather")), "join: stage 'gather' computes with an index"),
    (ODD, lambda s: s.pad(s.axes("gather")[1], 4), "pad: stage 'gather' computes with %n"),
    (
        SHIFTED,
        lambda s: s.pad(s.join(*s.axes("neg")), 64),
        "pad: stage 'neg' stores at more than plain axes",
    ),
    (ODD, lambda s: s.reindex("pairs", 0, [0, 1]), "'pairs' reads buffer 0 at 2 places"),
    (ODD, lambda s: s.reindex("gather", 1, [1]), "'gather' reads at an index that data decides"),
    (SHIFTED, _read_elsewhere, "double_buffer: 'shift' reads 'neg' outside %no"),
    (SOFTMAX, lambda s: s.storage_align("exp", 4, 4), "storage_align: the offset is 4, expected"),
    (
        SOFTMAX,
        lambda s: s.double_buffer("exp", s.axes("sum")[0]),
        "'exp' is not in a serial loop",
    ),
]


@pytest.mark.parametrize(("text", "script", "reason"), REFUSALS)
def test_refusal_names_loop_and_reason(text: str, script: Script, reason: str):
    _, _, function = loops(text)
    with pytest.raises(PassFailedException) as error:
        script(Schedule(function))
    assert reason in str(error.value)
