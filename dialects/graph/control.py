"""Ops with regions: a group that becomes one kernel, and a recurrence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, TensorType, UnitAttr, i64
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    IsolatedFromAbove,
    IsTerminator,
    Pure,
    SingleBlockImplicitTerminator,
)
from xdsl.utils.exceptions import VerifyException

from nn_opt.dialects.graph.traits import Fusion
from nn_opt.ir.diagnostics import complaint
from nn_opt.ir.types import element_type, shape_of, tensor_type


@irdl_op_definition
class YieldOp(IRDLOperation):
    """Ends the body of graph.fused or graph.scan."""

    name = "graph.yield"

    values = var_operand_def(TensorType)

    traits = traits_def(IsTerminator(), Pure())

    assembly_format = "($values^ `:` type($values))? attr-dict"

    def __init__(self, *values: SSAValue):
        super().__init__(operands=(values,))


@irdl_op_definition
class FusedOp(IRDLOperation):
    """A group of ops that becomes one kernel; the body sees only its block arguments.

    Text: `%r = graph.fused (%a = %x : tensor<4xf32>) -> (tensor<4xf32>) { ... graph.yield ... }`.
    """

    name = "graph.fused"
    FUSION: ClassVar[Fusion] = Fusion.OPAQUE

    inputs = var_operand_def(TensorType)
    outputs = var_result_def(TensorType)
    body = region_def("single_block")

    traits = traits_def(Pure(), IsolatedFromAbove(), SingleBlockImplicitTerminator(YieldOp))

    def __init__(self, inputs: Sequence[SSAValue], result_types: Sequence[Attribute], body: Region):
        super().__init__(operands=(inputs,), result_types=(result_types,), regions=(body,))

    def infer_result_types(self) -> list[Attribute]:
        """Return the types that the body yields."""
        return _yielded(self.body)

    def verify_(self) -> None:
        _expect(self, "body takes", self.body.block.args, [v.type for v in self.inputs])
        _expect_types(self, "body yields", _yielded(self.body), [v.type for v in self.outputs])

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        _print_bindings(printer, self.body.block.args, self.inputs)
        _print_rest(printer, self, self.outputs, self.body)

    @classmethod
    def parse(cls, parser: Parser) -> FusedOp:
        bindings = _parse_bindings(parser)
        attributes, types = _parse_rest(parser)
        body = parser.parse_region([argument.resolve(v.type) for argument, v in bindings])
        op = cls([value for _, value in bindings], types, body)
        op.attributes |= attributes
        return op


@irdl_op_definition
class ScanOp(IRDLOperation):
    """A recurrence over axis 0 of the scanned tensors, which all have T slices.

    The body takes (states, one slice of each scanned tensor) and yields (next states, one slice
    of each output); it may read values from around it. Results: the last states, then the outputs
    stacked along a new axis 0 of size T. With `reverse`, it runs from the last slice to the first.

    Text: `%h, %ys = graph.scan (%s = %h0 : tensor<4xf32>) over (%x = %xs : tensor<9x4xf32>)
    -> (tensor<4xf32>, tensor<9x4xf32>) { ... graph.yield ... }`.
    """

    name = "graph.scan"
    FUSION: ClassVar[Fusion] = Fusion.OPAQUE

    inputs = var_operand_def(TensorType)
    outputs = var_result_def(TensorType)
    num_states = prop_def(IntegerAttr.constr(i64))
    reverse = opt_prop_def(UnitAttr)
    body = region_def("single_block")

    traits = traits_def(Pure(), SingleBlockImplicitTerminator(YieldOp))

    def __init__(
        self,
        inits: Sequence[SSAValue],
        scanned: Sequence[SSAValue],
        body: Region,
        reverse: bool = False,
    ):
        yielded = _yielded(body)
        states = len(inits)
        length = shape_of(scanned[0])[0]
        super().__init__(
            operands=((*inits, *scanned),),
            result_types=([*yielded[:states], *_stacked(yielded[states:], length)],),
            properties={
                "num_states": IntegerAttr(states, i64),
                "reverse": UnitAttr() if reverse else None,
            },
            regions=(body,),
        )

    @property
    def states(self) -> int:
        """The number of states carried from step to step."""
        return self.num_states.value.data

    @property
    def inits(self) -> Sequence[SSAValue]:
        """The states before the first step."""
        return self.inputs[: self.states]

    @property
    def scanned(self) -> Sequence[SSAValue]:
        """The tensors that are taken apart along axis 0."""
        return self.inputs[self.states :]

    @property
    def length(self) -> int:
        """The number of steps T."""
        return shape_of(self.scanned[0])[0]

    def infer_result_types(self) -> list[Attribute]:
        """Return the states' types and the stacked types of what else the body yields."""
        yielded = _yielded(self.body)
        return [*yielded[: self.states], *_stacked(yielded[self.states :], self.length)]

    def verify_(self) -> None:
        if not 0 <= self.states < len(self.inputs):
            problem = f"has {self.states} states of {len(self.inputs)} operands, expected fewer"
            raise VerifyException(complaint(self, problem, hint="at least one tensor is scanned"))
        lengths = [shape_of(value)[:1] for value in self.scanned]
        if () in lengths or len(set(lengths)) > 1:
            sizes = [size[0] if size else "none" for size in lengths]
            problem = f"scanned tensors have lengths {sizes} along axis 0, expected one length"
            raise VerifyException(complaint(self, problem, hint="axis 0 of each is time"))
        states = [value.type for value in self.inits]
        slices = [tensor_type(shape_of(v)[1:], element_type(v)) for v in self.scanned]
        _expect(self, "body takes", self.body.block.args, [*states, *slices])
        _expect_types(self, "body's next states are", _yielded(self.body)[: self.states], states)
        actual = [value.type for value in self.outputs]
        _expect_types(self, "result types are", actual, self.infer_result_types())

    def print(self, printer: Printer) -> None:
        arguments = self.body.block.args
        printer.print_string(" ")
        _print_bindings(printer, arguments[: self.states], self.inits)
        printer.print_string(" over ")
        _print_bindings(printer, arguments[self.states :], self.scanned)
        if self.reverse is not None:
            printer.print_string(" reverse")
        _print_rest(printer, self, self.outputs, self.body)

    @classmethod
    def parse(cls, parser: Parser) -> ScanOp:
        states = _parse_bindings(parser)
        parser.parse_keyword("over")
        scanned = _parse_bindings(parser)
        reverse = parser.parse_optional_keyword("reverse") is not None
        attributes, types = _parse_rest(parser)
        arguments = [argument.resolve(value.type) for argument, value in states]
        arguments += [
            argument.resolve(tensor_type(shape_of(value)[1:], element_type(value)))
            for argument, value in scanned
        ]
        body = parser.parse_region(arguments)
        properties: dict[str, Attribute] = {"num_states": IntegerAttr(len(states), i64)}
        return cls.create(
            operands=[value for _, value in (*states, *scanned)],
            result_types=types,
            properties=properties | ({"reverse": UnitAttr()} if reverse else {}),
            attributes=attributes,
            regions=(body,),
        )


