"""arith and math as expressions of JavaScript.

Floats are numbers, rounded to float32 where they are stored; integers of up to 32 bits are numbers
that are cut to their width, those of 64 bits are BigInts; an index is a number.
"""

from __future__ import annotations

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import AnyFloat, Float32Type, IndexType
from xdsl.ir import Attribute, Operation

from nn_opt.backends.source import common_rules
from nn_opt.backends.source.common_rules import Operands, is_bool, is_integer
from nn_opt.backends.source.language import Language, Rule, width
from nn_opt.dialects import loop
from nn_opt.ir.remf import RemFOp

WRAPPING = {
    arith.AddiOp: "+",
    arith.SubiOp: "-",
    arith.AndIOp: "&",
    arith.OrIOp: "|",
    arith.XOrIOp: "^",
    arith.ShLIOp: "<<",
    arith.ShRSIOp: ">>",
    arith.RemSIOp: "%",
}
FUNCTIONS = {
    math.SqrtOp: "Math.sqrt",
    math.AbsFOp: "Math.abs",
    math.FloorOp: "Math.floor",
    math.CeilOp: "Math.ceil",
    math.TruncOp: "Math.trunc",
    math.ExpOp: "Math.exp",
    math.ExpM1Op: "Math.expm1",
    math.LogOp: "Math.log",
    math.Log2Op: "Math.log2",
    math.Log10Op: "Math.log10",
    math.Log1pOp: "Math.log1p",
    math.PowFOp: "Math.pow",
    math.TanhOp: "Math.tanh",
    math.SinOp: "Math.sin",
    math.CosOp: "Math.cos",
    math.TanOp: "Math.tan",
    math.AsinOp: "Math.asin",
    math.AcosOp: "Math.acos",
    math.AtanOp: "Math.atan",
    math.Atan2Op: "Math.atan2",
    math.SinhOp: "Math.sinh",
    math.CoshOp: "Math.cosh",
    math.AsinhOp: "Math.asinh",
    math.AcoshOp: "Math.acosh",
    math.AtanhOp: "Math.atanh",
    arith.MaximumfOp: "Math.max",
    arith.MinimumfOp: "Math.min",
    arith.MaxnumfOp: "maxNumber",
    arith.MinnumfOp: "minNumber",
    math.ErfOp: "erf",
    math.RoundOp: "roundAway",
    math.RoundEvenOp: "roundEven",
    math.CopySignOp: "copySign",
}
EXTREMES = {arith.MaxSIOp: ("larger", False), arith.MinSIOp: ("smaller", False)}
UNSIGNED_EXTREMES = {arith.MaxUIOp: ("larger", True), arith.MinUIOp: ("smaller", True)}
PREDICATES = ("==", "!=", "<", "<=", ">", ">=", "<", "<=", ">", ">=")
FIRST_UNSIGNED = 6


def is_big(type_: Attribute) -> bool:
    """Return whether values of a type are BigInts."""
    return is_integer(type_) and width(type_) == 64


def cut(text: str, type_: Attribute) -> str:
    """Return an integer cut to the bits of its type, with sign."""
    if isinstance(type_, IndexType):
        return text
    bits = width(type_)
    if bits == 64:
        return f"BigInt.asIntN(64, {text})"
    if bits == 32:
        return f"({text} | 0)"
    return f"({text} & 1)" if bits == 1 else f"({text} << {32 - bits} >> {32 - bits})"


def without_sign(text: str, type_: Attribute) -> str:
    """Return the bits of an integer as a number that is not negative."""
    if isinstance(type_, IndexType):
        return text
    bits = width(type_)
    if bits == 64:
        return f"BigInt.asUintN(64, {text})"
    return f"({text} >>> 0)" if bits == 32 else f"({text} & {(1 << bits) - 1})"


def wrapping(symbol: str) -> Rule:
    """Return the rule for an operator on integers, the result cut to its width."""

    def rule(language: Language, op: Operation, operands: Operands) -> str:
        return cut(f"({operands[0]} {symbol} {operands[1]})", op.results[0].type)

    return rule


