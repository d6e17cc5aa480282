"""Integer quotients that round down or up; machines have those that round towards zero."""

from __future__ import annotations

from xdsl.dialects import arith, llvm
from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Attribute, Operation, SSAValue

from nn_opt.conversion.to_llvm.code import Code, Rule
from nn_opt.conversion.to_llvm.values import select, values
from nn_opt.dialects.llvm import bool_like

NOT_EQUAL, LESS, NOT_LESS = 1, 2, 5  # predicates of llvm.icmp: ne, slt, sge


def lower_quotient(code: Code, op: Operation) -> None:
    """%c = arith.floordivsi %a, %b  ->  llvm.sdiv, less 1 if it is inexact and below zero

    arith.ceildivsi adds 1 if it is inexact and above zero. Remainder and divisor tell: their
    signs differ where the quotient is below zero.
    """
    one, sign = (-1, LESS) if isinstance(op, arith.FloorDivSIOp) else (1, NOT_LESS)
    left, right = values(code, op)
    type_ = left.type
    quotient = code.emit(llvm.SDivOp, (left, right), type_)
    rest = code.emit(llvm.SRemOp, (left, right), type_)
    zero = code.number(0, type_)
    inexact = _compare(code, NOT_EQUAL, rest, zero)
    signs = code.emit(llvm.XOrOp, (rest, right), type_)
    beyond = code.emit(llvm.AndOp, (inexact, _compare(code, sign, signs, zero)), bool_like(type_))
    next_ = code.emit(llvm.AddOp, (quotient, code.number(one, type_)), type_)
    code.bind(op.results[0], select(code, beyond, next_, quotient))


def _compare(code: Code, predicate: int, left: SSAValue, right: SSAValue) -> SSAValue:
    properties: dict[str, Attribute] = {"predicate": IntegerAttr(predicate, i64)}
    return code.emit(llvm.ICmpOp, (left, right), bool_like(left.type), properties)


RULES: dict[type[Operation], Rule] = {
    arith.FloorDivSIOp: lower_quotient,
    arith.CeilDivSIOp: lower_quotient,
}
