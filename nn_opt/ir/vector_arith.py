"""xDSL's casts, comparisons and select take scalars alone; here they learn vectors, as in MLIR."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from xdsl.dialects import arith
from xdsl.dialects.arith import (
    IntegerOverflowAttr,
    floatingPointLike,
    signlessIntegerLike,
)
from xdsl.dialects.builtin import IntegerType, VectorType, i1
from xdsl.ir import Attribute, Dialect, Operation, SSAValue
from xdsl.irdl import AttrConstraint, IRDLOperation, PropertyDef, base
from xdsl.irdl.attributes import single_range_constr_coercion
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from nn_opt.ir.remf import RemFOp
from nn_opt.ir.types import element_type, type_of, vector_type

__all__ = ["Arith", "accept_vectors", "bool_like", "lanes_of"]

Arith = Dialect("arith", [*arith.Arith.operations, RemFOp], [*arith.Arith.attributes])

INTEGER, FLOAT = signlessIntegerLike, floatingPointLike
CASTS: dict[type[IRDLOperation], tuple[AttrConstraint, AttrConstraint]] = {
    arith.ExtSIOp: (INTEGER, INTEGER),
    arith.ExtUIOp: (INTEGER, INTEGER),
    arith.TruncIOp: (INTEGER, INTEGER),
    arith.IndexCastOp: (INTEGER, INTEGER),
    arith.SIToFPOp: (INTEGER, FLOAT),
    arith.UIToFPOp: (INTEGER, FLOAT),
    arith.FPToSIOp: (FLOAT, INTEGER),
    arith.FPToUIOp: (FLOAT, INTEGER),
}
GROWTH: dict[type[IRDLOperation], int] = {  # sign of the change of width
    arith.ExtSIOp: 1,
    arith.ExtUIOp: 1,
    arith.TruncIOp: -1,
}
BOOL = arith.boolLike
NO_OVERFLOW = IntegerOverflowAttr("none")


def lanes_of(value: SSAValue | Attribute) -> int | None:
    """Return the number of lanes of a vector; None for a scalar."""
    type_ = type_of(value)
    return type_.get_shape()[0] if isinstance(type_, VectorType) else None


def width_of(integer: Attribute) -> int:
    """Return the bits of an integer type."""
    assert isinstance(integer, IntegerType)
    return cast("IntegerType[int]", integer).width.data


def bool_like(type_: Attribute) -> Attribute:
    """Return the type of a comparison of two values of a type."""
    lanes = lanes_of(type_)
    return i1 if lanes is None else vector_type(lanes, i1)


def accept_vectors() -> None:
    """Widen xDSL's definitions; a second call changes nothing."""
    for kind, (source, result) in CASTS.items():
        definition = kind.get_irdl_definition()
        definition.operands[0][1].constr = single_range_constr_coercion(source)
        definition.results[0][1].constr = single_range_constr_coercion(result)
        _set(kind, "verify_", _verify_cast)
    for kind in (arith.CmpiOp, arith.CmpfOp):
        definition = kind.get_irdl_definition()
        definition.results[0][1].constr = single_range_constr_coercion(BOOL)
        _set(kind, "verify_", _verify_comparison)
        if kind not in _scalar_init:
            _scalar_init[kind] = kind.__init__
            _set(kind, "__init__", _init_comparison)
    definition = arith.SelectOp.get_irdl_definition()
    definition.operands[0][1].constr = single_range_constr_coercion(BOOL)
    for name, method in (("print", _print_select), ("parse", classmethod(_parse_select))):
        _set(arith.SelectOp, name, method)
    _set(arith.SelectOp, "verify_", _verify_select)
    definition = arith.TruncIOp.get_irdl_definition()
    definition.properties["overflowFlags"] = PropertyDef(base(IntegerOverflowAttr), NO_OVERFLOW)
    for name, method in (("print", _print_truncation), ("parse", classmethod(_parse_truncation))):
        _set(arith.TruncIOp, name, method)


_scalar_init: dict[type[IRDLOperation], Callable[..., None]] = {}


def _set(kind: type[IRDLOperation], name: str, value: Any) -> None:
    setattr(kind, name, value)