def _yielded(body: Region) -> list[Attribute]:
    block: Block = body.block
    terminator = block.last_op
    assert isinstance(terminator, YieldOp), "the body must end in graph.yield"
    return [value.type for value in terminator.values]


def _stacked(types: Sequence[Attribute], length: int) -> list[Attribute]:
    return [tensor_type((length, *shape_of(type_)), element_type(type_)) for type_ in types]


def _expect(
    op: IRDLOperation, what: str, values: Sequence[SSAValue], expected: Sequence[Attribute]
) -> None:
    _expect_types(op, what, [value.type for value in values], expected)


def _expect_types(
    op: IRDLOperation, what: str, actual: Sequence[Attribute], expected: Sequence[Attribute]
) -> None:
    if list(actual) != list(expected):
        shown = [f"({', '.join(map(str, types))})" for types in (actual, expected)]
        problem = f"{what} {shown[0]}, expected {shown[1]}"
        raise VerifyException(complaint(op, problem, hint="match body, operands and results"))


Binding = tuple[Parser.UnresolvedArgument, SSAValue]


def _print_bindings(
    printer: Printer, arguments: Sequence[SSAValue], values: Sequence[SSAValue]
) -> None:
    def one(pair: tuple[SSAValue, SSAValue]) -> None:
        printer.print_ssa_value(pair[0])
        printer.print_string(" = ")
        printer.print_ssa_value(pair[1])
        printer.print_string(" : ")
        printer.print_attribute(pair[1].type)

    with printer.in_parens():
        printer.print_list(list(zip(arguments, values, strict=True)), one)


def _parse_bindings(parser: Parser) -> list[Binding]:
    def one() -> Binding:
        argument = parser.parse_argument(expect_type=False)
        parser.parse_punctuation("=")
        operand = parser.parse_unresolved_operand()
        parser.parse_punctuation(":")
        return argument, parser.resolve_operand(operand, parser.parse_type())

    return parser.parse_comma_separated_list(parser.Delimiter.PAREN, one)


def _print_rest(
    printer: Printer, op: IRDLOperation, outputs: Sequence[SSAValue], body: Region
) -> None:
    printer.print_op_attributes(op.attributes, print_keyword=True)
    printer.print_string(" -> ")
    with printer.in_parens():
        printer.print_list(outputs, lambda value: printer.print_attribute(value.type))
    printer.print_string(" ")
    printer.print_region(body, print_entry_block_args=False)


def _parse_rest(parser: Parser) -> tuple[dict[str, Attribute], list[Attribute]]:
    attributes = parser.parse_optional_attr_dict_with_keyword()
    parser.parse_punctuation("->")
    types = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
    return dict(attributes.data) if attributes else {}, list(types)
