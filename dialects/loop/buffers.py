"""Where values live: buffers, constants, views into other buffers, the arena."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import AffineMapAttr, IndexType, MemRefType, StringAttr, i8
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineExpr, AffineMap
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, Pure
from xdsl.utils.exceptions import VerifyException

from nn_opt.ir.affine_text import parse_index, print_index
from nn_opt.ir.diagnostics import complaint
from nn_opt.ir.types import element_type, memory_space, memref_type, numpy_dtype, shape_of

SPACES = ("global", "shared", "stack", "register")


def byte_size(memref: SSAValue | Attribute) -> int:
    """Return the bytes that a buffer's elements take."""
    return math.prod(shape_of(memref)) * numpy_dtype(element_type(memref)).itemsize


@irdl_op_definition
class AllocOp(IRDLOperation):
    """A buffer with undefined contents, alive to the end of the block that holds the op.

    Its memory space says where: `global` (planned into the arena), `shared` (by the threads of a
    GPU's block), `stack`, or `register` (a tile that becomes SSA values: every index must be
    constant once loops are unrolled).
    """

    name = "loop.alloc"

    buffer = prop_def(StringAttr)
    result = result_def(MemRefType)

    assembly_format = "$buffer attr-dict `:` type($result)"

    def __init__(self, buffer: str, type_: Attribute):
        super().__init__(properties={"buffer": StringAttr(buffer)}, result_types=[type_])

    def verify_(self) -> None:
        if (space := memory_space(self.result)) not in SPACES:
            problem = f"memory space is {space!r}, expected one of {', '.join(SPACES)}"
            raise VerifyException(complaint(self, problem))


@irdl_op_definition
class ConstantOp(IRDLOperation):
    """A read-only buffer known at compile time; `value` is dense text or a resource."""

    name = "loop.constant"

    value = prop_def(Attribute)
    result = result_def(MemRefType)

    traits = traits_def(Pure())

    def __init__(self, value: Attribute, type_: Attribute):
        super().__init__(properties={"value": value}, result_types=[type_])

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.value)
        printer.print_string(" to ")
        printer.print_attribute(self.result.type)

    @classmethod
    def parse(cls, parser: Parser) -> ConstantOp:
        value = parser.parse_attribute()
        parser.parse_keyword("to")
        return cls(value, parser.parse_type())


@irdl_op_definition
class ViewOp(IRDLOperation):
    """Part of a buffer under another shape, from `offset` on (in elements of the source)."""

    name = "loop.view"

    source = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    offset = prop_def(AffineMapAttr)
    result = result_def(MemRefType)

    traits = traits_def(Pure())

    def __init__(
        self,
        source: SSAValue,
        type_: Attribute,
        offset: AffineExpr | int = 0,
        indices: Sequence[SSAValue] = (),
    ):
        if isinstance(offset, int):
            offset = AffineExpr.constant(offset)
        super().__init__(
            operands=[source, indices],
            result_types=[type_],
            properties={"offset": AffineMapAttr(AffineMap(len(indices), 0, (offset,)))},
        )

    @property
    def start(self) -> AffineExpr:
        """The offset as an expression over `indices`."""
        return self.offset.data.results[0]

    def verify_(self) -> None:
        offset = self.offset.data
        if len(offset.results) != 1 or offset.num_symbols:
            problem = f"offset gives {len(offset.results)} values, expected 1"
            raise VerifyException(complaint(self, problem))
        if offset.num_dims != len(self.indices):
            problem = f"offset takes {offset.num_dims} values, {len(self.indices)} are given"
            raise VerifyException(complaint(self, problem))
        if isinstance(self.start, AffineConstantExpr):
            unit = numpy_dtype(element_type(self.source)).itemsize
            end = self.start.value * unit + byte_size(self.result)
            if end > byte_size(self.source) or self.start.value < 0:
                problem = f"ends at byte {end}, expected at most {byte_size(self.source)}"
                raise VerifyException(complaint(self, problem, hint="a view stays inside"))

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.source)
        if self.start != AffineExpr.constant(0):
            printer.print_string(" offset ")
            print_index(printer, self.start, self.indices)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.source.type)
        printer.print_string(" to ")
        printer.print_attribute(self.result.type)

    @classmethod
    def parse(cls, parser: Parser) -> ViewOp:
        source = parser.parse_unresolved_operand()
        offset, indices = AffineExpr.constant(0), list[SSAValue]()
        if parser.parse_optional_keyword("offset"):
            offset, indices = parse_index(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        operand = parser.resolve_operand(source, parser.parse_type())
        parser.parse_keyword("to")
        op = cls(operand, parser.parse_type(), offset, indices)
        op.attributes |= attributes
        return op


@irdl_op_definition
class CopyOp(IRDLOperation):
    """Copy all elements of one buffer to another of the same type."""

    name = "loop.copy"

    source = operand_def(MemRefType)
    target = operand_def(MemRefType)

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    assembly_format = "$source `to` $target attr-dict `:` type($source) `to` type($target)"

    def __init__(self, source: SSAValue, target: SSAValue):
        super().__init__(operands=[source, target])

    def verify_(self) -> None:
        if byte_size(self.source) != byte_size(self.target):
            sizes = byte_size(self.source), byte_size(self.target)
            problem = f"copies {sizes[0]} bytes to {sizes[1]}, expected as many"
            raise VerifyException(complaint(self, problem))


@irdl_op_definition
class ArenaOp(IRDLOperation):
    """The block of bytes in which `--plan-memory` placed every global buffer of a function."""

    name = "loop.arena"

    result = result_def(MemRefType)

    assembly_format = "attr-dict `:` type($result)"

    def __init__(self, size: int):
        super().__init__(result_types=[memref_type([size], i8)])
