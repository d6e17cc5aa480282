"""Floats rounded to whole numbers: by an instruction, or by sums where a machine has none.

Without the instruction LLVM would call the C library's function for every lane.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import llvm, math
from xdsl.dialects.builtin import Float32Type
from xdsl.ir import Attribute, Operation, SSAValue

from nn_opt.conversion.to_llvm.code import Code, Rule
from nn_opt.conversion.to_llvm.intrinsics import intrinsic
from nn_opt.conversion.to_llvm.values import EXACT, compare_floats, fast, select
from nn_opt.ir.types import element_type

GREATER, LESS = 2, 4  # predicates of llvm.fcmp: ogt, olt
_EXACT = {"fastmathFlags": EXACT}
_INSTRUCTIONS: dict[type[Operation], str] = {
    math.CeilOp: "llvm.ceil",
    math.FloorOp: "llvm.floor",
    math.RoundEvenOp: "llvm.roundeven",
    math.RoundOp: "llvm.round",
    math.TruncOp: "llvm.trunc",
}
_ROUNDS_HALVES_UP = ("x86_64", "aarch64")  # of what has instructions: those that LLVM spells out


def lower_rounding(code: Code, op: Operation) -> None:
    """%b = math.floor %a  ->  llvm.call_intrinsic "llvm.floor", or sums"""
    value, kind, target = code.value(op.operands[0]), type(op), code.unit.target
    if target.rounds and (kind is not math.RoundOp or target.architecture in _ROUNDS_HALVES_UP):
        name = _INSTRUCTIONS[kind]
        code.bind(op.results[0], intrinsic(code, name, (value,), value.type, fast(op)))
    else:
        code.bind(op.results[0], _BY_SUMS[kind](code, value))


def nearest(code: Code, value: SSAValue) -> SSAValue:
    """Return the nearest whole number, the even one of two."""
    if code.unit.target.rounds:
        return intrinsic(code, "llvm.roundeven", (value,), value.type)
    # A sum with 2^23 has no room for a fraction; larger numbers have none.
    whole = code.number(2.0 ** (23 if _is_single(value.type) else 52), value.type)
    size = code.emit(llvm.FAbsOp, (value,), value.type, _EXACT)
    moved = code.emit(llvm.FAddOp, (size, whole), value.type, _EXACT)
    back = code.emit(llvm.FSubOp, (moved, whole), value.type, _EXACT)
    signed = _with_sign(code, back, value)
    return select(code, compare_floats(code, LESS, size, whole, EXACT), signed, value)


def _is_single(type_: Attribute) -> bool:
    return isinstance(element_type(type_), Float32Type)


def _with_sign(code: Code, size: SSAValue, sign: SSAValue) -> SSAValue:
    return code.emit(llvm.FCopySignOp, (size, sign), size.type, _EXACT)


def _floor(code: Code, value: SSAValue) -> SSAValue:
    return _stepped(code, value, GREATER, llvm.FSubOp)


def _ceil(code: Code, value: SSAValue) -> SSAValue:
    return _with_sign(code, _stepped(code, value, LESS, llvm.FAddOp), value)  # -0.5: -0


def _stepped(code: Code, value: SSAValue, beyond: int, step: type[Operation]) -> SSAValue:
    """Return the nearest whole number, one step back where it is beyond the value."""
    whole = nearest(code, value)
    back = code.emit(step, (whole, code.number(1.0, value.type)), value.type, _EXACT)
    return select(code, compare_floats(code, beyond, whole, value, EXACT), back, whole)


def _trunc(code: Code, value: SSAValue) -> SSAValue:
    if code.unit.target.rounds:
        return intrinsic(code, "llvm.trunc", (value,), value.type)
    size = code.emit(llvm.FAbsOp, (value,), value.type, _EXACT)
    return _with_sign(code, _floor(code, size), value)


def _round(code: Code, value: SSAValue) -> SSAValue:
    """Add the largest number below a half, which takes no number below a half to one."""
    below = 0.5 - 2.0 ** (-25 if _is_single(value.type) else -54)
    half = _with_sign(code, code.number(below, value.type), value)
    return _trunc(code, code.emit(llvm.FAddOp, (value, half), value.type, _EXACT))


_BY_SUMS: dict[type[Operation], Callable[[Code, SSAValue], SSAValue]] = {
    math.CeilOp: _ceil,
    math.FloorOp: _floor,
    math.RoundEvenOp: nearest,
    math.RoundOp: _round,
    math.TruncOp: _trunc,
}
RULES: dict[type[Operation], Rule] = dict.fromkeys(_INSTRUCTIONS, lower_rounding)
