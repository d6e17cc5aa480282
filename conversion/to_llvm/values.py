"""Operands, fast-math flags, and the instructions that several rules need."""

from __future__ import annotations

from xdsl.dialects import arith, llvm
from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Attribute, Operation, SSAValue

from nn_opt.conversion.to_llvm.code import Code
from nn_opt.dialects.llvm import FCmpOp, SelectOp, bool_like
from nn_opt.ir.memory import remembered
from nn_opt.ir.types import lanes_of, vector_type

EXACT = llvm.FastMathAttr(None)


def like(type_: Attribute, element: Attribute) -> Attribute:
    """Return the scalar or vector type with another element type."""
    lanes = lanes_of(type_)
    return element if lanes is None else vector_type(lanes, element)


def values(code: Code, op: Operation) -> list[SSAValue]:
    """Return the operands as machine values."""
    return [code.value(operand) for operand in op.operands]


def fast(op: Operation) -> Attribute:
    """Return the fast-math flags of an op: none unless the source has them."""
    flags = op.properties.get("fastmath")
    return EXACT if flags is None else _translated(flags)


@remembered
def _translated(flags: Attribute) -> Attribute:
    if isinstance(flags, arith.FastMathFlagsAttr) and flags.data:
        return llvm.FastMathAttr(list(flags.data))
    return EXACT


def compare_floats(
    code: Code, predicate: int, lhs: SSAValue, rhs: SSAValue, flags: Attribute
) -> SSAValue:
    """Return a comparison of floats."""
    properties = {"predicate": IntegerAttr(predicate, i64), "fastmathFlags": flags}
    return code.emit(FCmpOp, (lhs, rhs), bool_like(lhs.type), properties)


def select(code: Code, condition: SSAValue, then: SSAValue, otherwise: SSAValue) -> SSAValue:
    """Return one of two values."""
    operands = (condition, then, otherwise)
    return code.emit(SelectOp, operands, then.type, {"fastmathFlags": EXACT})
