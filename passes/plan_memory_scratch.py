"""Temporaries inside kernels: on the stack, or an argument that the caller provides."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, IntegerAttr, i64
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from nn_opt.dialects import loop
from nn_opt.dialects.loop.buffers import byte_size
from nn_opt.ir.diagnostics import complaint
from nn_opt.ir.types import element_type, memory_space, memref_type, shape_of
from nn_opt.passes.plan_memory_lifetimes import uses_of

LARGEST_ON_STACK = 64 << 10  # bytes of one buffer; threads have stacks of some 100 KiB at least
SMALL = 4 << 10  # bytes that any kernel may put on the stack, where they stay in L1
COUNT = "num_scratch"  # how many of a kernel's last arguments are temporaries


def move_temporaries(kernel: func.FuncOp) -> list[loop.AllocOp]:
    """Take the global buffers out of a kernel; return those that became arguments, in order."""
    moved: list[loop.AllocOp] = []
    for alloc in [op for op in kernel.walk() if isinstance(op, loop.AllocOp)]:
        if memory_space(alloc.result) != "global":
            continue
        if is_in_parallel(alloc):
            give_each_thread(alloc)
        elif byte_size(alloc.result) <= SMALL:
            put_on_stack(alloc)
        else:
            moved.append(alloc)
    make_arguments(kernel, moved)
    return moved


def give_each_thread(alloc: loop.AllocOp) -> None:
    """Put a buffer in a parallel loop on the stack of each thread.

    Raises: PassFailedException if it is too large for that, or passed to a function.
    """
    name, size = alloc.buffer.data, byte_size(alloc.result)
    if size > LARGEST_ON_STACK:
        problem = (
            f"buffer {name!r} of {size} bytes is one thread's, and a stack takes {LARGEST_ON_STACK}"
        )
        hint = "allocate it outside the parallel loop, or compute smaller tiles"
        raise PassFailedException(complaint(alloc, problem, hint=hint))
    for call in uses_of(alloc.result):
        if isinstance(call, func.CallOp):
            callee = call.callee.string_value()
            problem = f"buffer {name!r} is on the stack of one thread, which @{callee} cannot read"
            hint = "make the loop around the call serial"
            raise PassFailedException(complaint(call, problem, hint=hint))
    put_on_stack(alloc)


def is_in_parallel(op: Operation) -> bool:
    """Return whether some threads run an op at the same time."""
    outer = op.parent_op()
    while outer is not None:
        if isinstance(outer, loop.ForOp) and outer.how is loop.ForKind.PARALLEL:
            return True
        outer = outer.parent_op()
    return False


def put_on_stack(alloc: loop.AllocOp) -> None:
    """loop.alloc  ->  the same in memory space stack"""
    type_ = memref_type(shape_of(alloc.result), element_type(alloc.result), "stack")
    new = loop.AllocOp(alloc.buffer.data, type_)
    new.location = alloc.location
    replace(alloc, new, new.result)


def replace(alloc: loop.AllocOp | loop.ArenaOp, new: Operation, value: SSAValue) -> None:
    """Put an op in the place of an alloc."""
    block = alloc.parent
    assert block is not None
    value.name_hint = alloc.result.name_hint
    block.insert_op_before(new, alloc)
    alloc.result.replace_all_uses_with(value)
    alloc.detach()
    alloc.erase()


def make_arguments(kernel: func.FuncOp, moved: Sequence[loop.AllocOp]) -> None:
    """Let a kernel take buffers as its last arguments."""
    if not moved:
        return
    block = kernel.body.block
    for alloc in moved:
        argument = block.insert_arg(alloc.result.type, len(block.args))
        argument.name_hint = alloc.result.name_hint or alloc.buffer.data
        alloc.result.replace_all_uses_with(argument)
        alloc.detach()
    outputs = kernel.function_type.outputs
    kernel.function_type = FunctionType.from_lists([arg.type for arg in block.args], [*outputs])
    kernel.attributes[COUNT] = IntegerAttr(len(moved), i64)
    if kernel.arg_attrs is not None:
        empty = [DictionaryAttr({})] * len(moved)
        kernel.arg_attrs = ArrayAttr([*kernel.arg_attrs, *empty])


def provide(call: func.CallOp, moved: Sequence[loop.AllocOp]) -> func.CallOp:
    """Allocate the temporaries of a kernel before its call and pass them; return the new call."""
    block = call.parent
    assert block is not None
    scratch: list[SSAValue] = []
    for alloc in moved:
        new = loop.AllocOp(f"{call.callee.string_value()}.{alloc.buffer.data}", alloc.result.type)
        new.location = call.location
        block.insert_op_before(new, call)
        scratch.append(new.result)
    wider = func.CallOp(call.callee, [*call.arguments, *scratch], call.result_types)
    wider.attributes |= call.attributes
    wider.location = call.location
    block.insert_op_before(wider, call)
    for old, result in zip(call.results, wider.results, strict=True):
        old.replace_all_uses_with(result)
    call.detach()
    call.erase()
    return wider
