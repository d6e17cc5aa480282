"""xDSL's printer with its frequent steps made short: the same text. All this could be in xDSL.

An op with a declarative format spells the same text, up to the names of its values, as another one
of its class with the same types and attributes. That text is found once, by printing an op that
reads stand-ins, and kept as a template. Types are spelled once, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from io import StringIO
from types import FunctionType
from typing import Any, cast

from xdsl.ir import Attribute, Block, Operation, SSAValue, TypeAttribute
from xdsl.irdl import IRDLOperation
from xdsl.irdl.declarative_assembly_format import (
    CustomDirective,
    Directive,
    FormatProgram,
    RegionDirective,
    SuccessorDirective,
)
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove

_MOST = 4096  # texts that a printer keeps
_MARK = "\0"  # around the number of a stand-in; no text of an op has one


@cache
def _has_plain_format(op_type: type[Operation]) -> bool:
    """Return whether ops of a class are printed by a format that looks at their own parts alone."""
    method = op_type.print
    if not issubclass(op_type, IRDLOperation) or not isinstance(method, FunctionType):
        return False
    if method.__name__ != "print_with_format" or method.__module__ != "xdsl.irdl.operations":
        return False
    if op_type.has_trait(IsolatedFromAbove):
        return False
    cells: Any = dict(zip(method.__code__.co_freevars, method.__closure__ or (), strict=True))
    program: FormatProgram = cells["assembly_program"].cell_contents
    others = (CustomDirective, RegionDirective, SuccessorDirective)
    return not any(isinstance(part, others) for stmt in program.stmts for part in _parts(stmt))


def _parts(directive: Directive) -> Iterator[Directive]:
    """Yield a directive and those inside of it."""
    yield directive
    for value in vars(directive).values():
        inner = cast(tuple[object, ...], value if isinstance(value, tuple) else (value,))
        for part in inner:
            if isinstance(part, Directive):
                yield from _parts(part)


@dataclass(frozen=True)
class _Template:
    """The text of an op after its results, with %s for the values that `order` numbers."""

    text: str
    order: tuple[int, ...]


class _Recorder(Printer):
    """Prints an op whose operands are stand-ins, as their numbers between marks."""

    def __init__(self, op: Operation) -> None:
        super().__init__(StringIO())
        self._numbers = {operand: k for k, operand in enumerate(op.operands)}

    def print_ssa_value(self, value: SSAValue) -> str:
        name = f"{_MARK}{self._numbers[value]}{_MARK}"
        self.print_string(name)
        return name

    def template(self, op: Operation) -> _Template | None:
        """Return the text of an op; None if it is not for templates."""
        self.print_string(op.name)
        op.print(self)
        assert isinstance(self.stream, StringIO)
        parts = self.stream.getvalue().split(_MARK)
        if self._dialect_resources or any("\n" in part for part in parts):
            return None
        text = "%s".join(part.replace("%", "%%") for part in parts[::2])
        return _Template(text, tuple(map(int, parts[1::2])))


def _stand_in(op: Operation) -> Operation:
    """Return an op like another one, but with operands that differ from each other."""
    block = Block(arg_types=[operand.type for operand in op.operands])
    return type(op).create(
        operands=block.args,
        result_types=[result.type for result in op.results],
        properties=op.properties,
        attributes=op.attributes,
    )


class QuickPrinter(Printer):
    """A printer that writes what xDSL's does, in a fraction of the time."""

    def __init__(self, stream: StringIO, **options: Any) -> None:
        super().__init__(stream, **options)
        self._templates: dict[tuple[object, ...], _Template | None] = {}
        self._met: set[tuple[object, ...]] = set()  # what has been printed once
        self._types: dict[int, str] = {}  # by place: nothing changes the module meanwhile
        self._plain = not (self.print_generic_format or self.print_debuginfo)

    def print_string(self, text: str, *, indent: int | None = None) -> None:
        if "\n" in text:
            super().print_string(text, indent=indent)
            return
        self._current_column += len(text)
        self.stream.write(text)

    def print_ssa_value(self, value: SSAValue) -> str:
        name = self._name(value)
        self._current_column += len(name) + 1
        self.stream.write(f"%{name}")
        return name

    def _name(self, value: SSAValue) -> str:
        """Return the name of a value, made up if this is the first time that it is asked for."""
        name = self._ssa_values.get(value)
        if name is None:
            hint = value.name_hint
            if hint:
                names = self._ssa_names[-1]
                count = names.get(hint, 0)
                name = f"{hint}_{count}" if count else hint
                names[hint] = count + 1
            else:
                name = self._get_new_valid_name_id()
            self._ssa_values[value] = name
        return name

    def print_attribute(self, attribute: Attribute) -> None:
        text = self._types.get(id(attribute))
        if text is not None:
            self._current_column += len(text)
            self.stream.write(text)
        elif isinstance(attribute, TypeAttribute) and len(self._types) < _MOST:
            self._print_type(attribute)
        else:
            super().print_attribute(attribute)

    def _print_type(self, type_: Attribute) -> None:
        """Print a type and keep its text, unless that asks for more than text."""
        outer, column, self.stream = self.stream, self._current_column, StringIO()
        resources = len(self._dialect_resources)
        try:
            super().print_attribute(type_)
            text = self.stream.getvalue()
        finally:
            self.stream = outer
        self._current_column = column
        self.print_string(text)
        if len(self._dialect_resources) == resources and "\n" not in text:
            self._types[id(type_)] = text

    def print_op(self, op: Operation) -> None:
        template = self._template(op) if self._plain else None
        if template is None:
            super().print_op(op)
            return
        name = self._name
        results = [f"%{name(result)}" for result in op.results]
        operands = op._operands  # pyright: ignore[reportPrivateUsage]  # op.operands is a new view
        text = template.text % tuple([f"%{name(operands[k])}" for k in template.order])
        if results:
            text = f"{', '.join(results)} = {text}"
        self._current_column += len(text)
        self.stream.write(text)

    def _template(self, op: Operation) -> _Template | None:
        """Return the text of ops like this one, from the second one on that is printed."""
        op_type = type(op)
        if op.regions or not _has_plain_format(op_type) or op in self.diagnostic.op_messages:
            return None
        operands = op._operands  # pyright: ignore[reportPrivateUsage]  # op.operands is a new view
        types = [id(operand.type) for operand in operands]
        key = (op_type, *types, None, *[id(result.type) for result in op.results])
        if op.properties:
            key = (*key, *op.properties, *map(id, op.properties.values()))
        if op.attributes:
            key = (*key, None, *op.attributes, *map(id, op.attributes.values()))
        try:
            return self._templates[key]
        except KeyError:
            if key in self._met:
                twin = _stand_in(op)
                self._templates[key] = template = _Recorder(twin).template(twin)
                return template
        if len(self._met) < _MOST:
            self._met.add(key)
        return None
