"""Copies from global into shared memory that run beside the program, in groups."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import AffineMapAttr, IndexType, IntegerAttr, MemRefType, i64
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from nn_opt.dialects.loop.access import Access, access_map
from nn_opt.ir.affine_text import parse_indices, print_indices
from nn_opt.ir.diagnostics import complaint
from nn_opt.ir.types import element_type, memory_space, numpy_dtype, shape_of

SIZES = (4, 8, 16)  # bytes that one thread may copy at once


@irdl_op_definition
class AsyncCopyOp(IRDLOperation):
    """Begin to copy neighbouring elements from global into shared memory.

    `gpu.async_copy 4 %x[%i, 0] to %tile[%t, 0] : memref<8x4xf32> to memref<8x4xf32, "shared">`
    copies four. The thread sees them after a gpu.async_wait for the group that they are in, the
    others of the block after a barrier that follows.
    """

    name = "gpu.async_copy"

    source = operand_def(MemRefType)
    source_indices = var_operand_def(IndexType)
    target = operand_def(MemRefType)
    target_indices = var_operand_def(IndexType)
    source_map = prop_def(AffineMapAttr)
    target_map = prop_def(AffineMapAttr)
    count = prop_def(IntegerAttr.constr(i64))

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    def __init__(
        self,
        count: int,
        source: SSAValue,
        source_indices: Sequence[SSAValue],
        target: SSAValue,
        target_indices: Sequence[SSAValue],
        source_map: Access = None,
        target_map: Access = None,
    ):
        super().__init__(
            operands=[source, source_indices, target, target_indices],
            properties={
                "source_map": access_map(source_map, source_indices),
                "target_map": access_map(target_map, target_indices),
                "count": IntegerAttr(count, i64),
            },
        )

    @property
    def elements(self) -> int:
        """The number of elements that are copied."""
        return self.count.value.data

    def verify_(self) -> None:
        self._verify_indices("source", self.source, self.source_map, self.source_indices)
        self._verify_indices("target", self.target, self.target_map, self.target_indices)
        element = element_type(self.source)
        if element != element_type(self.target):
            problem = f"copies {element} to {element_type(self.target)}, expected the same type"
            raise VerifyException(complaint(self, problem))
        if memory_space(self.target) != "shared" or memory_space(self.source) != "global":
            spaces = f"{memory_space(self.source)} to {memory_space(self.target)} memory"
            problem = f"copies from {spaces}, expected from global to shared memory"
            raise VerifyException(complaint(self, problem))
        size = self.elements * numpy_dtype(element).itemsize
        if size not in SIZES:
            wanted = ", ".join(map(str, SIZES))
            problem = f"copies {size} bytes, expected one of {wanted}"
            raise VerifyException(complaint(self, problem))

    def _verify_indices(
        self, what: str, memref: SSAValue, map: AffineMapAttr, indices: Sequence[SSAValue]
    ) -> None:
        rank = len(shape_of(memref))
        if len(map.data.results) != rank:
            problem = f"has {len(map.data.results)} indices for a {what} of rank {rank}"
            raise VerifyException(complaint(self, problem, hint="give one index a dimension"))
        if map.data.num_dims != len(indices) or map.data.num_symbols:
            problem = f"the {what}'s map takes {map.data.num_dims} values, {len(indices)} are given"
            raise VerifyException(complaint(self, problem))

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.elements} ")
        printer.print_ssa_value(self.source)
        print_indices(printer, self.source_map.data, self.source_indices)
        printer.print_string(" to ")
        printer.print_ssa_value(self.target)
        print_indices(printer, self.target_map.data, self.target_indices)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.source.type)
        printer.print_string(" to ")
        printer.print_attribute(self.target.type)

    @classmethod
    def parse(cls, parser: Parser) -> AsyncCopyOp:
        count = parser.parse_integer()
        source = parser.parse_unresolved_operand()
        source_map, source_indices = parse_indices(parser)
        parser.parse_keyword("to")
        target = parser.parse_unresolved_operand()
        target_map, target_indices = parse_indices(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        read = parser.resolve_operand(source, parser.parse_type())
        parser.parse_keyword("to")
        written = parser.resolve_operand(target, parser.parse_type())
        maps = source_map.data, target_map.data
        op = cls(count, read, source_indices, written, target_indices, *maps)
        op.attributes |= attributes
        return op


@irdl_op_definition
class AsyncCommitOp(IRDLOperation):
    """Make a group of the copies that this thread began since the last one."""

    name = "gpu.async_commit"

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    assembly_format = "attr-dict"

    def __init__(self):
        super().__init__()


@irdl_op_definition
class AsyncWaitOp(IRDLOperation):
    """Wait until at most so many of this thread's groups of copies are not done."""

    name = "gpu.async_wait"

    pending = prop_def(IntegerAttr.constr(i64))

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    assembly_format = "$pending attr-dict"

    def __init__(self, pending: int = 0):
        super().__init__(properties={"pending": IntegerAttr(pending, i64)})

    def verify_(self) -> None:
        if self.pending.value.data < 0:
            problem = f"leaves {self.pending.value.data} groups, expected at least 0"
            raise VerifyException(complaint(self, problem))
