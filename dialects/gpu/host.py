"""What the host does with the device's memory: allocate, copy, wait."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IndexType, MemRefType, UnitAttr
from xdsl.dialects.gpu import AsyncTokenType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    opt_result_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from nn_opt.dialects.gpu.launch import parse_async, print_async
from nn_opt.ir.diagnostics import complaint
from nn_opt.ir.types import shape_of


def _token(is_async: bool) -> AsyncTokenType | None:
    return AsyncTokenType() if is_async else None


@irdl_op_definition
class AllocOp(IRDLOperation):
    """A buffer in the device's memory; `host_shared` lets the host read and write it, too."""

    name = "gpu.alloc"

    asyncDependencies = var_operand_def(AsyncTokenType)
    dynamicSizes = var_operand_def(IndexType)
    symbolOperands = var_operand_def(IndexType)
    hostShared = opt_prop_def(UnitAttr)
    result = result_def(MemRefType)
    asyncToken = opt_result_def(AsyncTokenType)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(
        self,
        type_: Attribute,
        sizes: Sequence[SSAValue] = (),
        *,
        symbols: Sequence[SSAValue] = (),
        dependencies: Sequence[SSAValue] = (),
        host_shared: bool = False,
        is_async: bool = False,
    ):
        super().__init__(
            operands=[dependencies, sizes, symbols],
            result_types=[type_, _token(is_async)],
            properties={"hostShared": UnitAttr() if host_shared else None},
        )

    def verify_(self) -> None:
        unknown = shape_of(self.result).count(-1)
        if len(self.dynamicSizes) != unknown:
            problem = f"has {len(self.dynamicSizes)} sizes, expected {unknown}"
            raise VerifyException(complaint(self, problem, hint="give one for each `?`"))

    def print(self, printer: Printer) -> None:
        print_async(printer, self.asyncToken is not None, self.asyncDependencies)
        printer.print_string(" host_shared (" if self.hostShared is not None else " (")
        printer.print_list(self.dynamicSizes, printer.print_ssa_value)
        printer.print_string(")")
        if self.symbolOperands:
            printer.print_string("[")
            printer.print_list(self.symbolOperands, printer.print_ssa_value)
            printer.print_string("]")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)

    @classmethod
    def parse(cls, parser: Parser) -> AllocOp:
        is_async, dependencies = parse_async(parser)
        host_shared = parser.parse_optional_keyword("host_shared") is not None
        names = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, parser.parse_unresolved_operand
        )
        symbols = parser.parse_optional_comma_separated_list(
            parser.Delimiter.SQUARE, parser.parse_unresolved_operand
        )
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        op = cls(
            parser.parse_type(),
            [parser.resolve_operand(name, IndexType()) for name in names],
            symbols=[parser.resolve_operand(name, IndexType()) for name in symbols or ()],
            dependencies=dependencies,
            host_shared=host_shared,
            is_async=is_async,
        )
        op.attributes |= attributes
        return op


@irdl_op_definition
class DeallocOp(IRDLOperation):
    """The end of a buffer of gpu.alloc."""

    name = "gpu.dealloc"

    asyncDependencies = var_operand_def(AsyncTokenType)
    buffer = operand_def(MemRefType)
    asyncToken = opt_result_def(AsyncTokenType)

    traits = traits_def(MemoryWriteEffect())

    def __init__(
        self, buffer: SSAValue, dependencies: Sequence[SSAValue] = (), *, is_async: bool = False
    ):
        super().__init__(operands=[dependencies, buffer], result_types=[_token(is_async)])

    def print(self, printer: Printer) -> None:
        print_async(printer, self.asyncToken is not None, self.asyncDependencies)
        printer.print_string(" ")
        printer.print_ssa_value(self.buffer)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.buffer.type)

    @classmethod
    def parse(cls, parser: Parser) -> DeallocOp:
        is_async, dependencies = parse_async(parser)
        name = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        buffer = parser.resolve_operand(name, parser.parse_type())
        op = cls(buffer, dependencies, is_async=is_async)
        op.attributes |= attributes
        return op


@irdl_op_definition
class MemcpyOp(IRDLOperation):
    """Copy all elements of one buffer to another, of the host or of the device."""

    name = "gpu.memcpy"

    asyncDependencies = var_operand_def(AsyncTokenType)
    dst = operand_def(MemRefType)
    src = operand_def(MemRefType)
    asyncToken = opt_result_def(AsyncTokenType)

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    def __init__(
        self,
        dst: SSAValue,
        src: SSAValue,
        dependencies: Sequence[SSAValue] = (),
        *,
        is_async: bool = False,
    ):
        super().__init__(operands=[dependencies, dst, src], result_types=[_token(is_async)])

    def verify_(self) -> None:
        if self.src.type != self.dst.type:
            problem = f"copies {self.src.type} to {self.dst.type}, expected the same type"
            raise VerifyException(complaint(self, problem))

    def print(self, printer: Printer) -> None:
        print_async(printer, self.asyncToken is not None, self.asyncDependencies)
        printer.print_string(" ")
        printer.print_list([self.dst, self.src], printer.print_ssa_value)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_list([self.dst.type, self.src.type], printer.print_attribute)

    @classmethod
    def parse(cls, parser: Parser) -> MemcpyOp:
        is_async, dependencies = parse_async(parser)
        target = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        source = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        written = parser.resolve_operand(target, parser.parse_type())
        parser.parse_punctuation(",")
        read = parser.resolve_operand(source, parser.parse_type())
        op = cls(written, read, dependencies, is_async=is_async)
        op.attributes |= attributes
        return op


@irdl_op_definition
class WaitOp(IRDLOperation):
    """Wait until all tokens are ready; with `async`, make one that is ready then."""

    name = "gpu.wait"

    asyncDependencies = var_operand_def(AsyncTokenType)
    asyncToken = opt_result_def(AsyncTokenType)

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    def __init__(self, dependencies: Sequence[SSAValue] = (), *, is_async: bool = False):
        super().__init__(operands=[dependencies], result_types=[_token(is_async)])

    def print(self, printer: Printer) -> None:
        print_async(printer, self.asyncToken is not None, self.asyncDependencies)
        printer.print_op_attributes(self.attributes)

    @classmethod
    def parse(cls, parser: Parser) -> WaitOp:
        is_async, dependencies = parse_async(parser)
        op = cls(dependencies, is_async=is_async)
        op.attributes |= parser.parse_optional_attr_dict()
        return op
