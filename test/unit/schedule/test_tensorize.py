"""tensorize: loops that are an intrinsic keep their meaning as one; others are refused."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from kernels import loops
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

from nn_opt.dialects.loop import DotOp
from nn_opt.ir.parsing import make_context
from nn_opt.ir.types import numpy_dtype
from nn_opt.passes.tensorize_loops import TensorizeLoopsPass
from nn_opt.pipelines import expand, run_passes
from nn_opt.reference import run
from nn_opt.schedule.intrinsics import INTRINSICS
from nn_opt.schedule.schedule import Schedule
from nn_opt.schedule.script import replay
from nn_opt.schedule.unify import unify

BF16 = numpy_dtype(next(iter(INTRINSICS["dot_bf16x2"].buffers)).type.get_element_type())
PAIRS = """
func.func @matmul(%x: tensor<5x12xbf16>, %w: tensor<2x6x16x2xbf16>) -> tensor<5x32xf32>
    attributes {kernel} {
  %y = tensor.compute "matmul" (%m: 5, %n: 32) reduce fast add (%k: 12) : tensor<5x32xf32> {
    %a = tensor.read %x[%m, %k] : tensor<5x12xbf16>
    %b = tensor.read %w[%n floordiv 16, %k floordiv 2, %n mod 16, %k mod 2]
        : tensor<2x6x16x2xbf16>
    %c = arith.extf %a : bf16 to f32
    %d = arith.extf %b : bf16 to f32
    %e = arith.mulf %d, %c : f32
    tensor.yield %e : f32
  }
  func.return %y : tensor<5x32xf32>
}
"""
FOURS = """
func.func @matmul(%x: tensor<3x8xi8>, %w: tensor<1x2x16x4xi8>) -> tensor<3x16xi32>
    attributes {kernel} {
  %y = tensor.compute "matmul" (%m: 3, %n: 16) reduce fast add (%k: 8) : tensor<3x16xi32> {
    %a = tensor.read %x[%m, %k] : tensor<3x8xi8>
    %b = tensor.read %w[0, %k floordiv 4, %n, %k mod 4] : tensor<1x2x16x4xi8>
    %c = arith.extui %a : i8 to i32
    %d = arith.extsi %b : i8 to i32
    %e = arith.muli %c, %d : i32
    tensor.yield %e : i32
  }
  func.return %y : tensor<3x16xi32>
}
"""
LOWER = "lower-blocks,flatten-accesses,partition-loops,compact-buffers"


def tile(s: Schedule, group: int, intrinsic: str) -> None:
    """Reduce in registers, a group of products at a time."""
    m, n, k = s.axes("matmul")
    ko, ki = s.split(k, group)
    no, ni = s.split(n, 16)
    copy = s.cache_write("matmul")
    s.reorder(no, m, ko, ni, ki)
    s.reverse_compute_at(copy, m)
    s.decompose_init("matmul", ko)
    s.set_scope("matmul", "register")
    s.tensorize(ni, intrinsic)


def lowered(module: ModuleOp) -> ModuleOp:
    for step in LOWER.split(","):
        run_passes(make_context(), module, expand(step))
    TensorizeLoopsPass().apply(make_context(), module)
    module.verify()
    return module


def plain(w: NDArray[np.float64]) -> NDArray[np.float64]:
    """[N/16, K/g, 16, g]  ->  [K, N]"""
    panels, groups, lanes, group = w.shape
    return w.transpose(1, 3, 0, 2).reshape(groups * group, panels * lanes)


def numbers(*shape: int, seed: int) -> NDArray[np.float64]:
    return np.random.default_rng(seed).standard_normal(shape)


def test_pairs_of_bf16_become_a_dot():
    _, module, function = loops(PAIRS)
    schedule = Schedule(function)
    tile(schedule, 2, "dot_bf16x2")
    x, w = numbers(5, 12, seed=1).astype(BF16), numbers(2, 6, 16, 2, seed=2).astype(BF16)
    expected = x.astype(np.float64) @ plain(w.astype(np.float64))
    (before,) = run(module, [x, w])
    np.testing.assert_allclose(before, expected, rtol=1e-5, atol=1e-5)  # f32 sums of 12
    (after,) = run(lowered(module), [x, w])
    np.testing.assert_allclose(after, expected, rtol=1e-5, atol=1e-5)
    assert sum(isinstance(op, DotOp) for op in module.walk()) == 1


def test_a_script_tensorizes_again():
    _, _, function = loops(PAIRS)
    schedule = Schedule(function)
    tile(schedule, 2, "dot_bf16x2")
    _, module, again = loops(PAIRS)
    replay(schedule.script, again)
    assert 'intrinsic = "dot_bf16x2"' in str(module)


def test_fours_of_int8_become_a_dot():
    _, module, function = loops(FOURS)
    tile(Schedule(function), 4, "dot_u8s8x4")
    rng = np.random.default_rng(3)
    x, w = rng.integers(0, 256, (3, 8)), rng.integers(-128, 128, (1, 2, 16, 4))
    expected = x @ plain(w)
    (after,) = run(lowered(module), [x.astype(np.uint8).view(np.int8), w.astype(np.int8)])
    np.testing.assert_array_equal(after, expected)
    (dot,) = [op for op in module.walk() if isinstance(op, DotOp)]
    assert dot.unsigned is not None


@pytest.mark.parametrize("name", list(INTRINSICS))
def test_an_intrinsic_is_what_it_means(name: str):
    intrinsic = INTRINSICS[name]
    match = unify(intrinsic, intrinsic.nest)
    assert [access.memref for access in match.accesses] == list(intrinsic.buffers)


def wrong_name(s: Schedule) -> None:
    s.tensorize(s.axes("matmul")[0], "dot_bf16x3")


def wrong_trips(s: Schedule) -> None:
    _, n, k = s.axes("matmul")
    ki = s.split(k, 4)[1]
    ni = s.split(n, 16)[1]
    s.reorder(ni, ki)
    s.tensorize(ni, "dot_bf16x2")


def with_its_start(s: Schedule) -> None:
    m, n, k = s.axes("matmul")
    ko, ki = s.split(k, 2)
    no, ni = s.split(n, 16)
    s.reorder(m, no, ko, ni, ki)
    s.tensorize(ni, "dot_bf16x2")


def wrong_walk(s: Schedule) -> None:
    m, n, k = s.axes("matmul")
    s.decompose_init("matmul", m)
    ki = s.split(k, 6)[1]
    pair = s.split(ki, 3)[0]
    ni = s.split(n, 16)[1]
    s.reorder(ni, pair)
    s.reorder(*[loop for loop in s.axes("matmul") if loop not in (ni, pair)], ni, pair)
    s.tensorize(ni, "dot_bf16x2")


def marked_before(s: Schedule) -> None:
    m = s.axes("matmul")[0]
    s.parallel(m)
    s.tensorize(m, "dot_bf16x2")


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (wrong_name, "no intrinsic is named 'dot_bf16x3'"),
        (
            wrong_trips,
            "tensorize: loop %ni is no dot_bf16x2: its loops are %ni of 16 x %ko of 3 x %ki of 4,"
            " expected 16 x 2",
        ),
        (with_its_start, "has a start of its own, which decompose_init takes out"),
        (wrong_walk, "moves by 3 with %kio, expected 1"),
        (marked_before, "loop %m is already marked parallel"),
    ],
)
def test_other_loops_are_refused(script: Callable[[Schedule], None], reason: str):
    _, _, function = loops(PAIRS)
    with pytest.raises(PassFailedException) as refusal:
        script(Schedule(function))
    assert reason in str(refusal.value)


def test_signs_matter():
    _, _, function = loops(FOURS.replace("arith.extui", "arith.extsi"))
    with pytest.raises(PassFailedException, match=r"extsi computes what arith\.extui should"):
        tile(Schedule(function), 4, "dot_u8s8x4")
