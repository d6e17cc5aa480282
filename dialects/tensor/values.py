"""Whole-tensor values of the tensor dialect: constants, reinterpreted shapes, recurrences."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr, TensorType, UnitAttr, i64
from xdsl.dialects.tensor import YieldOp
from xdsl.ir import Attribute, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure, SingleBlockImplicitTerminator
from xdsl.utils.exceptions import VerifyException

from nn_opt.ir.diagnostics import complaint
from nn_opt.ir.types import element_type, shape_of, tensor_type


@irdl_op_definition
class ConstantOp(IRDLOperation):
    """A tensor known at compile time; `value` is dense text or a resource."""

    name = "tensor.constant"

    value = prop_def(Attribute)
    result = result_def(TensorType)

    traits = traits_def(Pure())

    def __init__(self, value: Attribute, type_: Attribute):
        super().__init__(properties={"value": value}, result_types=[type_])

    def print(self, printer: Printer) -> None:
        print_constant(printer, self.value, self.result.type)

    @classmethod
    def parse(cls, parser: Parser) -> ConstantOp:
        return cls(*parse_constant(parser))


def print_constant(printer: Printer, value: Attribute, type_: Attribute) -> None:
    """Print `value to type`; a dense value names its own type, which may be another shape's."""
    printer.print_string(" ")
    printer.print_attribute(value)
    printer.print_string(" to ")
    printer.print_attribute(type_)


def parse_constant(parser: Parser) -> tuple[Attribute, Attribute]:
    """Parse what `print_constant` prints."""
    value = parser.parse_attribute()
    parser.parse_keyword("to")
    return value, parser.parse_type()


@irdl_op_definition
class ViewOp(IRDLOperation):
    """The same elements in row-major order under another shape; costs nothing."""

    name = "tensor.view"

    source = operand_def(TensorType)
    result = result_def(TensorType)

    traits = traits_def(Pure())

    assembly_format = "$source attr-dict `:` type($source) `to` type($result)"

    def __init__(self, source: SSAValue, shape: Sequence[int]):
        super().__init__(operands=[source], result_types=[tensor_type(shape, element_type(source))])

    def verify_(self) -> None:
        before, after = shape_of(self.source), shape_of(self.result)
        if math.prod(before) != math.prod(after):
            problem = f"{list(before)} and {list(after)} have different numbers of elements"
            raise VerifyException(complaint(self, problem, hint="a view keeps every element"))
        elements = element_type(self.source), element_type(self.result)
        if elements[0] != elements[1]:
            problem = f"turns {elements[0]} into {elements[1]}"
            raise VerifyException(complaint(self, problem, hint="a view keeps every element"))


@irdl_op_definition
class ScanOp(IRDLOperation):
    """A recurrence over the first axis of the scanned tensors.

    Operands: `num_states` initial states, then tensors [T, ...] to scan. The body takes
    (states, one slice of each scanned tensor) and yields (next states, one slice of each output).
    Results: the last states, then the outputs [T, ...]. With `reverse`, from the last slice back.
    """

    name = "tensor.scan"

    inputs = var_operand_def(TensorType)
    num_states = prop_def(IntegerAttr.constr(i64))
    reverse = opt_prop_def(UnitAttr)
    body = region_def("single_block")
    outputs = var_result_def(TensorType)

    traits = traits_def(Pure(), SingleBlockImplicitTerminator(YieldOp))

    def __init__(
        self,
        inputs: Sequence[SSAValue],
        body: Region,
        result_types: Sequence[Attribute],
        *,
        num_states: int,
        reverse: bool = False,
    ):
        super().__init__(
            operands=[inputs],
            regions=[body],
            result_types=[result_types],
            properties={
                "num_states": IntegerAttr(num_states, i64),
                "reverse": UnitAttr() if reverse else None,
            },
        )

    @property
    def states(self) -> int:
        """The number of states carried from step to step."""
        return self.num_states.value.data

    def verify_(self) -> None:
        if not 0 <= self.states <= min(len(self.inputs), len(self.outputs)):
            counts = f"{len(self.inputs)} operands and {len(self.outputs)} results"
            problem = f"has {self.states} states of {counts}, expected no more than of both"
            raise VerifyException(complaint(self, problem, hint="each state is one of both"))
        stacks = (*self.inputs[self.states :], *self.outputs[self.states :])
        lengths = [shape_of(value)[:1] for value in stacks]
        if not lengths or () in lengths or len(set(lengths)) > 1:
            found = [size[0] if size else "none" for size in lengths]
            problem = f"axis 0 of what is scanned and stacked has sizes {found}, expected one size"
            raise VerifyException(complaint(self, problem, hint="axis 0 of each is time"))
        wanted = [value.type for value in self.inputs[: self.states]]
        wanted += [_slice(value) for value in self.inputs[self.states :]]
        actual = [argument.type for argument in self.body.block.args]
        if actual != wanted:
            problem = f"body takes {_types(actual)}, expected {_types(wanted)}"
            raise VerifyException(complaint(self, problem, hint="states first, then slices"))
        terminator = self.body.block.last_op
        assert isinstance(terminator, YieldOp), "its trait asks for a tensor.yield"
        yields = [value.type for value in terminator.operands]
        wanted = [value.type for value in self.outputs[: self.states]]
        wanted += [_slice(value) for value in self.outputs[self.states :]]
        if yields != wanted:
            problem = f"body yields {_types(yields)}, expected {_types(wanted)}"
            raise VerifyException(complaint(self, problem, hint="states first, then slices"))

    def print(self, printer: Printer) -> None:
        printer.print_string(" reverse" if self.reverse else "")
        printer.print_string(f" {self.states} ")
        with printer.in_parens():
            pairs = list(zip(self.body.block.args, self.inputs, strict=True))
            printer.print_list(pairs, lambda pair: _print_binding(printer, *pair))
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" -> ")
        with printer.in_parens():
            printer.print_list(self.outputs, lambda value: printer.print_attribute(value.type))
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)

    @classmethod
    def parse(cls, parser: Parser) -> ScanOp:
        reverse = parser.parse_optional_keyword("reverse") is not None
        states = parser.parse_integer()
        bindings = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, lambda: _parse_binding(parser)
        )
        attributes = parser.parse_optional_attr_dict_with_keyword()
        parser.parse_punctuation("->")
        types = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
        arguments = [
            argument.resolve(value.type if position < states else _slice(value))
            for position, (argument, value) in enumerate(bindings)
        ]
        body = parser.parse_region(arguments)
        op = cls([v for _, v in bindings], body, types, num_states=states, reverse=reverse)
        op.attributes |= attributes.data if attributes else {}
        return op


def _slice(value: SSAValue) -> Attribute:
    return tensor_type(shape_of(value)[1:], element_type(value))


def _types(types: Sequence[Attribute]) -> str:
    return f"({', '.join(map(str, types))})"


def _print_binding(printer: Printer, argument: SSAValue, value: SSAValue) -> None:
    printer.print_ssa_value(argument)
    printer.print_string(" = ")
    printer.print_ssa_value(value)
    printer.print_string(" : ")
    printer.print_attribute(value.type)


def _parse_binding(parser: Parser) -> tuple[Parser.UnresolvedArgument, SSAValue]:
    argument = parser.parse_argument(expect_type=False)
    parser.parse_punctuation("=")
    operand = parser.parse_unresolved_operand()
    parser.parse_punctuation(":")
    return argument, parser.resolve_operand(operand, parser.parse_type())
