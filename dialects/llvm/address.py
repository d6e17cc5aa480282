"""llvm.getelementptr, also of vectors of offsets: a vector of pointers for gathers."""

from __future__ import annotations

from xdsl.dialects.builtin import (
    DenseArrayBase,
    IntegerAttr,
    IntegerType,
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
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import NoMemoryEffect

FLAGS = {"inbounds": 3, "nusw": 2, "nuw": 4}  # bits of noWrapFlags; the first implies the second
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
    result = result_def(POINTERS)

    traits = traits_def(NoMemoryEffect())

    @property
    def flags(self) -> list[str]:
        """What the address is promised to be, in LLVM's words."""
        bits = self.noWrapFlags.value.data
        words = [word for word, mask in FLAGS.items() if bits & mask == mask]
        return [word for word in words if word != "nusw" or "inbounds" not in words]

    def print(self, printer: Printer) -> None:
        if flags := "|".join(self.flags):
            printer.print_string(f" {flags}")
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
        bits = _parse_flags(parser)
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
                "noWrapFlags": IntegerAttr(bits, i32),
                "rawConstantIndices": DenseArrayBase.from_list(i32, list(indices)),
            },
        )


def _parse_flags(parser: Parser) -> int:
    """Parse `inbounds|nuw`, or nothing; return the bits."""
    bits = 0
    while (word := parser.parse_optional_keyword_in(FLAGS)) is not None:
        bits |= FLAGS[word]
        if parser.parse_optional_punctuation("|") is None:
            break
    return bits
