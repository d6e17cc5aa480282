"""LLVM instructions that xDSL's dialect lacks, or admits for scalars only."""

from __future__ import annotations

from typing import Any, ClassVar

from xdsl.dialects.builtin import (
    AnyFloatConstr,
    IntegerAttr,
    SignlessIntegerConstraint,
    VectorType,
    i1,
    i64,
)
from xdsl.dialects.llvm import (
    FastMathAttr,
    FCmpPredicateFlag,
    GenericCastOp,
    OverflowAttr,
    TruncOp,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AnyAttr,
    EqAttrConstraint,
    IRDLOperation,
    ParsePropInAttrDict,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import NoMemoryEffect, Pure
from xdsl.utils.exceptions import VerifyException

from nn_opt.ir.diagnostics import complaint
from nn_opt.ir.types import element_type, lanes_of, vector_type


def bool_like(type_: Attribute) -> Attribute:
    """Return i1, or a vector of as many i1 as the type has lanes."""
    lanes = lanes_of(type_)
    return i1 if lanes is None else vector_type(lanes, i1)


def _read_flags(op: TruncOp) -> None:
    """Take the flags of llvm.trunc as MLIR's generic form has them, which is a number."""
    flags = op.properties.get("overflowFlags")
    if isinstance(flags, IntegerAttr):
        op.properties["overflowFlags"] = OverflowAttr.from_int(flags.value.data)
    IRDLOperation.__post_init__(op)


_truncation: Any = TruncOp
_truncation.__post_init__ = _read_flags


@irdl_op_definition
class ExtractElementOp(IRDLOperation):
    """One lane of a vector."""

    name = "llvm.extractelement"

    ELEMENT: ClassVar = VarConstraint("ELEMENT", AnyAttr())

    vector = operand_def(VectorType.constr(ELEMENT))
    position = operand_def(SignlessIntegerConstraint)
    res = result_def(ELEMENT)

    traits = traits_def(NoMemoryEffect())

    assembly_format = "$vector `[` $position `:` type($position) `]` attr-dict `:` type($vector)"

    def __init__(self, vector: SSAValue, position: SSAValue):
        super().__init__(operands=[vector, position], result_types=[element_type(vector)])


@irdl_op_definition
class PoisonOp(IRDLOperation):
    """A value that nobody may look at, such as a register before its first write."""

    name = "llvm.mlir.poison"

    res = result_def()

    traits = traits_def(Pure())

    assembly_format = "attr-dict `:` type($res)"

    def __init__(self, type_: Attribute):
        super().__init__(result_types=[type_])


@irdl_op_definition
class UIToFPOp(GenericCastOp):
    """An unsigned integer as a float."""

    name = "llvm.uitofp"


@irdl_op_definition
class FPToSIOp(GenericCastOp):
    """A float as a signed integer, towards zero."""

    name = "llvm.fptosi"


@irdl_op_definition
class FPToUIOp(GenericCastOp):
    """A float as an unsigned integer, towards zero."""

    name = "llvm.fptoui"


FLAGS = "fastmathFlags"


@irdl_op_definition
class FCmpOp(IRDLOperation):
    """Compare floats, or vectors of floats lane by lane."""

    name = "llvm.fcmp"

    T: ClassVar = VarConstraint("T", AnyFloatConstr | VectorType.constr(AnyFloatConstr))

    lhs = operand_def(T)
    rhs = operand_def(T)
    res = result_def()
    predicate = prop_def(IntegerAttr.constr(i64))
    fastmathFlags = prop_def(FastMathAttr, default_value=FastMathAttr(None))

    traits = traits_def(Pure())

    irdl_options = (ParsePropInAttrDict(),)

    def __init__(self, lhs: SSAValue, rhs: SSAValue, predicate: int):
        super().__init__(
            operands=[lhs, rhs],
            result_types=[bool_like(lhs.type)],
            properties={"predicate": IntegerAttr(predicate, i64)},
        )

    @property
    def word(self) -> str:
        """The predicate's name, such as `olt`."""
        return FCmpPredicateFlag.from_int(self.predicate.value.data).value

    def verify_(self) -> None:
        wanted = bool_like(self.lhs.type)
        if self.res.type != wanted:
            raise VerifyException(complaint(self, f"result is {self.res.type}, expected {wanted}"))

    def print(self, printer: Printer) -> None:
        printer.print_string(f' "{self.word}" ')
        printer.print_ssa_value(self.lhs)
        printer.print_string(", ")
        printer.print_ssa_value(self.rhs)
        flags = {FLAGS: self.fastmathFlags} if self.fastmathFlags.data else {}
        printer.print_op_attributes({**flags, **self.attributes})
        printer.print_string(" : ")
        printer.print_attribute(self.lhs.type)

    @classmethod
    def parse(cls, parser: Parser) -> FCmpOp:
        predicate = FCmpPredicateFlag(parser.parse_str_literal()).to_int()
        lhs = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        rhs = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type_ = parser.parse_type()
        values = parser.resolve_operands([lhs, rhs], [type_, type_], parser.pos)
        op = cls(values[0], values[1], predicate)
        if FLAGS in attributes:
            op.properties[FLAGS] = attributes.pop(FLAGS)
        op.attributes |= attributes
        return op


@irdl_op_definition
class SelectOp(IRDLOperation):
    """The first value where the condition holds, else the second; a vector chooses by lane."""

    name = "llvm.select"

    T: ClassVar = VarConstraint("T", AnyAttr())

    cond = operand_def(EqAttrConstraint(i1) | VectorType.constr(i1))
    lhs = operand_def(T)
    rhs = operand_def(T)
    res = result_def(T)
    fastmathFlags = prop_def(FastMathAttr, default_value=FastMathAttr(None))

    traits = traits_def(Pure())

    irdl_options = (ParsePropInAttrDict(),)

    assembly_format = "$cond `,` $lhs `,` $rhs attr-dict `:` type($cond) `,` type($res)"

    def __init__(self, cond: SSAValue, lhs: SSAValue, rhs: SSAValue):
        super().__init__(operands=[cond, lhs, rhs], result_types=[lhs.type])

    def verify_(self) -> None:
        lanes = lanes_of(self.cond.type)
        if lanes is not None and lanes != lanes_of(self.res.type):
            problem = f"chooses by {lanes} conditions among {self.res.type}"
            raise VerifyException(complaint(self, problem))
