"""arith and math on NumPy scalars and arrays: exact dtypes, integers wrap around.

Each rule is one line of NumPy; it works element by element, so a whole tensor can pass through.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias, cast

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects import math as math_dialect
from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.interpreter import InterpreterFunctions, PythonValues
from xdsl.ir import Attribute, Operation

from nn_opt.ir.remf import RemFOp
from nn_opt.ir.resources import Array, array_of
from nn_opt.ir.types import element_type, numpy_dtype
from nn_opt.reference.tables import Meaning, functions_of

Unary: TypeAlias = Callable[[Any], Any]
Binary: TypeAlias = Callable[[Any, Any], Any]
Rule: TypeAlias = Unary | Binary | Callable[[Any, Any, Any], Any]


def as_type(value: Any, type_: Attribute) -> Any:
    """Return a value as the dtype of a type: integers wrap, floats round to nearest."""
    dtype = numpy_dtype(element_type(type_))
    array = np.asarray(value)
    if dtype == np.bool_ and array.dtype.kind in "iu":
        array = array & 1
    return array.astype(dtype)[()]


def signed(value: Any) -> Any:
    """Return an integer as it is, a bool as 0 or -1: what `i1` means as a signed number."""
    array = np.asarray(value)
    return -array.astype(np.int8) if array.dtype == np.bool_ else array


def unsigned(value: Any) -> Any:
    """Return the bits of an integer as an unsigned number."""
    array = np.asarray(value)
    if array.dtype == np.bool_:
        return array.astype(np.uint8)
    return array.view(f"u{array.itemsize}")


def _truncated_division(a: Any, b: Any) -> Any:
    quotient = a // b
    inexact = quotient * b != a
    return quotient + (inexact & ((a < 0) != (b < 0)))


def _wide(value: Any) -> Any:
    array = np.asarray(value)
    return array.astype(np.longdouble if array.dtype == np.float64 else np.float64)


def fused_multiply_add(a: Any, b: Any, c: Any) -> Any:
    """Return a * b + c rounded once (for f64: nearly, through extended precision)."""
    return _wide(a) * _wide(b) + _wide(c)


def _round_half_away(x: Any) -> Any:
    whole = np.trunc(x)
    return whole + np.where(np.abs(x - whole) >= 0.5, np.copysign(1, x), 0)


def _elementwise(function: Callable[[float], float]) -> Unary:
    vectorized = np.vectorize(function, otypes=[np.float64])

    def rule(x: Any) -> Any:
        return vectorized(np.asarray(x, np.float64))

    return rule


def _count_bits(count: Callable[[int, int], int]) -> Unary:
    vectorized = np.vectorize(count, otypes=[np.int64])

    def rule(x: Any) -> Any:
        return vectorized(x.astype(object), 8 * x.itemsize)

    return rule


SIGNED: dict[type[Operation], Rule] = {
    arith.AddiOp: np.add,
    arith.SubiOp: np.subtract,
    arith.MuliOp: np.multiply,
    arith.DivSIOp: _truncated_division,
    arith.FloorDivSIOp: np.floor_divide,
    arith.CeilDivSIOp: lambda a, b: a // b + (a % b != 0),
    arith.RemSIOp: np.fmod,
    arith.MinSIOp: np.minimum,
    arith.MaxSIOp: np.maximum,
    arith.AndIOp: np.bitwise_and,
    arith.OrIOp: np.bitwise_or,
    arith.XOrIOp: np.bitwise_xor,
    arith.ShLIOp: np.left_shift,
    arith.ShRSIOp: np.right_shift,
    arith.SIToFPOp: np.asarray,
    arith.ExtSIOp: np.asarray,
    arith.TruncIOp: np.asarray,
    arith.IndexCastOp: np.asarray,
    math_dialect.AbsIOp: np.abs,
    math_dialect.IPowIOp: np.power,
}
UNSIGNED: dict[type[Operation], Rule] = {
    arith.DivUIOp: np.floor_divide,
    arith.CeilDivUIOp: lambda a, b: a // b + (a % b != 0),
    arith.RemUIOp: np.remainder,
    arith.MinUIOp: np.minimum,
    arith.MaxUIOp: np.maximum,
    arith.ShRUIOp: np.right_shift,
    arith.UIToFPOp: np.asarray,
    arith.ExtUIOp: np.asarray,
    math_dialect.CountLeadingZerosOp: _count_bits(lambda v, width: width - v.bit_length()),
    math_dialect.CountTrailingZerosOp: _count_bits(
        lambda v, width: (v & -v).bit_length() - 1 if v else width
    ),
    math_dialect.CtPopOp: _count_bits(lambda v, width: v.bit_count()),
}
FLOAT: dict[type[Operation], Rule] = {
    arith.AddfOp: np.add,
    arith.SubfOp: np.subtract,
    arith.MulfOp: np.multiply,
    arith.DivfOp: np.divide,
    arith.NegfOp: np.negative,
    arith.MaximumfOp: np.maximum,
    arith.MinimumfOp: np.minimum,
    arith.MaxnumfOp: np.fmax,
    arith.MinnumfOp: np.fmin,
    RemFOp: np.fmod,
    arith.SelectOp: np.where,
    arith.FPToSIOp: np.trunc,
    arith.FPToUIOp: np.trunc,
    arith.ExtFOp: np.asarray,
    arith.TruncFOp: np.asarray,
    math_dialect.AbsFOp: np.abs,
    math_dialect.AcosOp: np.arccos,
    math_dialect.AcoshOp: np.arccosh,
    math_dialect.AsinOp: np.arcsin,
    math_dialect.AsinhOp: np.arcsinh,
    math_dialect.AtanOp: np.arctan,
    math_dialect.AtanhOp: np.arctanh,
    math_dialect.Atan2Op: np.arctan2,
    math_dialect.CbrtOp: np.cbrt,
    math_dialect.CeilOp: np.ceil,
    math_dialect.CopySignOp: np.copysign,
    math_dialect.CosOp: np.cos,
    math_dialect.CoshOp: np.cosh,
    math_dialect.ErfOp: _elementwise(math.erf),
    math_dialect.Exp2Op: np.exp2,
    math_dialect.ExpM1Op: np.expm1,
    math_dialect.ExpOp: np.exp,
    math_dialect.FPowIOp: np.power,
    math_dialect.FloorOp: np.floor,
    math_dialect.FmaOp: fused_multiply_add,
    math_dialect.Log10Op: np.log10,
    math_dialect.Log1pOp: np.log1p,
    math_dialect.Log2Op: np.log2,
    math_dialect.LogOp: np.log,
    math_dialect.PowFOp: np.power,
    math_dialect.RoundEvenOp: np.rint,
    math_dialect.RoundOp: _round_half_away,
    math_dialect.RsqrtOp: lambda x: 1 / np.sqrt(x),
    math_dialect.SinOp: np.sin,
    math_dialect.SinhOp: np.sinh,
    math_dialect.SqrtOp: np.sqrt,
    math_dialect.TanOp: np.tan,
    math_dialect.TanhOp: np.tanh,
    math_dialect.TruncOp: np.trunc,
}

# Indexed by the predicate's number, as MLIR numbers them.
INTEGER_PREDICATES: list[Binary] = [
    np.equal,
    np.not_equal,
    lambda a, b: signed(a) < signed(b),
    lambda a, b: signed(a) <= signed(b),
    lambda a, b: signed(a) > signed(b),
    lambda a, b: signed(a) >= signed(b),
    lambda a, b: unsigned(a) < unsigned(b),
    lambda a, b: unsigned(a) <= unsigned(b),
    lambda a, b: unsigned(a) > unsigned(b),
    lambda a, b: unsigned(a) >= unsigned(b),
]


def _unordered(a: Any, b: Any) -> Any:
    return np.isnan(a) | np.isnan(b)


def _or_unordered(compare: Binary) -> Binary:
    def rule(a: Any, b: Any) -> Any:
        return compare(a, b) | _unordered(a, b)

    return rule


FLOAT_PREDICATES: list[Binary] = [
    lambda a, b: np.zeros_like(_unordered(a, b)),
    np.equal,
    np.greater,
    np.greater_equal,
    np.less,
    np.less_equal,
    lambda a, b: (a != b) & ~_unordered(a, b),
    lambda a, b: ~_unordered(a, b),
    _or_unordered(np.equal),
    _or_unordered(np.greater),
    _or_unordered(np.greater_equal),
    _or_unordered(np.less),
    _or_unordered(np.less_equal),
    np.not_equal,
    _unordered,
    lambda a, b: np.ones_like(_unordered(a, b)),
]


def _typed(rule: Rule, view: Unary) -> Meaning:
    call = cast(Callable[..., Any], rule)

    def run(op: Operation, values: PythonValues) -> PythonValues:
        with np.errstate(all="ignore"):
            return (as_type(call(*map(view, values)), op.results[0].type),)

    return run


def _compare_integers(op: Operation, values: PythonValues) -> PythonValues:
    predicate = cast(arith.CmpiOp, op).predicate.value.data
    return (INTEGER_PREDICATES[predicate](*values),)


def _compare_floats(op: Operation, values: PythonValues) -> PythonValues:
    predicate = cast(arith.CmpfOp, op).predicate.value.data
    return (FLOAT_PREDICATES[predicate](*values),)


def _constant(op: Operation, values: PythonValues) -> PythonValues:
    constant = cast(arith.ConstantOp, op)
    type_ = constant.result.type
    if isinstance(constant.value, IntegerAttr | FloatAttr):
        return (as_type(constant.value.value.data, type_),)
    return (array_of(constant.value, type_),)


def _bitcast(op: Operation, values: PythonValues) -> PythonValues:
    array: Array = np.asarray(values[0])
    return (array.view(numpy_dtype(element_type(op.results[0])))[()],)


FUNCTIONS: list[type[InterpreterFunctions]] = [
    functions_of(
        {
            **{op: _typed(rule, signed) for op, rule in SIGNED.items()},
            **{op: _typed(rule, unsigned) for op, rule in UNSIGNED.items()},
            **{op: _typed(rule, np.asarray) for op, rule in FLOAT.items()},
            arith.CmpiOp: _compare_integers,
            arith.CmpfOp: _compare_floats,
            arith.ConstantOp: _constant,
            arith.BitcastOp: _bitcast,
        }
    )
]
