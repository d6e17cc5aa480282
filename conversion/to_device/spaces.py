"""Which address space each pointer of a kernel is in: that of what it is computed from."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import llvm
from xdsl.dialects.builtin import IntAttr
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.rewriter import Rewriter

from nn_opt.dialects.llvm import GEPOp, SelectOp
from nn_opt.ir.types import element_type, lanes_of, vector_type


def pointer(space: int) -> LLVMPointerType:
    """Return the type of pointers into an address space."""
    return LLVMPointerType(IntAttr(space)) if space else LLVMPointerType()


def place_pointers(function: llvm.FuncOp, arguments: int, globals: Mapping[str, int]) -> None:
    """Give pointers their types: arguments point to one space, globals have theirs.

    Blocks are in order of dominance, so that what a pointer is computed from comes before it.
    """
    for argument in function.body.blocks[0].args:
        if isinstance(argument.type, LLVMPointerType):
            _retype(argument, pointer(arguments))
    types = [argument.type for argument in function.body.blocks[0].args]
    function.properties["function_type"] = llvm.LLVMFunctionType(types)
    for block in function.body.blocks:
        for argument in block.args:
            assert block is function.body.blocks[0] or not _points(argument), "pointers do not move"
        for op in block.ops:
            _place(op, globals)


def _place(op: Operation, globals: Mapping[str, int]) -> None:
    match op:
        case llvm.AddressOfOp():
            space = globals.get(op.global_name.string_value(), 0)
            _retype(op.results[0], pointer(space))
        case GEPOp():
            _retype(op.result, _like(op.result.type, op.ptr.type))
        case SelectOp() if isinstance(op.res.type, LLVMPointerType):
            _retype(op.res, op.lhs.type)
        case _:
            pass


def _like(type_: Attribute, base: Attribute) -> Attribute:
    """Return a pointer, or a vector of pointers, into the space of another one."""
    lanes = lanes_of(type_)
    return element_type(base) if lanes is None else vector_type(lanes, element_type(base))


def _points(value: BlockArgument) -> bool:
    return isinstance(value.type, LLVMPointerType)


def _retype(value: SSAValue, type_: Attribute) -> None:
    if value.type != type_:
        Rewriter.replace_value_with_new_type(value, type_)
