"""llvm.getelementptr, also of vectors of offsets: a vector of pointers for gathers."""

from __future__ import annotations

from xdsl.dialects.builtin import (
    DenseArrayBase,
    IntegerAttr,
    IntegerType,
    UnitAttr,
    VectorType,
    i32,
)
from xdsl.dialects.llvm import GEP_USE_SSA_VAL, LLVMPointerType
from xdsl.dialects.utils import parse_dynamic_index_list_without_types, print_dynamic_index_list
from xdsl.ir import SSAValue
from xdsl.irdl import (
    BaseAttr,
    IRDLOperation,
    base,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import NoMemoryEffect

POINTERS = BaseAttr(LLVMPointerType) | VectorType.constr(BaseAttr(LLVMPointerType))


@irdl_op_definition
class GEPOp(IRDLOperation):
    """A pointer moved by elements of `elem_type`; upstream's op, whose indices may be vectors."""

    name = "llvm.getelementptr"

    ptr = operand_def(POINTERS)
    ssa_indices = var_operand_def(base(IntegerType) | VectorType.constr(base(IntegerType)))
    elem_type = prop_def()
    noWrapFlags = prop_def(IntegerAttr.constr(i32))
    rawConstantIndices = prop_def(DenseArrayBase.constr(i32))
    inbounds = opt_prop_def(UnitAttr)
    result = result_def(POINTERS)

    traits = traits_def(NoMemoryEffect())

    def print(self, printer: Printer) -> None:
        if self.inbounds is not None:
            printer.print_string(" inbounds")
        printer.print_string(" ")
        printer.print_ssa_value(self.ptr)
        indices = [int(index) for index in self.rawConstantIndices.iter_values()]
        print_dynamic_index_list(printer, GEP_USE_SSA_VAL, self.ssa_indices, indices)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_function_type(
            [self.ptr.type, *(value.type for value in self.ssa_indices)], [self.result.type]
        )
        printer.print_string(", ")
        printer.print_attribute(self.elem_type)

    @classmethod
    def parse(cls, parser: Parser) -> GEPOp:
        inbounds = parser.parse_optional_keyword("inbounds") is not None
        pointer = parser.parse_unresolved_operand()
        names, indices = parse_dynamic_index_list_without_types(parser, GEP_USE_SSA_VAL)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        signature = parser.parse_function_type()
        parser.parse_punctuation(",")
        element = parser.parse_type()
        operands: list[SSAValue] = list(
            parser.resolve_operands([pointer, *names], signature.inputs.data, parser.pos)
        )
        return cls.create(
            operands=operands,
            result_types=[signature.outputs.data[0]],
            attributes=attributes,
            properties={
                "elem_type": element,
                "noWrapFlags": IntegerAttr(0, i32),
                "rawConstantIndices": DenseArrayBase.from_list(i32, list(indices)),
                **({"inbounds": UnitAttr()} if inbounds else {}),
            },
        )
