"""Module to text. Weights are keys in it; `ir.weights` writes the arrays beside it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from io import StringIO
from typing import Any, TypeAlias, cast

from xdsl.dialects.builtin import (
    AnyFloat,
    Builtin,
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerType,
)
from xdsl.ir import Attribute, Operation, Region, SSAValue

from nn_opt.ir.diagnostics import name_of
from nn_opt.ir.locations import place_arguments
from nn_opt.ir.quick_printer import QuickPrinter
from nn_opt.ir.recursion import allow_deep_nesting, unbounded
from nn_opt.ir.small_types import is_small_float

DenseElement: TypeAlias = AnyFloat | IntegerType | IndexType
_DEEPEST = 100  # levels of indentation: those of 10,000 regions would be 200 MB of blanks
_ESCAPED = re.compile(rb'[^\x20-\x7e]|"')
_BRIEF = 60  # characters of an attribute in a summary


class ExactPrinter(QuickPrinter):
    """xDSL's printer, but zeros of both signs are no splat, and small floats no other NaN."""

    def print_bytes_literal(self, bytestring: bytes) -> None:
        text = _ESCAPED.sub(lambda m: b"\\%02X" % m[0][0], bytestring.replace(b"\\", b"\\\\"))
        self.print_string(f'"{text.decode("ascii")}"')

    @unbounded
    def print_region(self, region: Region, *args: Any, **kwargs: Any) -> None:
        super().print_region(region, *args, **kwargs)

    def _print_new_line(self, indent: int | None = None, print_message: bool = True) -> None:
        depth = self._indent if indent is None else indent
        super()._print_new_line(min(depth, _DEEPEST), print_message)

    def print_attribute(self, attribute: Attribute) -> None:
        if type(attribute) is DenseIntOrFPElementsAttr:  # `isa` would take 0.2 ms
            dense = cast(DenseIntOrFPElementsAttr[DenseElement], attribute)
            if _has_both_zeros(dense) or _would_change(dense):
                self.print_string(f'dense<"0x{dense.data.data.hex().upper()}"> : ')
                super().print_attribute(dense.type)
                return
        super().print_attribute(attribute)


def _has_both_zeros(dense: DenseIntOrFPElementsAttr[DenseElement]) -> bool:
    element, content = dense.get_element_type(), dense.data.data
    if not isinstance(element, AnyFloat) or not content.strip(b"\0"):
        return False
    return not any(dense.iter_values()) and content != content[: element.size] * len(dense)


def _would_change(dense: DenseIntOrFPElementsAttr[DenseElement]) -> bool:
    """Return whether small floats read back from numbers would have other bits."""
    element = dense.get_element_type()
    if not is_small_float(element):
        return False
    numbers = cast(Iterable[float], dense.iter_values())
    return cast(AnyFloat, element).pack(tuple(numbers)) != dense.data.data


def print_module(module: Operation, *, generic: bool = False, locations: bool = False) -> str:
    """Return the text of a module, ended by a newline.

    generic: every operation in the form that needs no dialect.
    locations: with `loc(...)` after each operation.

    >>> import nn_opt
    >>> module = nn_opt.parse("func.func private @f() -> ()\\n")
    >>> print(nn_opt.print_module(module), end="")
    builtin.module {
      func.func private @f() -> ()
    }
    """
    allow_deep_nesting()
    if locations:
        place_arguments(module)
    stream = StringIO()
    printer = ExactPrinter(stream, print_generic_format=generic, print_debuginfo=locations)
    printer.print_op(module)
    printer.print_metadata((Builtin,))
    stream.write("\n")
    return stream.getvalue()


def summary_of(op: Operation) -> str:
    """Return an op in one line and generic form, its regions and long attributes elided.

    It may be malformed: nothing is asked of it but its parts.
    """
    results = ", ".join(_name_of(result) for result in op.results)
    operands = ", ".join(_name_of(operand) for operand in op.operands)
    given = {k: v for k, v in {**op.properties, **op.attributes}.items() if k != "op_name__"}
    parts = [f"{results} = " if results else "", f'"{name_of(op)}"({operands})']
    parts += [" ({...})"] if op.regions else []
    parts += [f" {{{', '.join(f'{k} = {_brief(v)}' for k, v in given.items())}}}"] if given else []
    types = [", ".join(_brief(value.type) for value in row) for row in (op.operands, op.results)]
    return f"{''.join(parts)} : ({types[0]}) -> ({types[1]})"


def _name_of(value: SSAValue) -> str:
    return f"%{value.name_hint or '_'}"


def _brief(attribute: Attribute) -> str:
    if isinstance(attribute, DenseIntOrFPElementsAttr):
        dense = cast(DenseIntOrFPElementsAttr[DenseElement], attribute)
        return f"dense<...> : {dense.type}"
    text = str(attribute)
    return text if len(text) <= _BRIEF else f"{text[:_BRIEF]}..."
