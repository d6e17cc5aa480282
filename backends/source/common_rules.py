"""What C99 and JavaScript say in the same words: float arithmetic, comparisons, choices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import Float16Type, IntegerType, i1
from xdsl.ir import Attribute, Operation

from nn_opt.backends.source.language import Language, Rule, width

Operands = Sequence[str]

INFIX_FLOAT = {
    arith.AddfOp: "+",
    arith.SubfOp: "-",
    arith.MulfOp: "*",
    arith.DivfOp: "/",
}
ORDERED = {1: "==", 2: ">", 3: ">=", 4: "<", 5: "<="}
NOT_ORDERED = {9: "<=", 10: "<", 11: ">=", 12: ">"}  # unordered or ...: not the opposite


def is_integer(type_: Attribute) -> bool:
    """Return whether a type is an integer of some width."""
    return isinstance(type_, IntegerType)


def is_bool(type_: Attribute) -> bool:
    """Return whether a type is i1."""
    return is_integer(type_) and width(type_) == 1


def infix(symbol: str) -> Rule:
    """Return the rule for an operator that the language has."""
    return lambda language, op, operands: f"{operands[0]} {symbol} {operands[1]}"


def compare_floats(language: Language, op: arith.CmpfOp, operands: Operands) -> str:
    left, right = operands
    predicate = op.predicate.value.data
    if predicate in ORDERED:
        return f"{left} {ORDERED[predicate]} {right}"
    if predicate in NOT_ORDERED:
        return f"!({left} {NOT_ORDERED[predicate]} {right})"
    return {
        0: language.literal(0, i1),
        6: f"{left} < {right} || {left} > {right}",
        7: f"{left} == {left} && {right} == {right}",
        8: f"!({left} < {right} || {left} > {right})",
        13: f"{left} != {right}",
        14: f"{left} != {left} || {right} != {right}",
        15: language.literal(1, i1),
    }[predicate]


def choose(language: Language, op: arith.SelectOp, operands: Operands) -> str:
    return language.choose(*operands)


def negate(language: Language, op: Operation, operands: Operands) -> str:
    return f"-{operands[0]}"


def half_bits(value: float, type_: Attribute) -> int:
    """Return the bits of a number as f16 or bf16."""
    import ml_dtypes

    dtype = np.float16 if isinstance(type_, Float16Type) else ml_dtypes.bfloat16
    return int(np.array(value, dtype).view(np.uint16))


RULES: dict[type[Operation], Rule] = {
    **{op: infix(symbol) for op, symbol in INFIX_FLOAT.items()},
    arith.CmpfOp: compare_floats,
    arith.SelectOp: choose,
    arith.NegfOp: negate,
}
