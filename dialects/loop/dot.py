"""loop.dot: on each lane, a short sum of products of narrow numbers, in one instruction."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerType, UnitAttr, VectorType
from xdsl.ir import SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from nn_opt.ir.diagnostics import complaint
from nn_opt.ir.types import element_type, lanes_of, shape_of, vector_type


@irdl_op_definition
class DotOp(IRDLOperation):
    """acc[l] + sum over k < K of a[k] * b[K * l + k] on each lane l: `a` serves all lanes.

    `%d = loop.dot %acc, %a, %b : vector<16xf32>, vector<2xbf16>`; b has a K-fold of acc's lanes.
    Integers are signed; `unsigned` says that those of `a` are not. Pairs of bf16 are widened and
    summed as x86 does it: acc + a[1] * b[1] is rounded to f32, then that + a[0] * b[0]; denormal
    numbers, read or made, are zeros.
    """

    name = "loop.dot"

    acc = operand_def(VectorType)
    a = operand_def(VectorType)
    b = operand_def(VectorType)
    unsigned = opt_prop_def(UnitAttr)
    result = result_def(VectorType)

    traits = traits_def(Pure())

    def __init__(self, acc: SSAValue, a: SSAValue, b: SSAValue, *, unsigned: bool = False):
        super().__init__(
            operands=[acc, a, b],
            result_types=[acc.type],
            properties={"unsigned": UnitAttr() if unsigned else None},
        )

    @property
    def group(self) -> int:
        """The number of products summed on a lane."""
        return shape_of(self.a)[0]

    def verify_(self) -> None:
        lanes, group = shape_of(self.acc)[0], self.group
        expected = vector_type(lanes * group, element_type(self.a))
        if self.b.type != expected:
            raise VerifyException(complaint(self, f"b is {self.b.type}, expected {expected}"))
        if self.result.type != self.acc.type:
            problem = f"result is {self.result.type}, expected {self.acc.type}"
            raise VerifyException(complaint(self, problem))
        narrow = isinstance(element_type(self.a), IntegerType)
        if narrow != isinstance(element_type(self.acc), IntegerType):
            wanted = "an integer" if narrow else "a float"
            problem = f"sums {element_type(self.a)} in {element_type(self.acc)}, expected {wanted}"
            raise VerifyException(complaint(self, problem))
        if self.unsigned is not None and not narrow:
            raise VerifyException(complaint(self, f"{element_type(self.a)} has no sign to drop"))

    def print(self, printer: Printer) -> None:
        printer.print_string(" unsigned " if self.unsigned is not None else " ")
        printer.print_list(self.operands, printer.print_ssa_value)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_list((self.acc.type, self.a.type), printer.print_attribute)

    @classmethod
    def parse(cls, parser: Parser) -> DotOp:
        unsigned = parser.parse_optional_keyword("unsigned") is not None
        names = parser.parse_comma_separated_list(
            parser.Delimiter.NONE, parser.parse_unresolved_operand
        )
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        acc, _, a = parser.parse_type(), parser.parse_punctuation(","), parser.parse_type()
        sizes = lanes_of(acc), lanes_of(a)
        if sizes[0] is None or sizes[1] is None or len(names) != 3:
            parser.raise_error("loop.dot takes acc, a, b : the vector types of acc and a")
        b = vector_type(sizes[0] * sizes[1], element_type(a))
        values = parser.resolve_operands(names, [acc, a, b], parser.pos)
        op = cls(*values, unsigned=unsigned)
        op.attributes |= attributes
        return op
