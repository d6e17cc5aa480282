"""arith and math as expressions of WGSL.

Integers of up to 32 bits are i32, those of 64 bits are two u32 (low, high), halves are 16 bits of
a u32. Narrow integers keep their sign in all 32 bits.
"""

from __future__ import annotations

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import AnyFloat
from xdsl.ir import Attribute, Operation

from nn_opt.backends.source import common_rules
from nn_opt.backends.source.common_rules import Operands, is_bool
from nn_opt.backends.source.gpu_rules import width_of
from nn_opt.backends.source.language import Language, Rule
from nn_opt.dialects import loop
from nn_opt.ir.remf import RemFOp

# On i32; on i1, ...; on two u32.
WRAPPING = {
    arith.AddiOp: ("{0} + {1}", "{0} != {1}", "add_i64({0}, {1})"),
    arith.SubiOp: ("{0} - {1}", "{0} != {1}", "subtract_i64({0}, {1})"),
    arith.MuliOp: ("{0} * {1}", "{0} & {1}", "multiply_i64({0}, {1})"),
    arith.AndIOp: ("{0} & {1}", "{0} & {1}", "{0} & {1}"),
    arith.OrIOp: ("{0} | {1}", "{0} | {1}", "{0} | {1}"),
    arith.XOrIOp: ("{0} ^ {1}", "{0} != {1}", "{0} ^ {1}"),
    arith.ShLIOp: ("{0} << bitcast<u32>({1})", "{0} & !{1}", "shift_left_i64({0}, {1}.x)"),
    arith.ShRSIOp: ("{0} >> bitcast<u32>({1})", "{0}", "shift_right_i64({0}, {1}.x)"),
    arith.DivSIOp: ("{0} / {1}", "{0}", "divide_i64({0}, {1})"),
    arith.RemSIOp: ("{0} % {1}", "false", "remainder_i64({0}, {1})"),
    arith.MaxSIOp: ("max({0}, {1})", "{0} & {1}", "larger_i64({0}, {1})"),
    arith.MinSIOp: ("min({0}, {1})", "{0} | {1}", "smaller_i64({0}, {1})"),
    arith.FloorDivSIOp: (
        "floor_divide_i32({0}, {1})", "{0}", "floor_divide_i64({0}, {1})",
    ),
    arith.CeilDivSIOp: ("ceil_divide_i32({0}, {1})", "{0}", "ceil_divide_i64({0}, {1})"),
}  # fmt: skip
# On u32, of which the result is taken as i32; on i1; on two u32.
UNSIGNED = {
    arith.DivUIOp: ("{0} / {1}", "{0}", "divide_u64({0}, {1})"),
    arith.RemUIOp: ("{0} % {1}", "false", "remainder_u64({0}, {1})"),
    arith.ShRUIOp: ("{0} >> {1}", "{0} & !{1}", "shift_right_u64({0}, {1}.x)"),
    arith.MaxUIOp: ("max({0}, {1})", "{0} | {1}", "larger_u64({0}, {1})"),
    arith.MinUIOp: ("min({0}, {1})", "{0} & {1}", "smaller_u64({0}, {1})"),
}
# The language's own functions, as exact as the IR wants them.
FUNCTIONS = {
    math.SqrtOp: "sqrt",
    math.AbsFOp: "abs",
    math.FloorOp: "floor",
    math.CeilOp: "ceil",
    math.TruncOp: "trunc",
    math.RoundEvenOp: "round",
    math.FmaOp: "fma",
    math.ExpOp: "exp",
    math.Exp2Op: "exp2",
    math.LogOp: "log",
    math.Log2Op: "log2",
    math.SinOp: "sin",
    math.CosOp: "cos",
    math.TanOp: "tan",
    math.CoshOp: "cosh",
}
# Functions of the text: the language lacks them, or leaves some arguments undefined.
HELPERS = {
    RemFOp: "remainder",
    arith.MaximumfOp: "maximum",
    arith.MinimumfOp: "minimum",
    arith.MaxnumfOp: "larger_number",
    arith.MinnumfOp: "smaller_number",
    math.RoundOp: "round_away",
    math.CopySignOp: "copysign",
    math.AtanOp: "arctangent",
    math.Atan2Op: "angle",
    math.AsinOp: "arcsine",
    math.AcosOp: "arccosine",
    math.AsinhOp: "arsinh",
    math.AcoshOp: "arcosh",
    math.AtanhOp: "artanh",
    math.SinhOp: "hyperbolic_sine",
    math.TanhOp: "hyperbolic_tangent",
    math.Log10Op: "decimal_log",
    math.PowFOp: "power",
    math.ErfOp: "erf",
    math.ExpM1Op: "expm1",
    math.Log1pOp: "log1p",
    math.CbrtOp: "cbrt",
    math.RsqrtOp: "reciprocal_root",
}
COMPARED = ("==", "!=", "<", "<=", ">", ">=", "<", "<=", ">", ">=")
FIRST_UNSIGNED = 6