def multiply(language: Language, op: Operation, operands: Operands) -> str:
    type_ = op.results[0].type
    if is_big(type_) or isinstance(type_, IndexType):
        return cut(f"({operands[0]} * {operands[1]})", type_)
    return cut(f"Math.imul({operands[0]}, {operands[1]})", type_)


def divide(language: Language, op: Operation, operands: Operands) -> str:
    """BigInts divide as integers; numbers are cut towards zero."""
    type_ = op.results[0].type
    quotient = f"({operands[0]} / {operands[1]})"
    if is_big(type_):
        return cut(quotient, type_)
    return f"Math.trunc{quotient}" if isinstance(type_, IndexType) else cut(quotient, type_)


def rounding(name: str) -> Rule:
    """Return the rule for a quotient rounded downwards or upwards."""

    def rule(language: Language, op: Operation, operands: Operands) -> str:
        type_ = op.results[0].type
        if is_big(type_):
            return cut(f"{name}Big({', '.join(operands)})", type_)
        return cut(f"Math.{name}({operands[0]} / {operands[1]})", type_)

    return rule


def unsigned(symbol: str) -> Rule:
    """Return the rule for an operator on integers without sign."""

    def rule(language: Language, op: Operation, operands: Operands) -> str:
        type_ = op.results[0].type
        left = without_sign(operands[0], type_)
        if symbol == ">>":
            symbols = ">>" if is_big(type_) else ">>>"
            return cut(f"({left} {symbols} {operands[1]})", type_)
        text = f"({left} {symbol} {without_sign(operands[1], type_)})"
        if symbol == "/" and not is_big(type_):
            text = f"Math.floor{text}"
        return cut(text, type_)

    return rule


def function(name: str) -> Rule:
    return lambda language, op, operands: f"{name}({', '.join(operands)})"


def extreme(name: str, is_unsigned: bool) -> Rule:
    def rule(language: Language, op: Operation, operands: Operands) -> str:
        type_ = op.results[0].type
        if not is_unsigned:
            return f"{name}({', '.join(operands)})"
        arguments = ", ".join(without_sign(operand, type_) for operand in operands)
        return cut(f"{name}({arguments})", type_)

    return rule


def compare_integers(language: Language, op: arith.CmpiOp, operands: Operands) -> str:
    predicate = op.predicate.value.data
    left, right = operands
    if predicate >= FIRST_UNSIGNED:
        left, right = (without_sign(operand, op.lhs.type) for operand in operands)
    return f"{left} {PREDICATES[predicate]} {right}"


def fused(language: Language, op: Operation, operands: Operands) -> str:
    return f"{operands[0]} * {operands[1]} + {operands[2]}"


def to_integer(number: str, type_: Attribute) -> str:
    """Return a number without fraction as a value of an integer type."""
    return f"BigInt({number})" if is_big(type_) else cut(number, type_)


def convert_integer(language: Language, op: Operation, operands: Operands) -> str:
    """Between integers of any width and indices; an i1 has a sign, too: true is -1."""
    source, target = op.operands[0].type, op.results[0].type
    value = _signed(operands[0], source)
    if is_big(source) and is_big(target):
        return value
    if is_big(source):
        narrow = f"Number({value if isinstance(target, IndexType) else cut64(value, target)})"
        return narrow if isinstance(target, IndexType) else cut(narrow, target)
    if isinstance(source, IndexType) and is_integer(target) and not is_big(target):
        return f"Number(BigInt.asIntN({width(target)}, BigInt({value})))"
    return value if isinstance(target, IndexType) else to_integer(value, target)


def cut64(value: str, target: Attribute) -> str:
    """Return a BigInt cut to the width of a narrower type."""
    return f"BigInt.asIntN({max(width(target), 2)}, {value})"


def _signed(value: str, type_: Attribute) -> str:
    return f"(-{value})" if is_bool(type_) else value


