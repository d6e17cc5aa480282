"""The types that values of the source have in registers."""

from __future__ import annotations

from xdsl.dialects import llvm
from xdsl.dialects.builtin import IndexType, IntegerType, MemRefType, i64
from xdsl.ir import Attribute

from nn_opt.ir.memory import remembered
from nn_opt.ir.types import element_type, lanes_of, vector_type

POINTER = llvm.LLVMPointerType()


@remembered
def machine_type(type_: Attribute) -> Attribute:
    """Return the type of a value in registers: index is i64, a buffer is a pointer.

    Where pointers are shorter, `index_as` says how wide an index is.
    """
    if isinstance(type_, IndexType):
        return i64
    if isinstance(type_, MemRefType):
        return POINTER
    lanes = lanes_of(type_)
    if lanes is not None and isinstance(element_type(type_), IndexType):
        return vector_type(lanes, i64)
    return type_


def index_as(type_: Attribute, index: IntegerType) -> Attribute:
    """Return the type of a value in registers where an index is of this type."""
    lanes = lanes_of(type_)
    if index is i64 or not isinstance(element_type(type_), IndexType):
        return machine_type(type_)
    return index if lanes is None else vector_type(lanes, index)
