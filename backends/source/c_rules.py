"""arith and math as expressions of C99. Integers are signed; where that matters, casts say so."""

from __future__ import annotations

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import BFloat16Type, Float16Type, IndexType
from xdsl.ir import Attribute, Operation

from nn_opt.backends.source import common_rules
from nn_opt.backends.source.common_rules import Operands, infix, is_bool, is_integer
from nn_opt.backends.source.language import Language, Rule, width
from nn_opt.dialects import loop
from nn_opt.ir.remf import RemFOp

OF_BITS = {"+": "^", "-": "^", "*": "&"}  # on one bit each
WRAPPING = {arith.AddiOp: "+", arith.SubiOp: "-", arith.MuliOp: "*"}
PLAIN = {
    arith.DivSIOp: "/",
    arith.RemSIOp: "%",
    arith.AndIOp: "&",
    arith.OrIOp: "|",
    arith.XOrIOp: "^",
    arith.ShRSIOp: ">>",
}
UNSIGNED = {arith.DivUIOp: "/", arith.RemUIOp: "%", arith.ShRUIOp: ">>"}
# Functions of <math.h>; those of float end in f.
FUNCTIONS = {
    math.SqrtOp: "sqrt",
    math.AbsFOp: "fabs",
    math.FloorOp: "floor",
    math.CeilOp: "ceil",
    math.TruncOp: "trunc",
    math.RoundOp: "round",
    math.RoundEvenOp: "nearbyint",
    math.CopySignOp: "copysign",
    math.ExpOp: "exp",
    math.Exp2Op: "exp2",
    math.ExpM1Op: "expm1",
    math.LogOp: "log",
    math.Log2Op: "log2",
    math.Log1pOp: "log1p",
    math.PowFOp: "pow",
    math.TanhOp: "tanh",
    math.ErfOp: "erf",
    math.SinOp: "sin",
    math.CosOp: "cos",
    math.TanOp: "tan",
    math.AsinOp: "asin",
    math.AcosOp: "acos",
    math.AtanOp: "atan",
    math.Atan2Op: "atan2",
    math.SinhOp: "sinh",
    math.CoshOp: "cosh",
    math.AsinhOp: "asinh",
    math.AcoshOp: "acosh",
    math.AtanhOp: "atanh",
    RemFOp: "fmod",
    arith.MaxnumfOp: "fmax",
    arith.MinnumfOp: "fmin",
}
# Functions that the text defines itself, once for each type.
HELPERS = {
    arith.MaximumfOp: "maximum",
    arith.MinimumfOp: "minimum",
    arith.MaxSIOp: "larger",
    arith.MinSIOp: "smaller",
    math.FmaOp: "fused",
}
UNSIGNED_HELPERS = {arith.MaxUIOp: "larger", arith.MinUIOp: "smaller"}
SIGNED_PREDICATES = ("==", "!=", "<", "<=", ">", ">=")
UNSIGNED_PREDICATES = ("<", "<=", ">", ">=")


def word(language: Language, type_: Attribute) -> str:
    """Return the word of a type, which was checked before."""
    found = language.type_word(type_)
    assert found is not None, f"no word for {type_}"
    return found


def wrapping(symbol: str) -> Rule:
    """Return the rule for integers that wrap around, which C leaves undefined if signed."""

    def rule(language: Language, op: Operation, operands: Operands) -> str:
        type_ = op.results[0].type
        if isinstance(type_, IndexType):
            return f"{operands[0]} {symbol} {operands[1]}"
        if is_bool(type_):
            return f"{operands[0]} {OF_BITS[symbol]} {operands[1]}"
        wide = language.unsigned_word(type_, at_least=32)
        value = f"({wide}){operands[0]} {symbol} ({wide}){operands[1]}"
        return f"({word(language, type_)})({value})"

    return rule


def unsigned(symbol: str) -> Rule:
    """Return the rule for an operator on numbers without sign."""

    def rule(language: Language, op: Operation, operands: Operands) -> str:
        type_ = op.results[0].type
        cast = language.unsigned_word(type_)
        right = operands[1] if symbol == ">>" else f"({cast}){operands[1]}"
        return f"({word(language, type_)})(({cast}){operands[0]} {symbol} {right})"

    return rule


def rounding(name: str) -> Rule:
    """Return the rule for a quotient rounded downwards or upwards."""

    def rule(language: Language, op: Operation, operands: Operands) -> str:
        return f"({word(language, op.results[0].type)}){name}({', '.join(operands)})"

    return rule


def shift_left(language: Language, op: Operation, operands: Operands) -> str:
    type_ = op.results[0].type
    wide = language.unsigned_word(type_, at_least=32)
    return f"({word(language, type_)})(({wide}){operands[0]} << {operands[1]})"


def function(name: str) -> Rule:
    """Return the rule for a function of <math.h>."""

    def rule(language: Language, op: Operation, operands: Operands) -> str:
        return f"{language.function_name(name, op.results[0].type)}({', '.join(operands)})"

    return rule


