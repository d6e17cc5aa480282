"""arith, math and vector mean what LLVM and C say, in every dtype."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.ir.parsing import make_context, parse_module
from nn_opt.reference import run


def evaluate(expression: str, result: str, *arguments: tuple[str, Any]) -> Any:
    """Run one op on arguments %0, %1, ... given as (type, value)."""
    signature = ", ".join(f"%a{n}: {type_}" for n, (type_, _) in enumerate(arguments))
    text = (
        f"func.func @f({signature}) -> {result} {{\n"
        f"  %r = {expression}\n  func.return %r : {result}\n}}\n"
    )
    module = parse_module(make_context(), text, "m.mlir")
    (value,) = run(module, [np.asarray(value) for _, value in arguments])
    return value


def binary(name: str, type_: str, a: Any, b: Any) -> Any:
    return evaluate(f"{name} %a0, %a1 : {type_}", type_, (type_, a), (type_, b))


# By hand, from two's complement and C's rules.
INTEGERS = [
    ("arith.addi", "i8", 127, 1, -128),
    ("arith.subi", "i8", -128, 1, 127),
    ("arith.muli", "i8", 100, 100, 16),
    ("arith.muli", "i64", 1 << 62, 4, 0),
    ("arith.divsi", "i32", -7, 2, -3),
    ("arith.divsi", "i32", 7, -2, -3),
    ("arith.remsi", "i32", -7, 2, -1),
    ("arith.floordivsi", "i32", -7, 2, -4),
    ("arith.ceildivsi", "i32", 7, 2, 4),
    ("arith.ceildivsi", "i8", -128, 5, -25),
    ("arith.ceildivsi", "i8", -128, -7, 19),
    ("arith.divui", "i8", -1, 2, 127),
    ("arith.remui", "i8", -1, 16, 15),
    ("arith.minsi", "i8", -1, 1, -1),
    ("arith.minui", "i8", -1, 1, 1),
    ("arith.maxui", "i8", -1, 1, -1),
    ("arith.shrsi", "i8", -128, 3, -16),
    ("arith.shrui", "i8", -128, 3, 16),
    ("arith.shli", "i8", 1, 7, -128),
    ("arith.andi", "i8", 12, 10, 8),
    ("arith.ori", "i8", 12, 10, 14),
    ("arith.xori", "i8", 12, 10, 6),
    ("arith.addi", "i1", True, True, False),
    ("arith.andi", "i1", True, False, False),
    ("arith.xori", "i1", True, True, False),
    ("arith.addi", "index", 3, 4, 7),
]


@pytest.mark.parametrize(("name", "type_", "a", "b", "expected"), INTEGERS)
def test_integer_arithmetic(name: str, type_: str, a: int, b: int, expected: int):
    dtype = {"i1": bool, "i8": np.int8, "i32": np.int32}.get(type_, np.int64)
    value = binary(name, type_, np.array(a).astype(dtype), np.array(b).astype(dtype))
    assert value.dtype == dtype
    assert value == expected


CASTS = [
    ("arith.extsi", "i8", "i32", np.int8(-1), np.int32(-1)),
    ("arith.extui", "i8", "i32", np.int8(-1), np.int32(255)),
    ("arith.extsi", "i1", "i32", np.bool_(True), np.int32(-1)),
    ("arith.extui", "i1", "i32", np.bool_(True), np.int32(1)),
    ("arith.trunci", "i32", "i8", np.int32(511), np.int8(-1)),
    ("arith.trunci", "i32", "i1", np.int32(2), np.bool_(False)),
    ("arith.sitofp", "i8", "f32", np.int8(-1), np.float32(-1)),
    ("arith.uitofp", "i8", "f32", np.int8(-1), np.float32(255)),
    ("arith.uitofp", "i1", "f32", np.bool_(True), np.float32(1)),
    ("arith.fptosi", "f32", "i32", np.float32(-2.7), np.int32(-2)),
    ("arith.fptoui", "f32", "i8", np.float32(200.9), np.int8(-56)),
    ("arith.truncf", "f64", "f32", np.float64(0.1), np.float32(0.1)),
    ("arith.truncf", "f32", "bf16", np.float32(1.00390625), ml_dtypes.bfloat16(1.0)),
    ("arith.extf", "f16", "f32", np.float16(0.1), np.float32(np.float16(0.1))),
    ("arith.index_cast", "i32", "index", np.int32(-5), np.int64(-5)),
    ("arith.bitcast", "f32", "i32", np.float32(1), np.int32(0x3F800000)),
]


@pytest.mark.parametrize(("name", "source", "target", "value", "expected"), CASTS)
def test_casts(name: str, source: str, target: str, value: Any, expected: Any):
    result = evaluate(f"{name} %a0 : {source} to {target}", target, (source, value))
    assert result.dtype == expected.dtype
    assert result == expected


@pytest.mark.parametrize("element", ["f16", "bf16", "f32", "f64"])
@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("exp", math.exp),
        ("log", math.log),
        ("tanh", math.tanh),
        ("erf", math.erf),
        ("sqrt", math.sqrt),
        ("rsqrt", lambda x: 1 / math.sqrt(x)),
        ("sin", math.sin),
        ("atan", math.atan),
        ("absf", abs),
        ("floor", math.floor),
        ("roundeven", round),
    ],
)
def test_math_functions(name: str, function: Any, element: str):
    dtypes = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64}
    dtype = np.dtype(dtypes[element])
    x = dtype.type(0.7)
    value = evaluate(f"math.{name} %a0 : {element}", element, (element, x))
    assert value.dtype == dtype
    exact = function(float(x))
    # Two units of rounding: the function's own and that of its half-precision detour.
    assert abs(float(value) - exact) <= 2 * float(ml_dtypes.finfo(dtype).eps) * max(1, abs(exact))


def test_half_away_from_zero():
    x = np.array([0.5, -0.5, 1.5, 2.5, -2.5, 0.49999997], np.float32)
    value = evaluate("math.round %a0 : vector<6xf32>", "vector<6xf32>", ("vector<6xf32>", x))
    np.testing.assert_array_equal(value, [1, -1, 2, 3, -3, 0])


def test_fused_multiply_add_rounds_once():
    a = np.float32(1 + 2.0**-12)
    value = evaluate("math.fma %a0, %a0, %a1 : f32", "f32", ("f32", a), ("f32", np.float32(-1)))
    assert value == np.float32(2.0**-11 + 2.0**-24)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("arith.maximumf", math.nan),
        ("arith.minimumf", math.nan),
        ("arith.maxnumf", 1.0),
        ("arith.minnumf", 1.0),
    ],
)
def test_extremes_of_nan(name: str, expected: float):
    value = binary(name, "f32", np.float32(np.nan), np.float32(1))
    np.testing.assert_equal(value, np.float32(expected))


@pytest.mark.parametrize(
    ("predicate", "less", "equal", "greater", "unordered"),
    [
        ("false", 0, 0, 0, 0),
        ("oeq", 0, 1, 0, 0),
        ("ogt", 0, 0, 1, 0),
        ("oge", 0, 1, 1, 0),
        ("olt", 1, 0, 0, 0),
        ("ole", 1, 1, 0, 0),
        ("one", 1, 0, 1, 0),
        ("ord", 1, 1, 1, 0),
        ("ueq", 0, 1, 0, 1),
        ("ugt", 0, 0, 1, 1),
        ("uge", 0, 1, 1, 1),
        ("ult", 1, 0, 0, 1),
        ("ule", 1, 1, 0, 1),
        ("une", 1, 0, 1, 1),
        ("uno", 0, 0, 0, 1),
        ("true", 1, 1, 1, 1),
    ],
)
def test_float_predicates(predicate: str, less: int, equal: int, greater: int, unordered: int):
    pairs = [(1, 2), (2, 2), (2, 1), (np.nan, 1)]
    actual = [
        int(
            evaluate(
                f"arith.cmpf {predicate}, %a0, %a1 : f32",
                "i1",
                ("f32", np.float32(a)),
                ("f32", np.float32(b)),
            )
        )
        for a, b in pairs
    ]
    assert actual == [less, equal, greater, unordered]


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [("slt", True), ("ult", False), ("sge", False), ("uge", True), ("eq", False), ("ne", True)],
)
def test_integer_predicates(predicate: str, expected: bool):
    value = evaluate(
        f"arith.cmpi {predicate}, %a0, %a1 : i8",
        "i1",
        ("i8", np.int8(-1)),
        ("i8", np.int8(1)),
    )
    assert value == expected


@pytest.mark.parametrize(("kind", "expected"), [("add", 6), ("mul", 0), ("maximumf", 3)])
def test_vector_reductions(kind: str, expected: float):
    x = np.arange(4, dtype=np.float32)
    op = f"vector.reduction <{kind}>, %a0 : vector<4xf32> into f32"
    value = evaluate(op, "f32", ("vector<4xf32>", x))
    assert value.dtype == np.float32
    assert value == expected


def test_constants():
    assert evaluate("arith.constant -1 : i8", "i8") == -1
    assert evaluate("arith.constant true", "i1")
    dense = "arith.constant dense<[1.0, 2.0]> : vector<2xf32>"
    np.testing.assert_array_equal(evaluate(dense, "vector<2xf32>"), [1, 2])


def test_calls_and_entry():
    text = (
        "func.func @double(%x: f32) -> f32 {\n  %r = arith.addf %x, %x : f32\n"
        "  func.return %r : f32\n}\n"
        "func.func @main(%x: f32) -> f32 {\n"
        "  %r = func.call @double(%x) : (f32) -> f32\n  func.return %r : f32\n}\n"
    )
    module = parse_module(make_context(), text, "m.mlir")
    assert run(module, [np.asarray(3, np.float32)]) == [6]
    with pytest.raises(DiagnosticError, match="takes 1 inputs, 0 given"):
        run(module, [])


def test_no_entry_is_a_message():
    two = "func.func @f() {\n  func.return\n}\nfunc.func @g() {\n  func.return\n}\n"
    with pytest.raises(DiagnosticError, match="no function @main to run; there are: @f, @g"):
        run(parse_module(make_context(), two, "m.mlir"), [])