def is_big(type_: Attribute) -> bool:
    """Return whether values of a type are two u32."""
    return width_of(type_) == 64


def cut(text: str, type_: Attribute) -> str:
    """Return an i32 cut to the bits of its type, with sign."""
    return text if width_of(type_) == 32 else f"extractBits({text}, 0u, {width_of(type_)}u)"


def unsigned(text: str, type_: Attribute) -> str:
    """Return an integer as a u32, without the sign of a narrow one."""
    if is_bool(type_):
        return f"select(0u, 1u, {text})"
    if width_of(type_) == 32:
        return f"bitcast<u32>({text})"
    return f"(bitcast<u32>({text}) & {(1 << width_of(type_)) - 1}u)"


def wrapping(forms: tuple[str, str, str]) -> Rule:
    """Return the rule for integers that wrap around."""

    def rule(language: Language, op: Operation, operands: Operands) -> str:
        type_ = op.results[0].type
        if is_bool(type_) or is_big(type_):
            return forms[1 + is_big(type_)].format(*operands)
        return cut(forms[0].format(*operands), type_)

    return rule


def on_unsigned(forms: tuple[str, str, str]) -> Rule:
    """Return the rule for integers without sign."""

    def rule(language: Language, op: Operation, operands: Operands) -> str:
        type_ = op.results[0].type
        if is_bool(type_) or is_big(type_):
            return forms[1 + is_big(type_)].format(*operands)
        values = [unsigned(operand, type_) for operand in operands]
        return cut(f"bitcast<i32>({forms[0].format(*values)})", type_)

    return rule


def builtin(name: str) -> Rule:
    """Return the rule for a function of the language."""
    return lambda language, op, operands: f"{name}({', '.join(operands)})"


def helper(name: str) -> Rule:
    """Return the rule for a function of the text."""
    return lambda language, op, operands: f"{name}_f32({', '.join(operands)})"


def compare_integers(language: Language, op: arith.CmpiOp, operands: Operands) -> str:
    predicate, type_ = op.predicate.value.data, op.lhs.type
    symbol, is_unsigned = COMPARED[predicate], predicate >= FIRST_UNSIGNED
    left, right = operands
    if is_big(type_):
        return _compare_big(symbol, left, right, "less_u64" if is_unsigned else "less_i64")
    if is_bool(type_):
        minus = "" if is_unsigned else "-"
        left, right = (f"select(0, {minus}1, {operand})" for operand in operands)
    elif is_unsigned:
        left, right = (f"bitcast<u32>({operand})" for operand in operands)
    return f"{left} {symbol} {right}"


def _compare_big(symbol: str, left: str, right: str, less: str) -> str:
    return {
        "==": f"all({left} == {right})",
        "!=": f"any({left} != {right})",
        "<": f"{less}({left}, {right})",
        "<=": f"!{less}({right}, {left})",
        ">": f"{less}({right}, {left})",
        ">=": f"!{less}({left}, {right})",
    }[symbol]


def compare_floats(language: Language, op: arith.CmpfOp, operands: Operands) -> str:
    """NaN is not even unlike a number to some; what is asked of it alone is asked of the bits."""
    left, right = operands
    predicate = op.predicate.value.data
    if predicate == 13:
        return f"!({left} == {right})"
    if predicate == 7:
        return f"!is_nan_f32({left}) && !is_nan_f32({right})"
    if predicate == 14:
        return f"is_nan_f32({left}) || is_nan_f32({right})"
    return common_rules.compare_floats(language, op, operands)


def extend_signed(language: Language, op: Operation, operands: Operands) -> str:
    """An i1 has a sign, too: true is -1."""
    source, target = op.operands[0].type, op.results[0].type
    value = f"select(0, -1, {operands[0]})" if is_bool(source) else operands[0]
    return f"long_i32({value})" if is_big(target) else value


def extend_unsigned(language: Language, op: Operation, operands: Operands) -> str:
    value = unsigned(operands[0], op.operands[0].type)
    return f"vec2u({value}, 0u)" if is_big(op.results[0].type) else f"bitcast<i32>({value})"