def helper(name: str) -> Rule:
    """Return the rule for a function that the text defines."""

    def rule(language: Language, op: Operation, operands: Operands) -> str:
        return f"{name}_{language.kind(op.results[0].type)}({', '.join(operands)})"

    return rule


def unsigned_helper(name: str) -> Rule:
    """Return the rule for a function that the text defines, on numbers without sign."""

    def rule(language: Language, op: Operation, operands: Operands) -> str:
        type_ = op.results[0].type
        cast = f"({language.unsigned_word(type_)})"
        arguments = ", ".join(f"{cast}{operand}" for operand in operands)
        return f"({word(language, type_)}){name}_u{width(type_)}({arguments})"

    return rule


def compare_integers(language: Language, op: arith.CmpiOp, operands: Operands) -> str:
    predicate = op.predicate.value.data
    if predicate < len(SIGNED_PREDICATES):
        return f"{operands[0]} {SIGNED_PREDICATES[predicate]} {operands[1]}"
    symbol = UNSIGNED_PREDICATES[predicate - len(SIGNED_PREDICATES)]
    cast = language.unsigned_word(op.lhs.type)
    return f"({cast}){operands[0]} {symbol} ({cast}){operands[1]}"


def cast(language: Language, op: Operation, operands: Operands) -> str:
    return f"({word(language, op.results[0].type)}){operands[0]}"


def signed_cast(language: Language, op: Operation, operands: Operands) -> str:
    """An i1 has a sign, too: true is -1."""
    minus = "-" if is_bool(op.operands[0].type) else ""
    return f"({word(language, op.results[0].type)}){minus}{operands[0]}"


def unsigned_cast(language: Language, op: Operation, operands: Operands) -> str:
    source = op.operands[0].type
    inner = "" if is_bool(source) else f"({language.unsigned_word(source)})"
    return f"({word(language, op.results[0].type)}){inner}{operands[0]}"


def truncate(language: Language, op: Operation, operands: Operands) -> str:
    if is_bool(op.results[0].type):
        return f"({operands[0]} & 1)"
    return cast(language, op, operands)


def to_unsigned(language: Language, op: Operation, operands: Operands) -> str:
    type_ = op.results[0].type
    return f"({word(language, type_)})({language.unsigned_word(type_)}){operands[0]}"


def convert_float(language: Language, op: Operation, operands: Operands) -> str:
    """Half floats are 16 bits of storage; functions widen and round them."""
    source, target = op.operands[0].type, op.results[0].type
    halves = (Float16Type, BFloat16Type)
    if isinstance(source, halves):
        return f"({word(language, target)})widened_{source}({operands[0]})"
    if isinstance(target, halves):
        return f"rounded_{target}((float){operands[0]})"
    return cast(language, op, operands)


def bits(language: Language, op: Operation, operands: Operands) -> str:
    source, target = op.operands[0].type, op.results[0].type
    if is_integer(source) == is_integer(target):
        return operands[0]
    if isinstance(source, Float16Type | BFloat16Type) or isinstance(
        target, Float16Type | BFloat16Type
    ):
        return cast(language, op, operands)
    return f"bits_{source}_{target}({operands[0]})"


def ldexp(language: Language, op: loop.LdexpOp, operands: Operands) -> str:
    name = language.function_name("ldexp", op.results[0].type)
    return f"{name}({operands[0]}, (int){operands[1]})"


def absolute(language: Language, op: Operation, operands: Operands) -> str:
    type_ = op.results[0].type
    wide = language.unsigned_word(type_, at_least=32)
    minus = f"({word(language, type_)})(0 - ({wide}){operands[0]})"
    return f"({operands[0]} < 0 ? {minus} : {operands[0]})"


RULES: dict[type[Operation], Rule] = {
    **common_rules.RULES,
    **{op: infix(symbol) for op, symbol in PLAIN.items()},
    **{op: wrapping(symbol) for op, symbol in WRAPPING.items()},
    **{op: unsigned(symbol) for op, symbol in UNSIGNED.items()},
    **{op: function(name) for op, name in FUNCTIONS.items()},
    **{op: helper(name) for op, name in HELPERS.items()},
    **{op: unsigned_helper(name) for op, name in UNSIGNED_HELPERS.items()},
    arith.FloorDivSIOp: rounding("floor_divide"),
    arith.CeilDivSIOp: rounding("ceil_divide"),
    arith.ShLIOp: shift_left,
    arith.CmpiOp: compare_integers,
    arith.ExtSIOp: signed_cast,
    arith.ExtUIOp: unsigned_cast,
    arith.TruncIOp: truncate,
    arith.SIToFPOp: signed_cast,
    arith.UIToFPOp: unsigned_cast,
    arith.FPToSIOp: cast,
    arith.FPToUIOp: to_unsigned,
    arith.ExtFOp: convert_float,
    arith.TruncFOp: convert_float,
    arith.BitcastOp: bits,
    arith.IndexCastOp: signed_cast,
    math.AbsIOp: absolute,
    loop.LdexpOp: ldexp,
}
