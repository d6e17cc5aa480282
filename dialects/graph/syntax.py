"""The one syntax that graph ops without regions share.

`graph.name %a, %b field value ... : (types of operands) -> type of the result`, or `: type` if
the one operand has the result's type. An op with several optional operands names them:
`graph.clip %x low %l : ...`.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DenseArrayBase, IntegerType, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import AttrSizedOperandSegments, IRDLOperation
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer

from nn_opt.dialects.graph.fields import parse_field, print_field

SEGMENTS = AttrSizedOperandSegments.attribute_name


def print_operation(printer: Printer, op: IRDLOperation) -> None:
    """Print what follows the name of an op."""
    named = _named_operands(op)
    positional = op.operands[: len(op.operands) - len(named)]
    printer.print_string(" ")
    printer.print_list(positional, printer.print_ssa_value)
    for name, value in named.items():
        printer.print_string(f" {name} ")
        printer.print_ssa_value(value)
    for name in op.get_irdl_definition().properties:
        if name in op.properties and name != SEGMENTS:
            print_field(printer, name, op.properties[name])
    printer.print_op_attributes(op.attributes)
    printer.print_string(" : ")
    if list(op.operand_types) == list(op.result_types):
        printer.print_attribute(op.result_types[0])
    else:
        printer.print_function_type(op.operand_types, op.result_types)


Attributes = dict[str, Attribute]


def parse_operation(
    parser: Parser, op_type: type[IRDLOperation]
) -> tuple[Sequence[SSAValue], Sequence[Attribute], Attributes, Attributes]:
    """Parse what `print_operation` prints: operands, result types, properties, attributes."""
    start = parser.pos
    operands = _parse_positional(parser)
    positional = len(operands)
    properties: Attributes = {}
    names: list[str] = []
    while (name := parser.parse_optional_identifier()) is not None:
        operand = parser.parse_optional_unresolved_operand()
        if operand is None:
            _check_field(op_type, name, parser)
            properties[name] = parse_field(parser)
        else:
            names.append(name)
            operands.append(operand)
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    types, results = _parse_types(parser)
    segments = _segments(op_type, positional, names)
    if segments is not None:
        properties[SEGMENTS] = segments
    return parser.resolve_operands(operands, types, start), results, properties, attributes


def _optional_names(op_type: type[IRDLOperation]) -> list[str]:
    """Return the names of the operands that the text names: those of an op with segments."""
    definition = op_type.get_irdl_definition()
    if not any(isinstance(option, AttrSizedOperandSegments) for option in definition.options):
        return []
    return [name for name, _ in definition.operands[1:]]


def _named_operands(op: IRDLOperation) -> dict[str, SSAValue]:
    values = {name: getattr(op, name) for name in _optional_names(type(op))}
    return {name: value for name, value in values.items() if value is not None}


def _segments(
    op_type: type[IRDLOperation], positional: int, names: Sequence[str]
) -> DenseArrayBase[IntegerType] | None:
    optional = _optional_names(op_type)
    if not optional:
        return None
    return DenseArrayBase.from_list(i32, [positional, *(int(name in names) for name in optional)])


def _parse_positional(parser: Parser) -> list[UnresolvedOperand]:
    first = parser.parse_optional_unresolved_operand()
    if first is None:
        return []
    operands = [first]
    while parser.parse_optional_punctuation(",") is not None:
        operands.append(parser.parse_unresolved_operand())
    return operands


def _check_field(op_type: type[IRDLOperation], name: str, parser: Parser) -> None:
    known = op_type.get_irdl_definition().properties
    if name not in known:
        fields = ", ".join(field for field in known if field != SEGMENTS) or "none"
        parser.raise_error(f"{op_type.name} has no field {name!r}; its fields: {fields}")


def _parse_types(parser: Parser) -> tuple[Sequence[Attribute], Sequence[Attribute]]:
    if parser.parse_optional_punctuation("(") is None:
        both = parser.parse_type()
        return (both,), (both,)
    types: list[Attribute] = []
    if parser.parse_optional_punctuation(")") is None:
        types = list(parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type))
        parser.parse_punctuation(")")
    parser.parse_punctuation("->")
    return types, (parser.parse_type(),)
