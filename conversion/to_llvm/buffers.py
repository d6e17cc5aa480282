"""Where buffers are: registers, stack, constants, views of others; and copies."""

from __future__ import annotations

from xdsl.dialects.builtin import i1
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import PassFailedException

from nn_opt.conversion.to_llvm.accesses import stored_type
from nn_opt.conversion.to_llvm.addressing import element_pointer, evaluate_expr
from nn_opt.conversion.to_llvm.code import Buffer, Code
from nn_opt.conversion.to_llvm.intrinsics import intrinsic_action
from nn_opt.conversion.to_llvm.registers import allocate_registers
from nn_opt.conversion.to_llvm.symbols import address_of, constant_global, stack
from nn_opt.dialects import loop
from nn_opt.dialects.loop.buffers import byte_size
from nn_opt.ir.diagnostics import complaint
from nn_opt.ir.types import element_type, memory_space


def lower_alloc(code: Code, op: loop.AllocOp) -> None:
    """loop.alloc  ->  bytes on the stack, or registers"""
    space = memory_space(op.result)
    if space == "register":
        allocate_registers(code, op)
    elif space == "stack":
        code.buffers[op.result] = Buffer(stack(code, max(1, byte_size(op.result))), op.result)
    else:
        problem = f"global buffer {op.buffer.data!r} has no place yet"
        raise PassFailedException(complaint(op, problem, hint="run --plan-memory first"))


def lower_constant(code: Code, op: loop.ConstantOp) -> None:
    """loop.constant  ->  a private global"""
    name = code.unit.fresh(f"{code.unit.function}.constant")
    code.unit.globals.append(constant_global(name, op))
    code.buffers[op.result] = Buffer(address_of(code, name), op.result)


def lower_view(code: Code, op: loop.ViewOp) -> None:
    """loop.view  ->  a pointer into the source"""
    source = code.buffers[op.source]
    form = evaluate_expr(code, op.start, op.indices)
    pointer = element_pointer(code, source.pointer, stored_type(element_type(op.source)), form)
    code.buffers[op.result] = Buffer(pointer, source.root)


def lower_copy(code: Code, op: loop.CopyOp) -> None:
    """loop.copy  ->  llvm.memcpy"""
    target, source = pointer_of(code, op.target), pointer_of(code, op.source)
    size = code.integer(byte_size(op.source))
    intrinsic_action(code, "llvm.memcpy", (target, source, size, code.number(0, i1)))
    code.forget_loads(code.buffers[op.target].root)


def pointer_of(code: Code, buffer: SSAValue) -> SSAValue:
    """Return the pointer to a buffer's first element."""
    return code.buffers[buffer].pointer
