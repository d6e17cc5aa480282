"""arith and math as the languages like C for GPUs have them: those of C99, and what differs."""

from __future__ import annotations

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Attribute, Operation

from nn_opt.backends.source import c_rules
from nn_opt.backends.source.c_rules import cast, function, helper, signed_cast
from nn_opt.backends.source.common_rules import Operands, infix
from nn_opt.backends.source.language import Language, Rule, width

# Functions of C's <math.h> that C99 text does not need.
MORE_FUNCTIONS = {math.Log10Op: "log10", math.CbrtOp: "cbrt", math.RoundEvenOp: "rint"}
MATH = {**c_rules.FUNCTIONS, **MORE_FUNCTIONS}
# On vectors of floats, in languages whose operators and functions take them.
ON_VECTORS: dict[type[Operation], Rule] = {
    arith.AddfOp: infix("+"),
    arith.SubfOp: infix("-"),
    arith.MulfOp: infix("*"),
    arith.DivfOp: infix("/"),
    arith.NegfOp: lambda language, op, operands: f"-{operands[0]}",
}


def rsqrt(language: Language, op: Operation, operands: Operands) -> str:
    """The quotient: languages' own rsqrt may be less exact."""
    type_ = op.results[0].type
    root = language.function_name("sqrt", type_)
    return f"{language.literal(1.0, type_)} / {root}({operands[0]})"


def index_cast(language: Language, op: Operation, operands: Operands) -> str:
    """An index is an int already."""
    source, target = op.operands[0].type, op.results[0].type
    if isinstance(source, IndexType) and width_of(target) == 32:
        return operands[0]
    if isinstance(target, IndexType) and width_of(source) == 32:
        return operands[0]
    return signed_cast(language, op, operands)


def width_of(type_: Attribute) -> int:
    """Return the bits of a scalar in these languages."""
    return 32 if isinstance(type_, IndexType) else width(type_)


def pick_bits(names: dict[tuple[str, str], str]) -> Rule:
    """Return the rule for bitcasts, given the functions between floats and integers."""

    def rule(language: Language, op: Operation, operands: Operands) -> str:
        source, target = op.operands[0].type, op.results[0].type
        name = names.get((str(source), str(target)))
        if name is not None:
            return f"{name}({operands[0]})"
        return operands[0] if source == target else cast(language, op, operands)

    return rule


RULES: dict[type[Operation], Rule] = {
    **c_rules.RULES,
    **{op: function(name) for op, name in MORE_FUNCTIONS.items()},
    math.RsqrtOp: rsqrt,
    math.CtPopOp: helper("ones"),
    arith.FloorDivSIOp: helper("floor_divide"),
    arith.CeilDivSIOp: helper("ceil_divide"),
    arith.IndexCastOp: index_cast,
}
