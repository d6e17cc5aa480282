"""The text of scf.parallel, for which xDSL has the generic form alone; here it is MLIR's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import IndexType
from xdsl.dialects.scf import ParallelOp, Scf
from xdsl.ir import Attribute, SSAValue
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import SingleBlockImplicitTerminator, ensure_terminator

__all__ = ["ParallelOp", "Scf"]

_class: Any = ParallelOp


def _parse_parallel(cls: type[ParallelOp], parser: Parser) -> ParallelOp:
    """Parse `(%i) = (%a) to (%b) step (%c) init (%x) -> f32 { ... }`."""
    paren = parser.Delimiter.PAREN
    names = parser.parse_comma_separated_list(
        paren, lambda: parser.parse_argument(expect_type=False)
    )
    groups: list[Sequence[SSAValue]] = []
    parser.parse_punctuation("=")
    for word in ("", "to", "step"):
        if word:
            parser.parse_keyword(word)
        operands = parser.parse_comma_separated_list(paren, parser.parse_unresolved_operand)
        index_types = [IndexType()] * len(operands)
        groups.append(parser.resolve_operands(operands, index_types, parser.pos))
    starts = []
    if parser.parse_optional_keyword("init") is not None:
        starts = parser.parse_comma_separated_list(paren, parser.parse_unresolved_operand)
    types = _parse_arrow_types(parser)
    values = parser.resolve_operands(starts, types, parser.pos)
    region = parser.parse_region([name.resolve(IndexType()) for name in names])
    lower, upper, step = groups
    loop = cls(lower, upper, step, region, values)
    loop.attributes |= parser.parse_optional_attr_dict()
    for trait in loop.get_traits_of_type(SingleBlockImplicitTerminator):
        ensure_terminator(loop, trait)
    return loop


def _parse_arrow_types(parser: Parser) -> list[Attribute]:
    if parser.parse_optional_punctuation("->") is None:
        return []
    several = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
    return [parser.parse_type()] if several is None else [*several]


def _print_parallel(self: ParallelOp, printer: Printer) -> None:
    groups = [self.body.block.args, self.lowerBound, self.upperBound, self.step, self.initVals]
    for word, group in zip(("", " =", " to", " step", " init"), groups, strict=True):
        if group or word != " init":
            printer.print_string(f"{word} (")
            printer.print_list(group, printer.print_ssa_value)
            printer.print_string(")")
    if self.res:
        printer.print_string(" -> ")
        types = [result.type for result in self.res]
        _print_types(printer, types)
    printer.print_string(" ")
    printer.print_region(self.body, print_entry_block_args=False)
    printer.print_op_attributes(self.attributes)


def _print_types(printer: Printer, types: Sequence[Attribute]) -> None:
    if len(types) == 1:
        printer.print_attribute(types[0])
        return
    with printer.in_parens():
        printer.print_list(types, printer.print_attribute)


_class.parse = classmethod(_parse_parallel)
_class.print = _print_parallel