def _require(condition: bool, problem: str) -> None:
    if not condition:
        raise VerifyException(problem)


def _verify_cast(op: IRDLOperation) -> None:
    op.get_irdl_definition().verify(op)
    source, result = op.operands[0].type, op.results[0].type
    _require(
        lanes_of(source) == lanes_of(result), f"casts {source} to {result}, expected as many lanes"
    )
    before, after = element_type(source), element_type(result)
    if isinstance(op, arith.IndexCastOp):
        one_index = isinstance(before, IntegerType) != isinstance(after, IntegerType)
        _require(one_index, f"casts {source} to {result}, expected index for one of them")
    elif type(op) in GROWTH:
        growth = (width_of(after) - width_of(before)) * GROWTH[type(op)]
        word = "wider" if GROWTH[type(op)] > 0 else "narrower"
        _require(growth > 0, f"casts {source} to {result}, expected a {word} type")


def _verify_comparison(op: IRDLOperation) -> None:
    op.get_irdl_definition().verify(op)
    types = [value.type for value in (*op.operands, *op.results)]
    _require(types[0] == types[1], f"compares {types[0]} with {types[1]}, expected equal types")
    if lanes_of(types[0]) is not None:
        wanted = bool_like(types[0])
        _require(types[2] == wanted, f"gives {types[2]}, expected {wanted}")


def _verify_select(op: IRDLOperation) -> None:
    op.get_irdl_definition().verify(op)
    condition, chosen = op.operands[0].type, op.operands[1].type
    same = lanes_of(condition) is None or lanes_of(condition) == lanes_of(chosen)
    _require(same, f"selects {chosen} by {condition}, expected as many lanes")


def _init_comparison(
    op: IRDLOperation,
    operand1: SSAValue | Operation,
    operand2: SSAValue | Operation,
    *rest: Any,
    **named: Any,
) -> None:
    _scalar_init[type(op)](op, operand1, operand2, *rest, **named)
    type_ = SSAValue.get(operand1).type
    if lanes_of(type_) is not None:
        op.results[0]._type = bool_like(type_)  # pyright: ignore[reportPrivateUsage]


def _print_select(op: arith.SelectOp, printer: Printer) -> None:
    printer.print_string(" ")
    printer.print_list(op.operands, printer.print_ssa_value)
    printer.print_op_attributes(op.attributes)
    printer.print_string(" : ")
    if lanes_of(op.cond) is not None:
        printer.print_attribute(op.cond.type)
        printer.print_string(", ")
    printer.print_attribute(op.result.type)


def _print_truncation(op: arith.TruncIOp, printer: Printer) -> None:
    printer.print_string(" ")
    printer.print_ssa_value(op.input)
    flags = op.properties["overflowFlags"]
    if isinstance(flags, IntegerOverflowAttr) and flags != NO_OVERFLOW:
        printer.print_string(" overflow")
        flags.print_parameter(printer)
    printer.print_op_attributes(op.attributes)
    printer.print_string(" : ")
    printer.print_attribute(op.input.type)
    printer.print_string(" to ")
    printer.print_attribute(op.result.type)


def _parse_truncation(cls: type[arith.TruncIOp], parser: Parser) -> arith.TruncIOp:
    operand = parser.parse_unresolved_operand()
    flags = NO_OVERFLOW
    if parser.parse_optional_keyword("overflow") is not None:
        flags = IntegerOverflowAttr(IntegerOverflowAttr.parse_parameter(parser))
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    source = parser.parse_type()
    parser.parse_keyword("to")
    return cls.create(
        operands=[parser.resolve_operand(operand, source)],
        result_types=[parser.parse_type()],
        properties={"overflowFlags": flags},
        attributes=attributes,
    )


def _parse_select(cls: type[arith.SelectOp], parser: Parser) -> arith.SelectOp:
    operands = parser.parse_comma_separated_list(
        parser.Delimiter.NONE, parser.parse_unresolved_operand
    )
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    first = parser.parse_type()
    second = parser.parse_type() if parser.parse_optional_punctuation(",") else None
    types = [first, second, second] if second is not None else [i1, first, first]
    op = cls(*parser.resolve_operands(operands, types, parser.pos))
    op.attributes |= attributes
    return op


accept_vectors()
