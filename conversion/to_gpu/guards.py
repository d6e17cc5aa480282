"""What stands outside of thread loops: the first thread does it, unless it is for every thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum, auto
from itertools import groupby

from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.traits import IsTerminator

from nn_opt.dialects import gpu, loop
from nn_opt.ir.types import memory_space


class Role(Enum):
    """What a statement outside of thread loops is."""

    ALONE = auto()  # it writes what a block has one of
    VALUE = auto()  # it defines a value
    OPEN = auto()  # every thread does it, or there are thread loops in it


def guard_statements(
    block: Block, missing: Sequence[loop.ForKind], id_of: Callable[[loop.ForKind], SSAValue]
) -> list[loop.IfOp]:
    """Put what one thread does under a test of its ids; return the tests."""
    ops = [op for op in block.ops if not op.has_trait(IsTerminator)]
    alone = sink_values(ops, {op for op in ops if role_of(op, missing) is Role.ALONE}, missing)
    runs = [list(run) for inside, run in groupby(ops, alone.__contains__) if inside]
    return [_guard(block, run, [id_of(kind) for kind in missing]) for run in runs]


def role_of(op: Operation, missing: Sequence[loop.ForKind]) -> Role:
    """Return what a statement is, seen from where loops of the missing kinds are not around."""
    inner = list(op.walk())
    if any(isinstance(o, loop.ForOp) and o.how in missing for o in inner):
        return Role.OPEN
    written = [buffer for o in inner for buffer in _written(o)]
    if not written:
        return Role.OPEN if op.regions or isinstance(op, loop.AllocOp) else Role.VALUE
    private = any(memory_space(buffer) in ("register", "stack") for buffer in written)
    return Role.OPEN if private else Role.ALONE


def _written(op: Operation) -> list[SSAValue]:
    if isinstance(op, loop.CopyOp):
        return [op.target]
    return [op.memref] if isinstance(op, loop.StoreOp | gpu.AtomicOp) else []


def sink_values(
    ops: Sequence[Operation], alone: set[Operation], missing: Sequence[loop.ForKind]
) -> set[Operation]:
    """Add the values that only one run of statements uses, so that one thread computes them."""
    chosen = set(alone)
    for op in reversed(ops):
        if op not in chosen and role_of(op, missing) is Role.VALUE and op.results:
            users = {_statement(use.operation, ops) for r in op.results for use in r.uses}
            if users and users <= chosen:
                chosen.add(op)
    while split := [op for op in chosen - alone if not _stays_in_run(op, ops, chosen)]:
        chosen.difference_update(split)
    return chosen


def _statement(op: Operation | None, ops: Sequence[Operation]) -> Operation | None:
    """Return the statement of a list that an op is in."""
    home = ops[0].parent
    while op is not None and op.parent is not home:
        op = op.parent_op()
    return op


def _stays_in_run(op: Operation, ops: Sequence[Operation], chosen: set[Operation]) -> bool:
    """Return whether all users of a value come before the first statement that is not chosen."""
    users = {_statement(use.operation, ops) for result in op.results for use in result.uses}
    for other in ops[ops.index(op) :]:
        if other not in chosen:
            break
        users.discard(other)
    return not users


def _guard(block: Block, ops: Sequence[Operation], ids: Sequence[SSAValue]) -> loop.IfOp:
    """ops  ->  if (0 - %tx >= 0) { ops }"""
    first = tuple(AffineExpr.dimension(k) * -1 for k in range(len(ids)))
    guard = loop.IfOp(AffineMap(len(ids), 0, first), ids, Region(Block()))
    guard.location = ops[0].location
    block.insert_op_before(guard, ops[0])
    for op in ops:
        op.detach()
        guard.body.block.add_op(op)
    return guard
