"""The text of memref.global, for which xDSL has the generic form alone; here it is MLIR's."""

from __future__ import annotations

from io import StringIO
from typing import Any, cast

from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    MemRefType,
    StringAttr,
    TensorType,
    UnitAttr,
)
from xdsl.dialects.memref import GlobalOp, MemRef
from xdsl.ir import Attribute
from xdsl.irdl import IRDLOperation
from xdsl.parser import Parser
from xdsl.printer import Printer

__all__ = ["GlobalOp", "MemRef"]

PUBLIC = "public"
_class: Any = GlobalOp


def _parse_global(cls: type[GlobalOp], parser: Parser) -> GlobalOp:
    """Parse `"private" constant @name : memref<2xf32> = dense<1.0> {alignment = 64 : i64}`."""
    visibility = parser.parse_optional_str_literal()
    constant = parser.parse_optional_keyword("constant")
    properties: dict[str, Attribute] = {
        "sym_name": parser.parse_symbol_name(),
    }
    if visibility is not None:
        properties["sym_visibility"] = StringAttr(visibility)
    parser.parse_punctuation(":")
    at = parser.pos
    properties["type"] = type_ = parser.parse_type()
    if constant is not None:
        properties["constant"] = UnitAttr()
    if not isinstance(type_, MemRefType):
        parser.raise_error("expected the type of a memref", at, parser.pos)
    if parser.parse_optional_punctuation("=") is not None:
        properties["initial_value"] = _parse_value(parser, cast("MemRefType[Any]", type_))
    attributes = parser.parse_optional_attr_dict()
    if "alignment" in attributes:
        properties["alignment"] = attributes.pop("alignment")
    return cls.create(properties=properties, attributes=attributes)


def _parse_value(parser: Parser, type_: MemRefType[Any]) -> Attribute:
    if parser.parse_optional_keyword("uninitialized") is not None:
        return UnitAttr()
    parser.parse_keyword("dense")
    tensor = TensorType(type_.element_type, type_.get_shape())
    return parser.parse_dense_int_or_fp_elements_attr(tensor)


def _print_global(self: GlobalOp, printer: Printer) -> None:
    if self.sym_visibility.data != PUBLIC:
        printer.print_string(" ")
        printer.print_attribute(self.sym_visibility)
    printer.print_string(" constant " if self.constant is not None else " ")
    printer.print_symbol_name(self.sym_name.data)
    printer.print_string(" : ")
    printer.print_attribute(self.type)
    value = self.initial_value
    if isinstance(value, DenseIntOrFPElementsAttr):
        printer.print_string(f" = {_without_type(printer, value)}")
    else:
        printer.print_string(" = uninitialized")
    alignment = {} if self.alignment is None else {"alignment": self.alignment}
    printer.print_op_attributes({**alignment, **self.attributes})


def _without_type(printer: Printer, value: DenseIntOrFPElementsAttr[Any]) -> str:
    """Return `dense<...>` as a printer spells it."""
    inner = type(printer)(stream := StringIO())
    inner.print_attribute(value)
    return stream.getvalue().removesuffix(f" : {value.type}")


def _default_visibility(self: GlobalOp) -> None:
    """Let a global be public if nothing is said: xDSL's definition wants that to be said."""
    self.properties.setdefault("sym_visibility", StringAttr(PUBLIC))
    IRDLOperation.__post_init__(self)


_class.__post_init__ = _default_visibility
_class.parse = classmethod(_parse_global)
_class.print = _print_global
