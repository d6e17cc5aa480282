"""Copies of single ops, and their operands, in a third of the steps that xDSL takes for them.

`Operation.clone_without_regions` goes through `create` and `__init__`, which allow for arguments of
any kind, and each operand through a setter. What is here could be in the place of that.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.ir import Block, Operation, OpResult, Region, SSAValue, Use
from xdsl.ir.core import SSAValues

_NOTHING: SSAValues[SSAValue] = SSAValues()


def copy_op(
    op: Operation, values: dict[SSAValue, SSAValue], blocks: dict[Block, Block], name_hints: bool
) -> Operation:
    """Return `op.clone_without_regions(..., clone_operands=False)`."""
    op_type = type(op)
    if (
        op._successors
        or op_type.clone_without_regions is not Operation.clone_without_regions
        or op_type.create.__func__ is not Operation.create.__func__
    ):
        return op.clone_without_regions(
            values, blocks, clone_name_hints=name_hints, clone_operands=False
        )
    copy = op_type.__new__(op_type)
    results: list[OpResult] = []
    for old in op.results:
        new = OpResult(old._type, copy, old.index)
        values[old] = new
        if name_hints:
            new._name = old._name
        results.append(new)
    regions = tuple([Region() for _ in op.regions]) if op.regions else ()
    for region in regions:
        region.parent = copy
    vars(copy).update(
        _operands=_NOTHING,
        _operand_uses=(),
        results=SSAValues(results),
        _successors=(),
        _successor_uses=(),
        properties=op.properties.copy(),
        attributes=op.attributes.copy(),
        location=op.location,
        regions=regions,
        parent=None,
        _next_op=None,
        _prev_op=None,
    )
    return copy


def append(block: Block, op: Operation) -> None:
    """Put a new op, which nothing is inside of yet, at the end of a block."""
    last = block._last_op
    op.parent = block
    op._prev_op = last
    if last is None:
        block._first_op = op
    else:
        last._next_op = op
    block._last_op = op


def set_operands(
    old_ops: Iterable[Operation], new_ops: Iterable[Operation], values: dict[SSAValue, SSAValue]
) -> None:
    """Give copies that have no operands yet what the originals read, or the copies of that."""
    get = values.get
    for old, new in zip(old_ops, new_ops, strict=False):
        if old._operands:
            operands = [get(operand, operand) for operand in old._operands]
            new._operands = SSAValues(operands)
            new._operand_uses = tuple([_linked(new, k, v) for k, v in enumerate(operands)])


def _linked(op: Operation, index: int, value: SSAValue) -> Use:
    """Return a new use of a value, first in its list."""
    follower = value.first_use
    use = Use(op, index, None, follower)
    if follower is not None:
        follower._prev_use = use
    value.first_use = use
    return use


def all_ops(blocks: Sequence[Block]) -> list[Operation]:
    """Return the ops of blocks in program order, each before those in it."""
    found: list[Operation] = []
    rest = [block.first_op for block in reversed(blocks)]
    while rest:
        op = rest.pop()
        while op is not None:
            found.append(op)
            if not op.regions:
                op = op._next_op
                continue
            rest.append(op._next_op)
            for inner in reversed(op.regions):
                rest += [block.first_op for block in reversed(inner.blocks)]
            break
    return found
