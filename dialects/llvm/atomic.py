"""llvm.atomicrmw: what is in memory combined with a value in one step."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from nn_opt.ir.diagnostics import complaint

# As MLIR numbers them; LLVM's own words have no underscore.
KINDS = {
    "xchg": 0,
    "add": 1,
    "sub": 2,
    "_and": 3,
    "nand": 4,
    "_or": 5,
    "_xor": 6,
    "max": 7,
    "min": 8,
    "umax": 9,
    "umin": 10,
    "fadd": 11,
    "fsub": 12,
    "fmax": 13,
    "fmin": 14,
}
ORDERINGS = {"monotonic": 2, "acquire": 4, "release": 5, "acq_rel": 6, "seq_cst": 7}


@irdl_op_definition
class AtomicRMWOp(IRDLOperation):
    """Combine what a pointer points at with a value in one step; the result is what was there."""

    name = "llvm.atomicrmw"

    T: ClassVar = VarConstraint("T", AnyAttr())

    ptr = operand_def(LLVMPointerType)
    val = operand_def(T)
    bin_op = prop_def(IntegerAttr.constr(i64))
    ordering = prop_def(IntegerAttr.constr(i64))
    res = result_def(T)

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    def __init__(self, kind: str, ptr: SSAValue, val: SSAValue, ordering: str = "monotonic"):
        super().__init__(
            operands=[ptr, val],
            result_types=[val.type],
            properties={
                "bin_op": IntegerAttr(KINDS[kind], i64),
                "ordering": IntegerAttr(ORDERINGS[ordering], i64),
            },
        )

    @property
    def kind(self) -> str:
        """How the value is combined, in MLIR's words."""
        return _word(KINDS, self.bin_op.value.data)

    @property
    def order(self) -> str:
        """What is ordered by it, in LLVM's words."""
        return _word(ORDERINGS, self.ordering.value.data)

    def verify_(self) -> None:
        for what, table, number in (
            ("kind", KINDS, self.bin_op.value.data),
            ("ordering", ORDERINGS, self.ordering.value.data),
        ):
            if number not in table.values():
                problem = f"its {what} has the number {number}, which stands for none"
                raise VerifyException(complaint(self, problem))

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.kind} ")
        printer.print_list(self.operands, printer.print_ssa_value)
        printer.print_string(f" {self.order}")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_list([self.ptr.type, self.val.type], printer.print_attribute)

    @classmethod
    def parse(cls, parser: Parser) -> AtomicRMWOp:
        kind = parser.expect(lambda: parser.parse_optional_keyword_in(KINDS), "kind of atomic")
        pointer = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        value = parser.parse_unresolved_operand()
        order = parser.expect(lambda: parser.parse_optional_keyword_in(ORDERINGS), "ordering")
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        place = parser.parse_type()
        parser.parse_punctuation(",")
        type_ = parser.parse_type()
        operands = parser.resolve_operand(pointer, place), parser.resolve_operand(value, type_)
        op = cls(kind, *operands, order)
        op.attributes |= attributes
        return op


def _word(table: dict[str, int], number: int) -> str:
    return next((word for word, value in table.items() if value == number), str(number))
