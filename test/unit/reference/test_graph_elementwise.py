"""Elementwise ops in the interpreter of graph against onnxruntime or onnx's own reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from against_onnx import (
    F32,
    F64,
    I32,
    I64,
    ONNX_TYPES,
    U8,
    check,
    normal,
    ours,
    theirs,
    values,
    whole,
)

from nn_opt.dialects import graph
from nn_opt.ir.types import mlir_type
from nn_opt.reference.graph import evaluate

SPECIAL = np.array([-np.inf, -3.5, -2.5, -1.0, -0.5, -0.0, 0.5, 1.5, 2.5, np.inf, np.nan], F32)

INSIDE = np.linspace(-0.9, 0.9, 13).astype(F32)

UNARY = [
    (graph.ReluOp, "Relu", {}, SPECIAL),
    (graph.NegOp, "Neg", {}, SPECIAL),
    (graph.AbsOp, "Abs", {}, SPECIAL),
    (graph.AbsOp, "Abs", {}, whole(-9, 9, 6)),
    (graph.ExpOp, "Exp", {}, normal(20)),
    (graph.LogOp, "Log", {}, np.abs(normal(20))),
    (graph.SqrtOp, "Sqrt", {}, np.abs(normal(20))),
    (graph.ReciprocalOp, "Reciprocal", {}, normal(20)),
    (graph.TanhOp, "Tanh", {}, normal(20)),
    (graph.SigmoidOp, "Sigmoid", {}, normal(20, scale=9)),
    (graph.ErfOp, "Erf", {}, normal(20)),
    (graph.SinOp, "Sin", {}, normal(20)),
    (graph.CosOp, "Cos", {}, normal(20)),
    (graph.TanOp, "Tan", {}, INSIDE),
    (graph.AsinOp, "Asin", {}, INSIDE),
    (graph.AcosOp, "Acos", {}, INSIDE),
    (graph.AtanOp, "Atan", {}, normal(20)),
    (graph.SinhOp, "Sinh", {}, normal(20)),
    (graph.CoshOp, "Cosh", {}, normal(20)),
    (graph.AsinhOp, "Asinh", {}, normal(20)),
    (graph.AcoshOp, "Acosh", {}, 1 + np.abs(normal(20))),
    (graph.AtanhOp, "Atanh", {}, INSIDE),
    (graph.FloorOp, "Floor", {}, SPECIAL),
    (graph.CeilOp, "Ceil", {}, SPECIAL),
    (graph.RoundOp, "Round", {}, SPECIAL),
    (graph.SignOp, "Sign", {}, SPECIAL[:-1]),
    (graph.SoftplusOp, "Softplus", {}, normal(20, scale=30)),
    (graph.SoftsignOp, "Softsign", {}, normal(20)),
    (graph.HardSwishOp, "HardSwish", {}, normal(20, scale=4)),
    (graph.MishOp, "Mish", {}, normal(20)),
    (graph.NotOp, "Not", {}, np.array([True, False])),
    (graph.BitwiseNotOp, "BitwiseNot", {}, whole(0, 255, 5, dtype=U8)),
    (graph.LeakyReluOp, "LeakyRelu", {"alpha": 0.2}, SPECIAL),
    (graph.EluOp, "Elu", {"alpha": 1.5}, normal(20)),
    (graph.SeluOp, "Selu", {"alpha": 1.2, "gamma": 0.9}, normal(20)),
    (graph.CeluOp, "Celu", {"alpha": 0.7}, normal(20)),
    (graph.HardSigmoidOp, "HardSigmoid", {"alpha": 0.3, "beta": 0.4}, normal(20, scale=4)),
    (graph.ThresholdedReluOp, "ThresholdedRelu", {"alpha": 0.4}, normal(20)),
    (graph.GeluOp, "Gelu", {"approximate": "none"}, normal(20)),
    (graph.GeluOp, "Gelu", {"approximate": "tanh"}, normal(20)),
    (graph.IsNaNOp, "IsNaN", {}, SPECIAL),
]


@pytest.mark.parametrize(("op", "kind", "attributes", "x"), UNARY)
def test_unary(op: Any, kind: str, attributes: dict[str, Any], x: np.ndarray):
    check(ours(lambda v: op(v, **attributes), x), theirs(kind, [x], **attributes))


@pytest.mark.parametrize("flags", [(True, True), (True, False), (False, True), (False, False)])
def test_isinf_detects_the_signs_asked_for(flags: tuple[bool, bool]):
    negative, positive = flags
    expected = theirs(
        "IsInf", [SPECIAL], detect_negative=int(negative), detect_positive=int(positive)
    )
    check(ours(lambda v: graph.IsInfOp(v, negative, positive), SPECIAL), expected)


A, B = normal(2, 3, 4), normal(3, 1, seed=1)

IA, IB = whole(-20, 20, 3, 5), np.array([[-3], [2], [7]], I64)

BITS = whole(0, 255, 3, 5, dtype=U8), whole(0, 8, 5, dtype=U8)

BOOLS = np.array([[True], [False]]), np.array([True, False, True])

BINARY = [
    (graph.AddOp, "Add", A, B),
    (graph.AddOp, "Add", *BITS),
    (graph.SubOp, "Sub", A, B),
    (graph.SubOp, "Sub", *BITS),
    (graph.MulOp, "Mul", A, B),
    (graph.DivOp, "Div", A, B),
    (graph.DivOp, "Div", IA, IB),
    (graph.MaximumOp, "Max", A, B),
    (graph.MinimumOp, "Min", A, B),
    (graph.MaximumOp, "Max", SPECIAL, SPECIAL[::-1].copy()),
    (graph.MinimumOp, "Min", SPECIAL, SPECIAL[::-1].copy()),
    (graph.PReluOp, "PRelu", A, B),
    (graph.PowOp, "Pow", np.abs(A), B),
    (graph.PowOp, "Pow", A, whole(0, 4, 4)),
    (graph.PowOp, "Pow", IA, whole(0, 4, 5)),
    (graph.AndOp, "And", *BOOLS),
    (graph.OrOp, "Or", *BOOLS),
    (graph.XorOp, "Xor", *BOOLS),
    (graph.BitwiseAndOp, "BitwiseAnd", *BITS),
    (graph.BitwiseOrOp, "BitwiseOr", *BITS),
    (graph.BitwiseXorOp, "BitwiseXor", *BITS),
    (graph.EqualOp, "Equal", IA, IB),
    (graph.LessOp, "Less", A, B),
    (graph.LessEqualOp, "LessOrEqual", IA, IB),
    (graph.GreaterOp, "Greater", A, B),
    (graph.GreaterEqualOp, "GreaterOrEqual", IA, IB),
    (graph.ModOp, "Mod", IA, IB),
]


@pytest.mark.parametrize(("op", "kind", "x", "y"), BINARY)
def test_binary(op: Any, kind: str, x: np.ndarray, y: np.ndarray):
    check(ours(op, x, y), theirs(kind, [x, y]))


@pytest.mark.parametrize(("x", "y"), [(A, B), (IA, IB)])
def test_fmod_has_the_sign_of_the_dividend(x: np.ndarray, y: np.ndarray):
    check(ours(lambda a, b: graph.ModOp(a, b, fmod=True), x, y), theirs("Mod", [x, y], fmod=1))


@pytest.mark.parametrize("direction", ["left", "right"])
def test_shift(direction: str):
    expected = theirs("BitShift", [*BITS], direction=direction.upper())
    check(ours(lambda a, b: graph.ShiftOp(a, b, direction), *BITS), expected)


def test_right_shift_of_a_signed_integer_brings_in_zeros():
    x, y = np.array([-1], np.int8), np.array([4], np.int8)
    assert ours(lambda a, b: graph.ShiftOp(a, b, "right"), x, y).tolist() == [15]


def test_integer_division_is_exact_and_survives_zero():
    x = np.array([2**53 + 1, -7, 7, 5, np.iinfo(I64).min], I64)
    y = np.array([1, 2, -2, 0, -1], I64)
    assert ours(graph.DivOp, x, y)[:3].tolist() == [2**53 + 1, -3, -3]


def test_integer_powers_of_negative_exponents_truncate():
    x, y = np.array([2, 1, -1], I64), np.array([-1, -3, -3], I64)
    assert ours(graph.PowOp, x, y).tolist() == [0, 1, -1]


def test_where():
    condition = np.array([[True], [False], [True]])
    check(ours(graph.WhereOp, condition, A, B), theirs("Where", [condition, A, B]))


LOW, HIGH = np.array(-0.5, F32), np.array(0.75, F32)


@pytest.mark.parametrize(("low", "high"), [(LOW, HIGH), (LOW, None), (None, HIGH), (None, None)])
def test_clip(low: Any, high: Any):
    finite = SPECIAL[np.abs(SPECIAL) != np.inf]  # without a bound, onnxruntime clips inf to max
    given = [bound for bound in (low, high) if bound is not None]
    x, *bounds = values(finite, *given)
    op = graph.ClipOp(
        x,
        bounds.pop(0) if low is not None else None,
        bounds.pop(0) if high is not None else None,
    )
    op.verify()
    check(evaluate(op, [finite, *given])[0], theirs("Clip", [finite, low, high]))


@pytest.mark.parametrize(
    ("x", "dtype"),
    [
        (np.array([-1.9, -0.5, 0.5, 1.9], F32), I32),
        (np.array([0.0, -0.0, 0.1, -3], F32), bool),
        (np.array([-1, 0, 255, 256, 300], I32), U8),
        (np.array([True, False]), F32),
        (np.array([0, 1, -2], I64), bool),
        (np.array([1 / 3, 1e-8, 65504], F32), np.float16),
        (np.array([2**40 + 1], I64), F64),
    ],
)
def test_cast(x: np.ndarray, dtype: Any):
    expected = theirs("Cast", [x], to=ONNX_TYPES[np.dtype(dtype)])
    check(ours(lambda v: graph.CastOp(v, mlir_type(np.dtype(dtype))), x), expected)


def test_bfloat16_rounds_once():
    x = normal(4, 5).astype(mlir_bf16())
    actual = ours(graph.ExpOp, x)
    assert actual.dtype == x.dtype
    np.testing.assert_array_equal(actual, np.exp(x.astype(F64)).astype(x.dtype))


def mlir_bf16() -> Any:
    import ml_dtypes

    return ml_dtypes.bfloat16
