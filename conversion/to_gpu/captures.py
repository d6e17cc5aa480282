"""What a kernel takes from its surroundings: buffers as arguments, numbers as copies."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NoReturn

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.traits import is_side_effect_free
from xdsl.utils.exceptions import PassFailedException

from nn_opt.dialects import loop
from nn_opt.dialects.loop.buffers import byte_size
from nn_opt.ir.diagnostics import complaint
from nn_opt.ir.types import element_type, memory_space, shape_of

TABLE = 64  # elements of a constant that a kernel keeps; longer ones are arguments


def move_into(ops: Sequence[Operation], body: Block) -> list[SSAValue]:
    """Move statements to the end of a kernel's body; return the buffers that it is to be given."""
    captured = list(dict.fromkeys(_captured(ops)))
    arguments = sorted(dict.fromkeys(filter(_is_argument, map(_whole, captured))), key=_place)
    inside: dict[SSAValue, SSAValue] = {}
    for value in arguments:
        inside[value] = body.insert_arg(value.type, len(body.args))
        inside[value].name_hint = value.name_hint or _buffer_name(value)
    for value in captured:
        if value not in inside:
            _bring(value, ops, body, inside)
    for op in ops:
        op.detach()
        body.add_op(op)
        for inner in op.walk():
            if any(operand in inside for operand in inner.operands):
                inner.operands = [inside.get(operand, operand) for operand in inner.operands]
    return arguments


def take_views(body: Block) -> None:
    """Give a kernel a view of a buffer, instead of the buffer, if it only uses that view."""
    for argument in body.args:
        users = [use.operation for use in argument.uses]
        views = [user for user in users if isinstance(user, loop.ViewOp)]
        types = {view.result.type for view in views}
        if len(types) != 1 or len(views) < len(users):
            continue
        (type_,) = types
        if any(view.start != AffineExpr.constant(0) for view in views) or byte_size(
            type_
        ) != byte_size(argument):
            continue
        new = body.insert_arg(type_, argument.index)
        new.name_hint = argument.name_hint
        for view in views:
            view.result.replace_all_uses_with(new)
            view.detach()
            view.erase()
        body.erase_arg(argument)


def _captured(ops: Sequence[Operation]) -> Iterator[SSAValue]:
    """Yield the values that statements use and do not define, in order of use."""
    own: set[SSAValue] = set()
    for op in ops:
        for inner in op.walk():
            own.update(inner.results)
            own.update(
                arg for region in inner.regions for block in region.blocks for arg in block.args
            )
    for op in ops:
        for inner in op.walk():
            yield from (operand for operand in inner.operands if operand not in own)


def _is_argument(value: SSAValue) -> bool:
    """Return whether a value is a buffer that the host has."""
    if not isinstance(value.type, MemRefType) or memory_space(value) != "global":
        return False
    small = math.prod(shape_of(value)) <= TABLE
    return not (isinstance(value.owner, loop.ConstantOp) and small)


def _whole(value: SSAValue) -> SSAValue:
    """Return the buffer that a value is a fixed part of: a kernel is given each buffer once."""
    while isinstance(view := value.owner, loop.ViewOp) and not view.indices:
        if element_type(view.source) != element_type(value):
            break
        value = view.source
    return value


def _place(value: SSAValue) -> tuple[bool, int]:
    """Put the arguments of the function first, in their order."""
    is_argument = isinstance(value, BlockArgument)
    return not is_argument, value.index if is_argument else 0


def _buffer_name(value: SSAValue) -> str | None:
    owner = value.owner
    name = owner.buffer.data if isinstance(owner, loop.AllocOp) else ""
    return name.replace(".", "_") or None


def _bring(
    value: SSAValue, ops: Sequence[Operation], body: Block, inside: dict[SSAValue, SSAValue]
) -> None:
    """Make a value that is no buffer of the host inside the kernel, too."""
    owner = value.owner
    if isinstance(owner, loop.AllocOp):
        _take(owner, ops, body)
        return
    if not isinstance(owner, Operation) or not is_side_effect_free(owner) or owner.regions:
        _refuse(value, ops[0])
    for operand in owner.operands:
        if operand not in inside:
            _bring(operand, ops, body, inside)
    copy = owner.clone(dict(inside))
    body.add_op(copy)
    inside.update(zip(owner.results, copy.results, strict=True))


def _take(alloc: loop.AllocOp, ops: Sequence[Operation], body: Block) -> None:
    """Move a buffer of a thread or block to the one kernel that uses it."""
    tops = set(ops)
    for use in alloc.result.uses:
        user: Operation | None = use.operation
        while user is not None and user not in tops:
            user = user.parent_op()
        if user is None:
            space = memory_space(alloc.result)
            problem = f"buffer {alloc.buffer.data!r} in {space} memory is used by several kernels"
            hint = 'keep it in "global", or compute its stage inside the blocks that read it'
            raise PassFailedException(complaint(alloc, problem, hint=hint))
    alloc.detach()
    body.add_op(alloc)


def _refuse(value: SSAValue, op: Operation) -> NoReturn:
    if isinstance(value, BlockArgument):
        what = f"the serial loop %{value.name_hint or '?'} is around loops bound to blocks"
        hint = "bind the outer loops to blocks, and run serial loops inside threads"
    else:
        assert isinstance(value.owner, Operation)
        what = f"the value of a {value.owner.name} is used by several kernels"
        hint = "load it again where it is needed"
    raise PassFailedException(complaint(op, what, hint=hint))
