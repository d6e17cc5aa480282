"""Subgroups, atomics, asynchronous copies and fragments mean what NumPy says."""

# ruff: noqa: E501  (lines of IR)
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from one_kernel import module_of, numbers, refusal, result

from nn_opt.dialects.gpu import LIMITS, ModuleOp
from nn_opt.reference import run

# What is done with each thread's %v, of two subgroups; %w is stored.
LANES = """
  %t = gpu.thread_id x
  %v = loop.load %x0[%t] : memref<64xf32>
  {}
  loop.store %w, %x1[%t] : memref<64xf32>
"""
SHUFFLE = "%o = arith.constant {} : i32  %n = arith.constant {} : i32  %w, %valid = gpu.shuffle {} %v, %o, %n : f32"
LANE = np.arange(64)


def of_lanes(text: str, x: Any) -> Any:
    return result(LANES.format(text), ["64xf32", "64xf32"], [x], block=(64, 1, 1))


@pytest.mark.parametrize(
    ("mode", "offset", "width", "source"),
    [
        ("xor", 5, 32, LANE ^ 5),
        ("down", 3, 32, np.where(LANE % 32 < 29, LANE + 3, LANE)),
        ("up", 3, 32, np.where(LANE % 32 < 3, LANE, LANE - 3)),
        ("idx", 7, 32, LANE // 32 * 32 + 7),
        ("idx", 3, 8, LANE // 8 * 8 + 3),
        ("down", 1, 4, np.where(LANE % 4 < 3, LANE + 1, LANE)),
        ("xor", 4, 4, LANE),
    ],
)
def test_shuffle(mode: str, offset: int, width: int, source: Any):
    x = numbers(64)
    text = SHUFFLE.format(offset, width, mode)
    np.testing.assert_array_equal(of_lanes(text, x), x[source])


def test_shuffle_says_whether_there_is_such_a_lane():
    text = SHUFFLE.format(3, 32, "down").replace("%w, ", "%u, ")
    text += "%z = arith.constant 0.0 : f32  %w = arith.select %valid, %u, %z : f32"
    x = numbers(64)
    expected = np.where(LANE % 32 < 29, np.roll(x, -3), 0)
    np.testing.assert_array_equal(of_lanes(text, x), expected)


def test_rotate_and_broadcast():
    x = numbers(64)
    rotated = of_lanes("%w, %valid = gpu.rotate %v, 5, 16 : f32", x)
    np.testing.assert_array_equal(rotated, x[LANE // 16 * 16 + (LANE % 16 + 5) % 16])
    first = of_lanes("%w = gpu.subgroup_broadcast %v, first_active_lane : f32", x)
    np.testing.assert_array_equal(first, x[LANE // 32 * 32])
    text = "%l = arith.constant 9 : i32  %w = gpu.subgroup_broadcast %v, specific_lane %l : f32"
    np.testing.assert_array_equal(of_lanes(text, x), x[LANE // 32 * 32 + 9])


def test_subgroup_reduce():
    x = numbers(64)
    total = of_lanes("%w = gpu.subgroup_reduce add %v : (f32) -> f32", x)
    sums = x.reshape(2, 32).astype(np.float64).sum(1).repeat(32)
    np.testing.assert_allclose(total, sums, rtol=1e-5)
    clusters = "%w = gpu.subgroup_reduce maximumf %v cluster(size = 4, stride = 2) : (f32) -> f32"
    largest = x.reshape(8, 4, 2).max(1, keepdims=True).repeat(4, 1).reshape(64)
    np.testing.assert_array_equal(of_lanes(clusters, x), largest)


def test_reduction_of_unsigned_numbers():
    body = """
      %t = gpu.thread_id x
      %v = loop.load %x0[%t] : memref<32xi32>
      %w = gpu.subgroup_reduce {} %v : (i32) -> i32
      loop.store %w, %x1[%t] : memref<32xi32>
    """
    x = np.arange(-8, 24, dtype=np.int32)
    for kind, expected in {"maxui": -1, "maxsi": 23, "minui": 0, "minsi": -8, "or": -1}.items():
        out = result(body.format(kind), ["32xi32", "32xi32"], [x])
        assert set(out.tolist()) == {expected}


def test_all_reduce_joins_a_block():
    x = numbers(64)
    out = of_lanes("%w = gpu.all_reduce add %v { } : (f32) -> f32", x)
    np.testing.assert_allclose(out, np.full(64, x.astype(np.float64).sum()), rtol=1e-5)
    body = "%w = gpu.all_reduce %v { ^bb0(%a: f32, %b: f32): gpu.yield %a : f32 } : (f32) -> f32"
    message = refusal(LANES.format(body), ["64xf32", "64xf32"], [x], block=(64, 1, 1))
    assert "gpu.all_reduce: combines by a body" in message


def test_ballot_and_numbers_of_lanes():
    body = """
      %t = gpu.thread_id x
      %l = gpu.lane_id
      %s = gpu.subgroup_id : index
      %n = gpu.num_subgroups : index
      %z = gpu.subgroup_size : index
      %e = loop.apply (%l mod 3) + 100 * %s + 1000 * %n + 10000 * %z
      %i = arith.index_cast %e : index to i64
      %m = loop.apply %t mod 3
      %j = arith.index_cast %m : index to i64
      %one = arith.constant 1 : i64
      %p = arith.cmpi eq, %j, %one : i64
      %b = gpu.ballot %p : i64
      loop.store %i, %x0[%t, 0] : memref<64x2xi64>
      loop.store %b, %x0[%t, 1] : memref<64x2xi64>
    """
    out = result(body, ["64x2xi64"], [], block=(64, 1, 1))
    lane, group = LANE % 32, LANE // 32
    np.testing.assert_array_equal(out[:, 0], lane % 3 + 100 * group + 2000 + 320000)
    bits = [sum(1 << k for k in range(32) if (32 * g + k) % 3 == 1) for g in (0, 1)]
    assert set(out[:32, 1]) == {bits[0]}
    assert set(out[32:, 1]) == {bits[1]}


def test_part_of_a_subgroup_is_refused():
    text = "loop.if (7 - %t >= 0) { %u = gpu.subgroup_reduce add %v : (f32) -> f32 } %w = arith.addf %v, %v : f32"
    message = refusal(LANES.format(text), ["64xf32", "64xf32"], [numbers(64)], block=(64, 1, 1))
    assert "8 of the 32 threads of a subgroup come here, expected all" in message
    whole = text.replace("7 - %t", "31 - %t")
    assert of_lanes(whole, numbers(64)).shape == (64,)


def test_subgroups_that_are_not_known():
    body = LANES.format("%w = gpu.subgroup_reduce add %v : (f32) -> f32")
    module = module_of(body, ["64xf32", "64xf32"], block=(64, 1, 1))
    kernels = next(op for op in module.ops if isinstance(op, ModuleOp))
    del kernels.attributes[LIMITS]
    with pytest.raises(Exception, match="the number of threads of a subgroup is not known"):
        run(module, [numbers(64)])


# Atomics


def counted(kind: str, dtype: str, uses: bool) -> Any:
    body = f"""
      %t = gpu.thread_id x
      %b = gpu.block_id x
      %v = loop.load %x0[%b, %t] : memref<4x32x{dtype}>
      %old = gpu.atomic {kind} %v, %x1[%t mod 5] : memref<5x{dtype}>
    """
    if uses:
        body += f"loop.store %old, %x0[%b, %t] : memref<4x32x{dtype}>"
    return body


@pytest.mark.parametrize("uses", [False, True])
@pytest.mark.parametrize(
    ("kind", "ufunc"),
    [
        ("addi", np.add),
        ("maxs", np.maximum),
        ("mins", np.minimum),
        ("xori", np.bitwise_xor),
        ("maxu", np.maximum),
    ],
)
def test_atomics_of_all_blocks(kind: str, ufunc: Any, uses: bool):
    x = np.random.default_rng(1).integers(0, 1000, (4, 32)).astype(np.int32)
    out = result(counted(kind, "i32", uses), ["4x32xi32", "5xi32"], [x], grid=(4, 1, 1))
    start = np.frombuffer(b"\x5a" * 4, np.int32)[0]  # what a result holds before
    columns = x.T
    expected = [ufunc.reduce(columns[k::5], axis=None, initial=start) for k in range(5)]
    np.testing.assert_array_equal(out, expected)


def test_atomics_of_floats():
    body = """
      %t = gpu.thread_id x
      %v = loop.load %x0[%t] : memref<32xf32>
      %z = arith.constant 0.0 : f32
      loop.if (-1 * %t >= 0) { loop.store %z, %x1[0] : memref<1xf32> }
      gpu.barrier
      %old = gpu.atomic addf %v, %x1[0] : memref<1xf32>
    """
    x = numbers(32)
    assert abs(result(body, ["32xf32", "1xf32"], [x])[0] - x.astype(np.float64).sum()) < 1e-5
    message = refusal(body.replace("gpu.barrier", ""), ["32xf32", "1xf32"], [x])
    assert (
        "data race: thread (1, 0, 0) changes by an atomic element [0] of %x1, which thread (0, 0, 0) writes"
        in message
    )


def test_atomic_assign_gives_what_was_there():
    body = """
      %t = gpu.thread_id x
      %i = arith.index_cast %t : index to i32
      %old = gpu.atomic assign %i, %x0[0] : memref<1xi32>
      loop.store %old, %x1[%t] : memref<32xi32>
    """
    start = np.array([77], np.int32)
    out = result(body, ["1xi32", "32xi32"], [start])
    assert sorted(out.tolist()) == [*range(31), 77]


# Asynchronous copies

COPIES = """
  %t = gpu.thread_id x
  %tile = loop.alloc "tile" : memref<2x128xf32, "shared">
  gpu.async_copy 4 %x0[0, 4 * %t] to %tile[0, 4 * %t] : memref<2x128xf32> to memref<2x128xf32, "shared">
  gpu.async_commit
  gpu.async_copy 4 %x0[1, 4 * %t] to %tile[1, 4 * %t] : memref<2x128xf32> to memref<2x128xf32, "shared">
  gpu.async_commit
  gpu.async_wait 1
  gpu.barrier
  %a = loop.load %tile[0, 127 - %t] : memref<2x128xf32, "shared">
  loop.store %a, %x1[0, %t] : memref<2x32xf32>
  gpu.async_wait 0
  gpu.barrier
  %b = loop.load %tile[1, 127 - %t] : memref<2x128xf32, "shared">
  loop.store %b, %x1[1, %t] : memref<2x32xf32>
"""
COPIED = ["2x128xf32", "2x32xf32"]


def test_groups_of_copies_end_in_their_order():
    x = numbers(2, 128)
    np.testing.assert_array_equal(result(COPIES, COPIED, [x]), x[:, :95:-1])


def test_copies_need_a_wait_and_a_barrier():
    x = numbers(2, 128)
    no_wait = refusal(COPIES.replace("gpu.async_wait 0\n  gpu.barrier", "gpu.barrier"), COPIED, [x])
    assert "reads element [1, 127] of 'tile', which is being copied to" in no_wait
    assert "hint: wait for the copy by gpu.async_wait" in no_wait
    no_barrier = refusal(
        COPIES.replace("gpu.async_wait 0\n  gpu.barrier", "gpu.async_wait 0"), COPIED, [x]
    )
    assert (
        "data race: thread (0, 0, 0) reads element [1, 127] of 'tile', which thread (31, 0, 0) writes"
        in no_barrier
    )


def test_copies_race_with_what_others_write():
    body = COPIES.replace(
        "gpu.async_copy 4 %x0[0, 4 * %t]",
        '%z = arith.constant 0.0 : f32  loop.store %z, %tile[0, %t] : memref<2x128xf32, "shared">  gpu.async_copy 4 %x0[0, 4 * %t]',
        1,
    )
    assert "gpu.async_copy: data race: thread (0, 0, 0) writes element [0, 1]" in refusal(
        body, COPIED, [numbers(2, 128)]
    )


# Fragments

FRAGMENTS = """
  %t = gpu.thread_id x
  %o = arith.constant 0 : index
  %z = arith.constant 0.0 : f32
  %a = gpu.subgroup_mma_load_matrix %x0[%o, %o] {leadDimension = 16 : index} : memref<16x16xf16> -> !gpu.mma_matrix<16x16xf16, "AOp">
  %b = gpu.subgroup_mma_load_matrix %x1[%o, %o] {leadDimension = 16 : index, transpose} : memref<16x16xf16> -> !gpu.mma_matrix<16x16xf16, "BOp">
  %c = gpu.subgroup_mma_constant_matrix %z : !gpu.mma_matrix<16x16xf32, "COp">
  %d = gpu.subgroup_mma_compute %a, %b, %c : !gpu.mma_matrix<16x16xf16, "AOp">, !gpu.mma_matrix<16x16xf16, "BOp"> -> !gpu.mma_matrix<16x16xf32, "COp">
  %e = gpu.subgroup_mma_elementwise addf %d, %d : (!gpu.mma_matrix<16x16xf32, "COp">, !gpu.mma_matrix<16x16xf32, "COp">) -> !gpu.mma_matrix<16x16xf32, "COp">
  gpu.subgroup_mma_store_matrix %e, %x2[%o, %o] {leadDimension = 16 : index} : !gpu.mma_matrix<16x16xf32, "COp">, memref<16x16xf32>
"""
MATRICES = ["16x16xf16", "16x16xf16", "16x16xf32"]


def test_fragments_multiply():
    a, b = numbers(16, 16).astype(np.float16), numbers(16, 16, seed=1).astype(np.float16)
    expected = 2 * (a.astype(np.float64) @ b.T.astype(np.float64))
    np.testing.assert_allclose(result(FRAGMENTS, MATRICES, [a, b]), expected, rtol=1e-5, atol=1e-5)


def test_fragments_stay_inside():
    a = np.zeros((16, 16), np.float16)
    body = FRAGMENTS.replace("%o = arith.constant 0", "%o = arith.constant 1")
    assert "reaches element 272 of a buffer of 256" in refusal(body, MATRICES, [a, a])


def test_two_subgroups_may_not_store_one_fragment():
    a = numbers(16, 16).astype(np.float16)
    message = refusal(FRAGMENTS, MATRICES, [a, a], block=(64, 1, 1))
    assert (
        "gpu.subgroup_mma_store_matrix: data race: thread (0, 0, 0) writes element [0, 0] of %x2"
        in message
    )
