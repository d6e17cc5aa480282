"""loop.gather: a vector of pointers, and a mask where the indices are inside."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import llvm
from xdsl.dialects.builtin import VectorType, i1
from xdsl.ir import Attribute, SSAValue

from nn_opt.conversion.to_llvm.accesses import from_memory, intrinsic, stored_type
from nn_opt.conversion.to_llvm.addressing import NO_FLAGS, ONE_VALUE, compare
from nn_opt.conversion.to_llvm.code import Code
from nn_opt.conversion.to_llvm.machine import POINTER
from nn_opt.dialects import loop
from nn_opt.dialects.llvm import GEPOp
from nn_opt.ir.literals import scalar_value
from nn_opt.ir.types import element_type, lanes_of, shape_of, vector_type


def lower_gather(code: Code, op: loop.GatherOp) -> None:
    """%v = loop.gather 16 %x[%i, %j]  ->  llvm.masked.gather"""
    shape, lanes = shape_of(op.memref), op.lanes
    wanted = stored_type(op.result.type)
    indices = [code.value(index) for index in op.indices]
    offsets = flat_offsets(code, [_as_index(code, index) for index in indices], shape, lanes)
    pointers = lane_pointers(code, code.buffers[op.memref].pointer, element_type(wanted), offsets)
    mask = code.number(1, vector_type(lanes, i1))
    if op.default is None:
        otherwise = code.poison(wanted)
    else:
        otherwise = code.number(scalar_value(op.default), wanted)
        for index, size in zip(indices, shape, strict=True):
            inside = compare(code, "ult", index, code.number(size, index.type))
            mask = code.share(llvm.AndOp, (mask, inside), mask.type)
    operands = (pointers, mask, otherwise)
    value = intrinsic(code, "llvm.masked.gather", operands, wanted, llvm.FastMathAttr(None))
    code.bind(op.result, from_memory(code, value, op.result.type))


def _as_index(code: Code, lanes: SSAValue) -> SSAValue:
    """Return a vector of indices, 64 bits wide before, as wide as the machine's."""
    wanted = vector_type(lanes_of(lanes.type) or 1, code.index)
    if lanes.type == wanted:
        return lanes
    return code.share(llvm.TruncOp, (lanes,), wanted, key=wanted)


def flat_offsets(
    code: Code, indices: Sequence[SSAValue], shape: Sequence[int], lanes: int
) -> SSAValue:
    """Return the row-major offset of each lane, in elements."""
    type_ = vector_type(lanes, code.index)
    total: SSAValue | None = None
    for index, size in zip(indices, shape, strict=True):
        if total is None:
            total = index
            continue
        row = code.share(llvm.MulOp, (total, code.number(size, type_)), type_)
        total = code.share(llvm.AddOp, (row, index), type_)
    return code.number(0, type_) if total is None else total


def lane_pointers(code: Code, pointer: SSAValue, element: Attribute, offsets: SSAValue) -> SSAValue:
    """Return a vector of pointers to the elements at the offsets."""
    properties = {"rawConstantIndices": ONE_VALUE, "elem_type": element, "noWrapFlags": NO_FLAGS}
    type_ = VectorType(POINTER, [shape_of(offsets)[0]])
    return code.emit(GEPOp, (pointer, offsets), type_, properties)
