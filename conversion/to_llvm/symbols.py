"""Functions, globals and the stack: what has a name or a place outside the flow of values."""

from __future__ import annotations

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    ArrayAttr,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    i8,
    i64,
)
from xdsl.ir import Attribute, Operation, Region, SSAValue

from nn_opt.conversion.to_llvm.code import Code
from nn_opt.conversion.to_llvm.machine import POINTER, machine_type
from nn_opt.dialects import loop
from nn_opt.dialects.loop.buffers import byte_size
from nn_opt.ir.locations import located
from nn_opt.ir.types import element_type, is_vector, numpy_dtype, shape_of

SLOT = 64  # bytes: the widest vector, and the alignment of what is on the stack
INTERNAL = llvm.LinkageAttr("internal")


def stack(code: Code, size: int) -> SSAValue:
    """Return bytes of the function's stack frame, the same ones in each iteration."""
    properties = {
        "elem_type": llvm.LLVMArrayType(size, i8),
        "alignment": IntegerAttr(SLOT, i64),
    }
    op = code.make(llvm.AllocaOp, (code.integer(1),), (POINTER,), properties)
    code.chunks[0].head.append(op)
    code.places[op.results[0]] = (0, False)
    return op.results[0]


def address_of(code: Code, name: str) -> SSAValue:
    """Return the pointer to a function or global."""
    properties = {"global_name": SymbolRefAttr(name)}
    return code.share(llvm.AddressOfOp, (), POINTER, properties, name)


def call(code: Code, name: str, arguments: list[SSAValue]) -> None:
    """Call a function for its effect."""
    op = llvm.CallOp(name, *arguments)
    op.location = code.location
    code.act(op)


def function(
    name: str,
    arguments: list[Attribute],
    body: Region,
    wide: bool,
    linkage: llvm.LinkageAttr = INTERNAL,
) -> llvm.FuncOp:
    """Return a function; `wide`: it has 512-bit vectors that LLVM must not split."""
    op = llvm.FuncOp(name, llvm.LLVMFunctionType(arguments), linkage, body=body)
    op.attributes["no_unwind"] = UnitAttr()
    if wide:
        words = [("prefer-vector-width", "512"), ("min-legal-vector-width", "512")]
        pairs = [ArrayAttr([StringAttr(key), StringAttr(value)]) for key, value in words]
        op.attributes["passthrough"] = ArrayAttr(pairs)
    return op


def is_wide(op: Operation) -> bool:
    """Return whether something inside works on vectors of 512 bits or more."""
    return any(
        _bits(type_) >= 512
        for inner in op.walk()
        for type_ in inner.result_types
        if is_vector(type_)
    )


def _bits(type_: Attribute) -> int:
    element = element_type(machine_type(type_))
    return shape_of(type_)[0] * numpy_dtype(element).itemsize * 8


def constant_global(name: str, op: loop.ConstantOp) -> llvm.GlobalOp:
    """Return the read-only global of a kernel's constant."""
    type_ = llvm.LLVMArrayType(byte_size(op.result), i8)
    with located(op):
        return llvm.GlobalOp(
            type_, name, "private", constant=True, value=op.value, alignment=SLOT, unnamed_addr=2
        )
