"""Elementwise graph ops as formulas: the graph's interpreter is the judge."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from random_arrays import normal
from single_op import assert_equal, before_and_after, module_of

from nn_opt.dialects import graph
from nn_opt.ir.types import mlir_type

F32, F64, F16, BF16 = np.float32, np.float64, np.float16, ml_dtypes.bfloat16
I8, I32, I64, U8, U64 = np.int8, np.int32, np.int64, np.uint8, np.uint64
CORNERS = np.array([0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -2.5, 1e-30, np.inf, -np.inf, np.nan, 88.0])
INTEGERS = (I8, I32, I64, U8, U64)


def whole(dtype: Any, *shape: int, seed: int = 0, low: int | None = None) -> Any:
    info = np.iinfo(dtype)
    low = info.min if low is None else low
    return np.random.default_rng(seed).integers(low, info.max, shape, dtype, endpoint=True)


FLOAT_UNARY = [
    graph.ReluOp,
    graph.NegOp,
    graph.AbsOp,
    graph.ExpOp,
    graph.LogOp,
    graph.SqrtOp,
    graph.ReciprocalOp,
    graph.TanhOp,
    graph.SigmoidOp,
    graph.ErfOp,
    graph.SinOp,
    graph.CosOp,
    graph.TanOp,
    graph.AsinOp,
    graph.AcosOp,
    graph.AtanOp,
    graph.SinhOp,
    graph.CoshOp,
    graph.AsinhOp,
    graph.AcoshOp,
    graph.AtanhOp,
    graph.FloorOp,
    graph.CeilOp,
    graph.RoundOp,
    graph.SignOp,
    graph.SoftplusOp,
    graph.SoftsignOp,
    graph.HardSwishOp,
    graph.MishOp,
    graph.DropoutOp,
    graph.LeakyReluOp,
    graph.EluOp,
    graph.SeluOp,
    lambda x: graph.CeluOp(x, 0.7),
    graph.HardSigmoidOp,
    graph.ThresholdedReluOp,
    graph.GeluOp,
    lambda x: graph.GeluOp(x, "tanh"),
    graph.IsNaNOp,
    graph.IsInfOp,
    lambda x: graph.IsInfOp(x, detect_negative=False),
    lambda x: graph.IsInfOp(x, detect_positive=False),
]


@pytest.mark.parametrize("op", FLOAT_UNARY)
def test_float_functions_agree_in_single_precision_and_in_the_corners(op):
    assert_equal(op, np.concatenate([normal(20), CORNERS.astype(F32)]))


@pytest.mark.parametrize("op", FLOAT_UNARY)
@pytest.mark.parametrize(("dtype", "rtol"), [(F16, 2e-3), (BF16, 2e-2)])
def test_half_floats_are_computed_in_single_precision(op, dtype, rtol):
    assert_equal(op, normal(40, dtype=dtype), rtol=rtol, atol=rtol)


@pytest.mark.parametrize("op", [graph.ExpOp, graph.ErfOp, graph.GeluOp, graph.SoftplusOp])
def test_double_precision_is_kept(op):
    assert_equal(op, normal(20, dtype=F64), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize(
    "op", [graph.ReluOp, graph.NegOp, graph.AbsOp, graph.SignOp, graph.BitwiseNotOp]
)
def test_integer_functions_wrap(op, dtype):
    info = np.iinfo(dtype)
    assert_equal(op, np.array([0, 1, 5, info.max, info.min, info.max - 1], dtype))


def test_not_flips_bools():
    assert_equal(graph.NotOp, np.array([True, False]))


ARITHMETIC = [
    graph.AddOp,
    graph.SubOp,
    graph.MulOp,
    graph.DivOp,
    graph.MaximumOp,
    graph.MinimumOp,
    graph.PReluOp,
    graph.EqualOp,
    graph.LessOp,
    graph.LessEqualOp,
    graph.GreaterOp,
    graph.GreaterEqualOp,
]
MOD, FMOD = graph.ModOp, lambda x, y: graph.ModOp(x, y, fmod=True)


@pytest.mark.parametrize("op", [*ARITHMETIC, MOD, FMOD])
def test_float_arithmetic_agrees_in_all_pairs_of_corners(op):
    corners = CORNERS.astype(F32)
    assert_equal(op, corners[:, None], corners[None, :])
    assert_equal(op, normal(7, 1, 3), normal(5, 1, seed=1))


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("op", [*ARITHMETIC, MOD, FMOD])
def test_integer_arithmetic_wraps_and_divides_by_nonzero(op, dtype):
    info = np.iinfo(dtype)
    edge = np.array([1, 2, 3, 7, info.max, info.min or 1, info.max - 2], dtype)
    assert_equal(op, np.concatenate([edge, whole(dtype, 30)])[:, None], edge[None, :])


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("op", [graph.DivOp, MOD, FMOD])
def test_division_by_zero_gives_zero_and_does_not_trap(op, dtype):
    _, (result,) = before_and_after(op, whole(dtype, 9), np.zeros(1, dtype))
    np.testing.assert_array_equal(result, np.zeros(9, dtype))


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("op", [graph.BitwiseAndOp, graph.BitwiseOrOp, graph.BitwiseXorOp])
def test_bits_agree(op, dtype):
    assert_equal(op, whole(dtype, 20), whole(dtype, 20, seed=1))


@pytest.mark.parametrize("op", [graph.AndOp, graph.OrOp, graph.XorOp, graph.EqualOp])
def test_logic_agrees(op):
    assert_equal(op, np.array([[True], [False]]), np.array([True, False]))


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("direction", ["left", "right"])
def test_shifts_bring_zeros_in_even_by_all_bits(dtype, direction):
    bits = np.iinfo(dtype).bits
    amounts = np.array([0, 1, 3, bits - 1, bits, 100], dtype)
    values = whole(dtype, 6, seed=3)[:, None]
    assert_equal(lambda x, y: graph.ShiftOp(x, y, direction), values, amounts)


@pytest.mark.parametrize("exponent", [2.0, 3.0, 0.5, -1.0, 0.0, 1.0, 1.7, -2.0, 4.0])
def test_a_power_with_a_constant_exponent(exponent):
    base = np.abs(normal(9)) + 0.1

    def build(x):
        return graph.PowOp(x, graph.ConstantOp(np.array(exponent, F32)).result)

    assert_equal(build, base)
    if exponent in (2.0, 3.0, 4.0):
        assert "math.powf" not in str(_converted(build, base))


def _converted(build: Any, *arrays: Any) -> Any:
    from single_op import convert

    return convert(module_of(build, *arrays))


def test_powers_of_all_pairs_of_types():
    assert_equal(graph.PowOp, np.abs(normal(5)), normal(5, seed=2))
    assert_equal(graph.PowOp, np.abs(normal(5)), np.array([0, 1, 2, 5, -3], I64))
    assert_equal(graph.PowOp, np.array([1, 4, 9, 16], I32), np.full(4, 0.5, F32))
    assert_equal(graph.PowOp, np.array([-2, 3, 7, -1, 1], I64), np.array([5, 33, 0, 9, 63], I64))
    assert_equal(graph.PowOp, np.array([2, 1, -1, 3], I32), np.array([-1, -5, -3, -2], I64))
    assert_equal(graph.PowOp, np.array([2, 3, 15], U8), np.array([7, 5, 2], U8))


@pytest.mark.parametrize("dtype", [F32, I32, U8, bool])
def test_where_broadcasts_all_three(dtype):
    condition = np.array([[True], [False], [True]])
    a, b = normal(4), normal(2, 1, 1, seed=1)
    assert_equal(graph.WhereOp, condition, (a * 9).astype(dtype), (b * 9).astype(dtype))


@pytest.mark.parametrize("dtype", [F32, F16, I32, U8])
def test_clip_takes_either_bound_or_both(dtype):
    x = (normal(30) * 9).astype(I32).astype(dtype)
    low, high = np.array(2, dtype), np.array([5], dtype)
    assert_equal(graph.ClipOp, x, low, high)
    assert_equal(graph.ClipOp, x, low)
    assert_equal(lambda x, high: graph.ClipOp(x, None, high), x, high)


NUMBERS = (F32, F64, F16, BF16, I8, np.int16, I32, I64, U8, np.uint16, np.uint32, U64, bool)


@pytest.mark.parametrize("source", NUMBERS)
@pytest.mark.parametrize("target", NUMBERS)
def test_casts_between_all_types(source, target):
    numbers = np.array([0, 1, 2, 3, 7, 100]).astype(source)
    assert_equal(lambda x: graph.CastOp(x, mlir_type(target)), numbers, rtol=0, atol=0)


@pytest.mark.parametrize("target", [I8, I32, I64, U8, np.uint32, bool, F16])
def test_casts_truncate_and_wrap(target):
    assert_equal(
        lambda x: graph.CastOp(x, mlir_type(target)), np.array([-1.9, -0.5, 0.3, 2.7, -3.0], F32)
    )
    assert_equal(
        lambda x: graph.CastOp(x, mlir_type(target)), np.array([-1, 300, -129, 65537], I64)
    )


@pytest.mark.parametrize("shape", [(3, 5), (3, 5, 2, 2), (4,)])
def test_batch_norm_by_channel(shape):
    channels = shape[1] if len(shape) > 1 else 1
    scale, bias, mean, variance = (normal(channels, seed=i) for i in range(4))
    assert_equal(graph.BatchNormOp, normal(*shape), scale, bias, mean, np.abs(variance))


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2)])
def test_rank_zero_and_no_elements(shape):
    assert_equal(graph.ReluOp, normal(*shape))
    assert_equal(graph.AddOp, normal(*shape), np.float32(2.0).reshape(()))
