"""loop.gather: a vector of elements, each lane at its own indices."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import MemRefType, VectorType, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect
from xdsl.utils.exceptions import VerifyException

from nn_opt.ir.diagnostics import complaint
from nn_opt.ir.literals import Scalar, parse_scalar, print_scalar, scalar_attr
from nn_opt.ir.types import element_type, shape_of, vector_type


@irdl_op_definition
class GatherOp(IRDLOperation):
    """A vector of elements, each at its own indices: vectors of i64, one a dimension.

    `loop.gather 16 %m[%rows, %columns] or 0.0`: as loop.load, lane by lane.
    """

    name = "loop.gather"

    memref = operand_def(MemRefType)
    indices = var_operand_def(VectorType)
    default = opt_prop_def(Attribute)
    result = result_def(VectorType)

    traits = traits_def(MemoryReadEffect())

    def __init__(
        self,
        lanes: int,
        memref: SSAValue,
        indices: Sequence[SSAValue],
        *,
        default: Scalar | None = None,
    ):
        element = element_type(memref)
        super().__init__(
            operands=[memref, indices],
            result_types=[vector_type(lanes, element)],
            properties={
                "default": None if default is None else scalar_attr(default, element),
            },
        )

    @property
    def lanes(self) -> int:
        """The number of elements read."""
        return shape_of(self.result)[0]

    def verify_(self) -> None:
        rank = len(shape_of(self.memref))
        if len(self.indices) != rank:
            problem = f"has {len(self.indices)} indices for a buffer of rank {rank}"
            raise VerifyException(complaint(self, problem, hint="give one index a dimension"))
        if self.result.type != vector_type(self.lanes, element_type(self.memref)):
            problem = f"reads {self.result.type} in a buffer of {element_type(self.memref)}"
            raise VerifyException(complaint(self, problem))
        wanted = vector_type(self.lanes, i64)
        for index in self.indices:
            if index.type != wanted:
                problem = f"an index is {index.type}, expected {wanted}"
                raise VerifyException(complaint(self, problem))

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.lanes} ")
        printer.print_ssa_value(self.memref)
        with printer.in_square_brackets():
            printer.print_list(self.indices, printer.print_ssa_value)
        if self.default is not None:
            printer.print_string(" or ")
            print_scalar(printer, self.default)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.memref.type)

    @classmethod
    def parse(cls, parser: Parser) -> GatherOp:
        lanes = parser.parse_integer()
        memref = parser.parse_unresolved_operand()
        indices = parser.parse_comma_separated_list(
            parser.Delimiter.SQUARE, parser.parse_unresolved_operand
        )
        default = parse_scalar(parser) if parser.parse_optional_keyword("or") else None
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        operand = parser.resolve_operand(memref, parser.parse_type())
        values = [parser.resolve_operand(index, vector_type(lanes, i64)) for index in indices]
        op = cls(lanes, operand, values, default=default)
        op.attributes |= attributes
        return op