def extend_unsigned(language: Language, op: Operation, operands: Operands) -> str:
    source, target = op.operands[0].type, op.results[0].type
    if is_bool(source):
        return f"BigInt({operands[0]})" if is_big(target) else f"(+{operands[0]})"
    return to_integer(without_sign(operands[0], source), target)


def signed_to_float(language: Language, op: Operation, operands: Operands) -> str:
    return f"Number({_signed(operands[0], op.operands[0].type)})"


def unsigned_to_float(language: Language, op: Operation, operands: Operands) -> str:
    return f"Number({without_sign(operands[0], op.operands[0].type)})"


def float_to_integer(language: Language, op: Operation, operands: Operands) -> str:
    return to_integer(f"Math.trunc({operands[0]})", op.results[0].type)


def float_to_unsigned(language: Language, op: Operation, operands: Operands) -> str:
    type_ = op.results[0].type
    if is_big(type_):
        return cut(f"BigInt(Math.trunc({operands[0]}))", type_)
    return cut(f"(Math.trunc({operands[0]}) >>> 0)", type_)


def convert_float(language: Language, op: Operation, operands: Operands) -> str:
    source, target = op.operands[0].type, op.results[0].type
    if width(source) == 16:
        return f"widened_{source}({operands[0]})"
    if width(target) == 16:
        return f"rounded_{target}({operands[0]})"
    return f"Math.fround({operands[0]})" if isinstance(target, Float32Type) else operands[0]


def bits(language: Language, op: Operation, operands: Operands) -> str:
    source, target = op.operands[0].type, op.results[0].type
    if isinstance(source, AnyFloat) == isinstance(target, AnyFloat):
        return operands[0]
    if width(source) == 16:
        return (
            cut(operands[0], target) if isinstance(source, AnyFloat) else f"({operands[0]} & 65535)"
        )
    return f"bits_{source}_{target}({operands[0]})"


def absolute(language: Language, op: Operation, operands: Operands) -> str:
    zero = "0n" if is_big(op.results[0].type) else "0"
    minus = cut(f"(-{operands[0]})", op.results[0].type)
    return f"({operands[0]} < {zero} ? {minus} : {operands[0]})"


def ldexp(language: Language, op: loop.LdexpOp, operands: Operands) -> str:
    return f"ldexp({operands[0]}, {operands[1]})"


def exp2(language: Language, op: Operation, operands: Operands) -> str:
    return f"Math.pow(2, {operands[0]})"


RULES: dict[type[Operation], Rule] = {
    **common_rules.RULES,
    **{op: wrapping(symbol) for op, symbol in WRAPPING.items()},
    **{op: function(name) for op, name in FUNCTIONS.items()},
    **{op: extreme(*row) for op, row in {**EXTREMES, **UNSIGNED_EXTREMES}.items()},
    RemFOp: common_rules.infix("%"),
    arith.MuliOp: multiply,
    arith.DivSIOp: divide,
    arith.FloorDivSIOp: rounding("floor"),
    arith.CeilDivSIOp: rounding("ceil"),
    arith.DivUIOp: unsigned("/"),
    arith.RemUIOp: unsigned("%"),
    arith.ShRUIOp: unsigned(">>"),
    arith.CmpiOp: compare_integers,
    arith.ExtSIOp: convert_integer,
    arith.TruncIOp: convert_integer,
    arith.IndexCastOp: convert_integer,
    arith.ExtUIOp: extend_unsigned,
    arith.SIToFPOp: signed_to_float,
    arith.UIToFPOp: unsigned_to_float,
    arith.FPToSIOp: float_to_integer,
    arith.FPToUIOp: float_to_unsigned,
    arith.ExtFOp: convert_float,
    arith.TruncFOp: convert_float,
    arith.BitcastOp: bits,
    math.FmaOp: fused,
    math.Exp2Op: exp2,
    math.AbsIOp: absolute,
    loop.LdexpOp: ldexp,
}
