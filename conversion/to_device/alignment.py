"""How vectors of a kernel are aligned: devices move them at once where that is known."""

from __future__ import annotations

import math

from xdsl.dialects import llvm
from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.dialects.llvm import GEP_USE_SSA_VAL, LLVMArrayType
from xdsl.ir import Attribute, BlockArgument, SSAValue

from nn_opt.dialects.llvm import GEPOp
from nn_opt.ir.types import element_type, lanes_of, numpy_dtype

BUFFERS = 16  # bytes: a multiple of it is where each buffer starts that a kernel is given
WIDEST = 16  # bytes that a thread moves at once
UNKNOWN = 1


def align_vectors(function: llvm.FuncOp) -> None:
    """Say of each load and store of a vector what its place is a multiple of."""
    entry = function.body.blocks[0]
    for op in function.walk():
        if isinstance(op, llvm.LoadOp):
            _align(op, op.dereferenced_value.type, _of_pointer(op.ptr, entry.args))
        elif isinstance(op, llvm.StoreOp):
            _align(op, op.value.type, _of_pointer(op.ptr, entry.args))


def _align(op: llvm.LoadOp | llvm.StoreOp, type_: Attribute, known: int) -> None:
    lanes = lanes_of(type_)
    if lanes is None:
        return
    bytes_ = numpy_dtype(element_type(type_)).itemsize
    most = math.gcd(WIDEST, known)
    if most > bytes_:
        op.properties["alignment"] = IntegerAttr(most, i64)


def _of_pointer(pointer: SSAValue, arguments: tuple[BlockArgument, ...]) -> int:
    """Return a number of bytes that a pointer is a multiple of."""
    if pointer in arguments:
        return BUFFERS
    match pointer.owner:
        case llvm.AddressOfOp():
            return BUFFERS
        case llvm.AllocaOp(alignment=IntegerAttr(value=value)):
            return value.data
        case GEPOp() as op:
            return math.gcd(_of_pointer(op.ptr, arguments), _of_indices(op))
        case _:
            return UNKNOWN


def _of_indices(op: GEPOp) -> int:
    values, total = iter(op.ssa_indices), 0
    type_: Attribute = op.elem_type
    for k, index in enumerate(op.rawConstantIndices.iter_values()):
        if k:  # the first one steps over the whole type, the others into it
            assert isinstance(type_, LLVMArrayType)
            type_ = type_.type
        factor = divisor(next(values)) if index == GEP_USE_SSA_VAL else int(index)
        total = math.gcd(total, factor * _size(type_))
    return total


def _size(type_: Attribute) -> int:
    if isinstance(type_, LLVMArrayType):
        return type_.size.data * _size(type_.type)
    return (lanes_of(type_) or 1) * numpy_dtype(element_type(type_)).itemsize


def divisor(value: SSAValue) -> int:
    """Return a number that an integer is a multiple of; 0 for zero."""
    match value.owner:
        case llvm.ConstantOp() as op:
            number = op.properties["value"]
            return abs(number.value.data) if isinstance(number, IntegerAttr) else UNKNOWN
        case llvm.MulOp() as op:
            return divisor(op.lhs) * divisor(op.rhs)
        case llvm.AddOp() | llvm.SubOp() as op:
            return math.gcd(divisor(op.lhs), divisor(op.rhs))
        case llvm.ZExtOp() | llvm.SExtOp() as op:
            return divisor(op.arg)
        case _:
            return UNKNOWN
