"""The text of index expressions: `[%i + 1, 2 * %j]`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from xdsl.dialects.builtin import AffineMapAttr, IndexType
from xdsl.ir import SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer

_PRECEDENCE = {AffineBinaryOpKind.Add: 1}  # all others bind as tightly as `*`


def parse_indices(parser: Parser) -> tuple[AffineMapAttr, list[SSAValue]]:
    """Parse `[%i + 1, 2 * %j]` into a map over dimensions and the values they stand for."""
    start = parser.pos
    try:
        parsed, operands = parser.parse_affine_map_of_ssa_ids()
    except NotImplementedError:  # xDSL's, for what is no affine expression
        _refuse_product(parser, start)
    _require_divisors(parser, parsed.results, start)
    dims = [AffineExpr.dimension(k) for k in range(len(operands))]
    return AffineMapAttr(parsed.replace_dims_and_symbols((), dims, len(dims), 0)), list(operands)


def parse_index(parser: Parser) -> tuple[AffineExpr, list[SSAValue]]:
    """Parse one expression `2 * %j + 1` that stands without brackets."""
    start = parser.pos
    try:
        expr, operands = _Expression(parser).parse()
    except NotImplementedError:  # xDSL's, as above
        _refuse_product(parser, start)
    _require_divisors(parser, (expr,), start)
    return expr, operands


def _refuse_product(parser: Parser, start: int) -> NoReturn:
    problem = "an index multiplies or divides values, expected one value and a constant"
    parser.raise_error(problem, at_position=start)


def _require_divisors(parser: Parser, exprs: Sequence[AffineExpr], start: int) -> None:
    """Refuse what divides by zero or less: that has no meaning."""
    for expr in exprs:
        if isinstance(expr, AffineBinaryOpExpr):
            for part in expr.dfs():
                if isinstance(part, AffineBinaryOpExpr) and _divides_badly(part):
                    problem = f"an index divides by {part.rhs}, expected at least 1"
                    parser.raise_error(problem, at_position=start)


def _divides_badly(expr: AffineBinaryOpExpr) -> bool:
    divides = expr.kind not in (AffineBinaryOpKind.Add, AffineBinaryOpKind.Mul)
    return divides and isinstance(expr.rhs, AffineConstantExpr) and expr.rhs.value < 1


@dataclass
class _Expression:
    """Recursive descent over one affine expression of SSA values."""

    parser: Parser
    operands: list[SSAValue] = field(default_factory=list[SSAValue])

    def parse(self) -> tuple[AffineExpr, list[SSAValue]]:
        return self.sum(), self.operands

    def sum(self) -> AffineExpr:
        left = self.product()
        while True:
            if self.parser.parse_optional_punctuation("+"):
                left = left + self.product()
            elif self.parser.parse_optional_punctuation("-"):
                left = left + self.product() * -1
            else:
                return left

    def product(self) -> AffineExpr:
        left = self.atom()
        while True:
            if self.parser.parse_optional_punctuation("*"):
                left = left * self.atom()
            elif self.parser.parse_optional_keyword("floordiv"):
                left = left // self.atom()
            elif self.parser.parse_optional_keyword("mod"):
                left = left % self.atom()
            else:
                return left

    def atom(self) -> AffineExpr:
        if self.parser.parse_optional_punctuation("("):
            inner = self.sum()
            self.parser.parse_punctuation(")")
            return inner
        if self.parser.parse_optional_punctuation("-"):
            return self.atom() * -1
        operand = self.parser.parse_optional_unresolved_operand()
        if operand is None:
            return AffineExpr.constant(self.parser.parse_integer())
        return self.dimension(operand)

    def dimension(self, operand: UnresolvedOperand) -> AffineExpr:
        value = self.parser.resolve_operand(operand, IndexType())
        if value not in self.operands:
            self.operands.append(value)
        return AffineExpr.dimension(self.operands.index(value))


def print_index(printer: Printer, expr: AffineExpr, operands: Sequence[SSAValue]) -> None:
    """Print one expression over the given values."""
    _print(printer, expr, operands, 0)


def _print(printer: Printer, expr: AffineExpr, operands: Sequence[SSAValue], outer: int) -> None:
    match expr:
        case AffineConstantExpr(value=value):
            printer.print_string(str(value))
        case AffineDimExpr(position=position):
            printer.print_ssa_value(operands[position])
        case AffineBinaryOpExpr():
            _print_binary(printer, expr, operands, outer)
        case _:
            raise AssertionError(f"an access has no symbols: {expr}")


def _print_binary(
    printer: Printer, expr: AffineBinaryOpExpr, operands: Sequence[SSAValue], outer: int
) -> None:
    mine = _PRECEDENCE.get(expr.kind, 2)
    left, right, token = expr.lhs, expr.rhs, expr.kind.get_token()
    if expr.kind is AffineBinaryOpKind.Mul and isinstance(right, AffineConstantExpr):
        left, right = right, left  # `2 * %i` reads better than `%i * 2`
    if expr.kind is AffineBinaryOpKind.Add and (negated := negation(right)) is not None:
        right, token = negated, "-"
    if mine < outer:
        printer.print_string("(")
    _print(printer, left, operands, mine)
    printer.print_string(f" {token} ")
    _print(printer, right, operands, mine + 1)
    if mine < outer:
        printer.print_string(")")


def negation(expr: AffineExpr) -> AffineExpr | None:
    """Return -expr if that is shorter to print (a negative constant or product), else None."""
    match expr:
        case AffineConstantExpr(value=value) if value < 0:
            return AffineExpr.constant(-value)
        case AffineBinaryOpExpr(
            kind=AffineBinaryOpKind.Mul, lhs=inner, rhs=AffineConstantExpr(value=value)
        ) if value < 0:
            return inner * -value
        case _:
            return None


def print_indices(printer: Printer, map: AffineMap, operands: Sequence[SSAValue]) -> None:
    """Print `[%i + 1, 2 * %j]`."""
    with printer.in_square_brackets():
        printer.print_list(map.results, lambda e: print_index(printer, e, operands))
