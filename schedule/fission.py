"""The primitive fission: a loop around several statements becomes a loop around each."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr

from nn_opt.dialects.loop import BlockOp, ForOp, Kind
from nn_opt.schedule.nest import blocks_in, kinds_bound, loop_name, read, rebind, refuse, written


def fission(loop: ForOp) -> None:
    """for %i { A; B }  ->  for %i { A } for %i { B }"""
    statements = list(loop.body.block.ops)
    _require_apart(loop, statements)
    parent, last = loop.parent, loop
    assert parent is not None
    for statement in statements[1:]:
        copy = ForOp(loop.trips, kind=loop.how, name_hint=loop.index.name_hint)
        copy.location = loop.location
        statement.detach()
        copy.body.block.add_op(statement)
        for block in blocks_in(copy):
            if loop.index in block.indices:
                rebind(block, loop.index, AffineExpr.dimension(0), [copy.index])
        parent.insert_op_after(copy, last)
        last = copy


def _require_apart(loop: ForOp, statements: list[Operation]) -> None:
    """Refuse unless each iteration does its own part of each statement, all of it in order."""
    used: set[SSAValue] = set()
    for statement in statements:
        if not isinstance(statement, ForOp | BlockOp):
            problem = f"fission: {loop_name(loop)} holds a {statement.name}"
            refuse(loop, problem, hint="split it before buffers or copies are in it")
        blocks = blocks_in(statement)
        for block in blocks:
            _require_own_part(loop, block, used)
        used.update(buffer for b in blocks for buffer in (*written(b), *read(b)))


def _require_own_part(loop: ForOp, block: BlockOp, used: set[SSAValue]) -> None:
    """Refuse a stage that is not independent along the loop, or undoes what was before it."""
    if loop.trips > 1 and kinds_bound(loop, block) != {Kind.PAR}:
        problem = f"{loop_name(loop)} is no independent axis of {block.stage.data!r}"
        refuse(loop, f"fission: {problem}", hint="choose a loop inside or outside")
    if used.intersection(written(block)):
        problem = f"fission: {block.stage.data!r} writes what an earlier stage uses"
        refuse(loop, problem, hint="keep them in one loop")
