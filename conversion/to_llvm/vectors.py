"""vector ops: lanes made equal, and lanes combined."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import llvm, vector
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, IntegerType, VectorType
from xdsl.ir import Operation, SSAValue

from nn_opt.conversion.to_llvm.accesses import splat
from nn_opt.conversion.to_llvm.code import Code, Rule
from nn_opt.conversion.to_llvm.extremes import maximum, minimum
from nn_opt.conversion.to_llvm.halving import Combine, reduce_by_halves
from nn_opt.conversion.to_llvm.intrinsics import intrinsic
from nn_opt.conversion.to_llvm.values import EXACT, fast
from nn_opt.ir.types import element_type

REDUCTIONS: dict[str, tuple[str, str]] = {  # of integers, of floats
    "add": ("add", "fadd"),
    "mul": ("mul", "fmul"),
    "minui": ("umin", ""),
    "minsi": ("smin", ""),
    "maxui": ("umax", ""),
    "maxsi": ("smax", ""),
    "and": ("and", ""),
    "or": ("or", ""),
    "xor": ("xor", ""),
    "minnumf": ("", "fmin"),
    "maxnumf": ("", "fmax"),
    "minimumf": ("", "fminimum"),
    "maximumf": ("", "fmaximum"),
}
NEUTRAL = {"fadd": -0.0, "fmul": 1.0}
EXTREMES: dict[str, Combine] = {"fmaximum": maximum, "fminimum": minimum}


def _float(kind: type[llvm.FAddOp | llvm.FMulOp]) -> Combine:
    flags = {"fastmathFlags": EXACT}
    return lambda code, lhs, rhs: code.emit(kind, (lhs, rhs), lhs.type, flags)


REASSOCIABLE: dict[str, Combine] = {"fadd": _float(llvm.FAddOp), "fmul": _float(llvm.FMulOp)}


def lower_broadcast(code: Code, op: vector.BroadcastOp) -> None:
    """%v = vector.broadcast %a  ->  a constant of equal lanes, or a shuffle"""
    value, type_ = code.value(op.source), code.unit.type_of(op.vector.type)
    if isinstance(value.type, VectorType):
        code.bind(op.vector, value)
    elif isinstance(value.owner, llvm.ConstantOp):
        number = value.owner.value
        assert isinstance(number, FloatAttr | IntegerAttr)
        code.bind(op.vector, code.number(number.value.data, type_))
    else:
        code.bind(op.vector, splat(code, value, type_))


def lower_reduction(code: Code, op: vector.ReductionOp) -> None:
    """%s = vector.reduction <add>, %v  ->  llvm.vector.reduce.fadd; by halves if that is free"""
    given = code.value(op.vector)
    element = element_type(given.type)
    floating = not isinstance(element, IntegerType)
    word = REDUCTIONS[op.kind.data][floating]
    combine = EXTREMES.get(word) or (REASSOCIABLE.get(word) if fast(op) != EXACT else None)
    if combine is not None:
        total = reduce_by_halves(code, given, combine)
        code.bind(op.dest, combine(code, code.value(op.acc), total) if op.acc else total)
        return
    operands: Sequence[SSAValue] = (given,)
    if word in NEUTRAL:
        start = code.value(op.acc) if op.acc else code.number(NEUTRAL[word], element)
        operands = (start, given)
    total = intrinsic(code, f"llvm.vector.reduce.{word}", operands, element, fast(op))
    if op.acc and word not in NEUTRAL:
        total = _join(code, op, word, code.value(op.acc), total)
    code.bind(op.dest, total)


JOIN: dict[str, type[Operation]] = {
    "add": llvm.AddOp,
    "mul": llvm.MulOp,
    "and": llvm.AndOp,
    "or": llvm.OrOp,
    "xor": llvm.XOrOp,
}
JOIN_BY_CALL = {
    "umin": "llvm.umin",
    "smin": "llvm.smin",
    "umax": "llvm.umax",
    "smax": "llvm.smax",
    "fmin": "llvm.minnum",
    "fmax": "llvm.maxnum",
}


def _join(
    code: Code, op: vector.ReductionOp, word: str, start: SSAValue, total: SSAValue
) -> SSAValue:
    """Return the reduction of a vector and one more value."""
    if word in JOIN:
        return code.emit(JOIN[word], (start, total), total.type)
    return intrinsic(code, JOIN_BY_CALL[word], (start, total), total.type, fast(op))


RULES: dict[type[Operation], Rule] = {
    vector.BroadcastOp: lower_broadcast,
    vector.ReductionOp: lower_reduction,
}