def truncate(language: Language, op: Operation, operands: Operands) -> str:
    source, target = op.operands[0].type, op.results[0].type
    value = f"bitcast<i32>({operands[0]}.x)" if is_big(source) else operands[0]
    if is_bool(target):
        return f"({value} & 1) != 0"
    return value if width_of(target) == 32 else cut(value, target)


def index_cast(language: Language, op: Operation, operands: Operands) -> str:
    source, target = (
        width_of(type_) if not is_bool(type_) else 1
        for type_ in (op.operands[0].type, op.results[0].type)
    )
    if source == target:
        return operands[0]
    return (truncate if source > target else extend_signed)(language, op, operands)


def signed_to_float(language: Language, op: Operation, operands: Operands) -> str:
    source = op.operands[0].type
    if is_big(source):
        return f"float_i64({operands[0]})"
    return f"select(0.0f, -1.0f, {operands[0]})" if is_bool(source) else f"f32({operands[0]})"


def unsigned_to_float(language: Language, op: Operation, operands: Operands) -> str:
    source = op.operands[0].type
    if is_big(source):
        return f"float_u64({operands[0]})"
    return f"f32({unsigned(operands[0], source)})"


def float_to_signed(language: Language, op: Operation, operands: Operands) -> str:
    target = op.results[0].type
    if is_big(target):
        return f"whole_i64({operands[0]})"
    return f"{operands[0]} != 0.0f" if is_bool(target) else cut(f"i32({operands[0]})", target)


def float_to_unsigned(language: Language, op: Operation, operands: Operands) -> str:
    target = op.results[0].type
    if is_big(target):
        return f"whole_u64({operands[0]})"
    if is_bool(target):
        return f"{operands[0]} != 0.0f"
    return cut(f"bitcast<i32>(u32({operands[0]}))", target)


def convert_float(language: Language, op: Operation, operands: Operands) -> str:
    source, target = op.operands[0].type, op.results[0].type
    name = f"widened_{source}" if width_of(source) == 16 else f"rounded_{target}"
    return f"{name}({operands[0]})"


def bits(language: Language, op: Operation, operands: Operands) -> str:
    source, target = op.operands[0].type, op.results[0].type
    if source == target:
        return operands[0]
    of_float, to_float = isinstance(source, AnyFloat), isinstance(target, AnyFloat)
    if width_of(source) == 16:
        if of_float == to_float:
            return operands[0]
        value = f"bitcast<i32>({operands[0]})"
        return unsigned(operands[0], source) if to_float else cut(value, target)
    return f"bitcast<{'f32' if to_float else 'i32'}>({operands[0]})"


def absolute(language: Language, op: Operation, operands: Operands) -> str:
    type_ = op.results[0].type
    return f"absolute_i64({operands[0]})" if is_big(type_) else cut(f"abs({operands[0]})", type_)


def ldexp(language: Language, op: loop.LdexpOp, operands: Operands) -> str:
    return f"scaled_f32({operands[0]}, {operands[1]})"


def count_ones(language: Language, op: Operation, operands: Operands) -> str:
    type_ = op.results[0].type
    if is_big(type_):
        return f"vec2u(countOneBits({operands[0]}.x) + countOneBits({operands[0]}.y), 0u)"
    return f"bitcast<i32>(countOneBits({unsigned(operands[0], type_)}))"


RULES: dict[type[Operation], Rule] = {
    **common_rules.RULES,
    **{op: wrapping(forms) for op, forms in WRAPPING.items()},
    **{op: on_unsigned(forms) for op, forms in UNSIGNED.items()},
    **{op: builtin(name) for op, name in FUNCTIONS.items()},
    **{op: helper(name) for op, name in HELPERS.items()},
    arith.CmpiOp: compare_integers,
    arith.CmpfOp: compare_floats,
    arith.ExtSIOp: extend_signed,
    arith.ExtUIOp: extend_unsigned,
    arith.TruncIOp: truncate,
    arith.IndexCastOp: index_cast,
    arith.SIToFPOp: signed_to_float,
    arith.UIToFPOp: unsigned_to_float,
    arith.FPToSIOp: float_to_signed,
    arith.FPToUIOp: float_to_unsigned,
    arith.ExtFOp: convert_float,
    arith.TruncFOp: convert_float,
    arith.BitcastOp: bits,
    math.AbsIOp: absolute,
    math.CtPopOp: count_ones,
    loop.LdexpOp: ldexp,
}
# On vectors of f32.
VECTOR_RULES: dict[type[Operation], Rule] = {
    **{op: common_rules.infix(symbol) for op, symbol in common_rules.INFIX_FLOAT.items()},
    arith.NegfOp: common_rules.negate,
    **{op: builtin(name) for op, name in FUNCTIONS.items()},
}
