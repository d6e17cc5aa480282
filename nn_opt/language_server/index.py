"""What an editor asks of a text: what each place names, and where that is defined and used."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from xdsl.context import Context
from xdsl.dialects.builtin import FileLineColLoc, StringAttr
from xdsl.ir import AttributeInvT, Operation, SSAValue
from xdsl.parser import UnresolvedOperand
from xdsl.utils.exceptions import ParseError, VerifyException
from xdsl.utils.lexer import Span

from nn_opt.ir.diagnostics import Diagnostic, DiagnosticError, diagnostics_of
from nn_opt.ir.parsing import LocatingParser, make_context, syntax_error
from nn_opt.ir.recursion import allow_deep_nesting
from nn_opt.ir.verify import problems_of

Range = tuple[int, int]
"""Two offsets into the text: the first character, and the one after the last."""

_OPERATION = re.compile(r'"[^"\n]*"|[\w$.]+')
SYMBOL = re.compile(r"@([\w$.-]+)")


@dataclass
class Index:
    """What is known of a text; if it does not parse, of its part before the mistake."""

    text: str
    diagnostics: list[Diagnostic] = field(default_factory=list[Diagnostic])
    definitions: dict[SSAValue, Range] = field(default_factory=dict[SSAValue, Range])
    uses: list[tuple[Range, SSAValue]] = field(default_factory=list[tuple[Range, SSAValue]])
    operations: list[tuple[Range, Operation]] = field(default_factory=list[tuple[Range, Operation]])

    def value_at(self, offset: int) -> SSAValue | None:
        """Return the value whose name, at its definition or a use, is at an offset."""
        places = ((place, value) for value, place in self.definitions.items())
        for (start, end), value in (*self.uses, *places):
            if start <= offset < end:
                return value
        return None

    def operation_at(self, offset: int) -> Operation | None:
        """Return the operation whose name is at an offset."""
        found = (op for (start, end), op in self.operations if start <= offset < end)
        return next(found, None)

    def symbol_at(self, offset: int) -> str | None:
        """Return the name after an @ at an offset."""
        line = self.text.rfind("\n", 0, offset) + 1
        for match in SYMBOL.finditer(self.text, line, self.text.find("\n", offset) % (1 << 62)):
            if match.start() <= offset < match.end():
                return match[1]
        return None

    def places_of(self, value: SSAValue) -> list[Range]:
        """Return where a value is defined and used, in order."""
        places = [place for place, used in self.uses if used is value]
        if value in self.definitions:
            places.append(self.definitions[value])
        return sorted(places)

    def symbols(self) -> Iterator[tuple[str, Range, Operation]]:
        """Yield the operations that have a name, in order: functions, mostly."""
        for place, op in self.operations:
            name = op.get_attr_or_prop("sym_name")
            if isinstance(name, StringAttr):
                yield name.data, place, op


class IndexingParser(LocatingParser):
    """A parser that notes where values and operations are named."""

    def __init__(self, ctx: Context, text: str, filename: str, index: Index):
        super().__init__(ctx, text, filename)
        self._index = index

    def _register_ssa_definition(self, name: str, values: Sequence[SSAValue], span: Span) -> None:
        early = dict(self.forward_ssa_references.get(name, {}))
        super()._register_ssa_definition(name, values, span)
        for value in values:
            self._index.definitions[value] = (span.start, span.end)
        if early:
            known: dict[SSAValue, SSAValue] = {early[k]: values[k] for k in early}
            uses = self._index.uses
            uses[:] = [(place, known.get(value, value)) for place, value in uses]

    def resolve_operand(
        self, operand: UnresolvedOperand, type: AttributeInvT
    ) -> SSAValue[AttributeInvT]:
        value = super().resolve_operand(operand, type)
        self._index.uses.append(((operand.span.start, operand.span.end), value))
        return value

    def parse_operation(self) -> Operation:
        number = len(self._index.operations)
        op = super().parse_operation()
        start = _offset_of(op, self._line_starts)
        name = _OPERATION.match(self.lexer.input.content, start or 0)
        if start is not None and name is not None:
            self._index.operations.insert(number, (name.span(), op))
        return op


def _offset_of(op: Operation, line_starts: Sequence[int]) -> int | None:
    if not isinstance(op.location, FileLineColLoc):
        return None
    return line_starts[op.location.line.data - 1] + op.location.column.data - 1


def index_text(text: str, filename: str, ctx: Context | None = None) -> Index:
    """Return what is known of the text of a module, with all that is wrong with it."""
    allow_deep_nesting()
    index = Index(text)
    try:
        module = IndexingParser(ctx or make_context(), text, filename, index).parse_module()
        index.diagnostics = list(problems_of(module))
    except ParseError as error:
        index.diagnostics = [syntax_error(error)]
    except (DiagnosticError, VerifyException) as error:
        index.diagnostics = list(diagnostics_of(error))
    except RecursionError:
        index.diagnostics = [Diagnostic("error", f"{filename}:1:1", "nested too deeply")]
    return index


@dataclass(frozen=True)
class Lines:
    """Offsets of a text as lines and columns from 0 on; columns count UTF-16 units, as LSP does."""

    text: str
    starts: tuple[int, ...]

    @staticmethod
    def of(text: str) -> Lines:
        """Return the lines of a text."""
        return Lines(text, (0, *accumulate(len(line) + 1 for line in text.split("\n"))))

    def position(self, offset: int) -> tuple[int, int]:
        """Return the line and column of an offset."""
        line = bisect_right(self.starts, offset) - 1
        before = self.text[self.starts[line] : offset]
        return line, len(before.encode("utf-16-le")) // 2

    def offset(self, line: int, column: int) -> int:
        """Return the offset of a line and column; what is past an end is that end."""
        if line >= len(self.starts) - 1:
            return len(self.text)
        units = self.text[self.starts[line] : self.starts[line + 1]].encode("utf-16-le")
        return self.starts[line] + len(units[: 2 * column].decode("utf-16-le", "ignore"))
