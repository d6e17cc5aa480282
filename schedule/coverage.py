"""Whether a stage, moved into a loop, still makes all that stages behind the loop read of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr

from nn_opt.dialects.loop import BlockOp, ForOp, LoadOp
from nn_opt.ir.affine import linear
from nn_opt.ir.types import shape_of
from nn_opt.schedule.nest import (
    access_exprs,
    loads_in,
    loop_name,
    loop_of,
    loops_around,
    refuse,
    statement_in,
)
from nn_opt.schedule.regions import Span


@dataclass(frozen=True)
class Reach:
    """What is covered of a dimension while some loops stand still: fixed + low ... high.

    `moving` are the variables that walk through it.
    """

    fixed: dict[SSAValue, int]
    low: int
    high: int
    moving: frozenset[SSAValue] = frozenset()


def require_made(
    stage: str, buffer: SSAValue, spans: Sequence[Span | None], loop: ForOp, reader: BlockOp
) -> None:
    """Refuse a reader outside of `loop` unless the loop makes, before it, all that it reads.

    spans: what an iteration makes of each dimension; None for all of it.
    """
    shared = [outer for outer in loops_around(loop) if outer in loops_around(reader)]
    made = [_made(s, n, shared) for s, n in zip(spans, shape_of(buffer), strict=True)]
    loads = [load for load in loads_in(reader) if load.memref is buffer]
    complete = _is_box(made) and all(_covers(made, load, reader, shared) for load in loads)
    if not complete or not _comes_before(loop, reader, shared):
        problem = f"{reader.stage.data!r} reads {stage!r} outside {loop_name(loop)}"
        refuse(loop, f"compute_at: {problem}", hint="move that stage in first")


def _comes_before(loop: ForOp, reader: BlockOp, shared: Sequence[ForOp]) -> bool:
    """Return whether a loop's statement comes before a reader's, in the loops around both."""
    outermost = (loops_around(loop) or [loop])[0]
    body = shared[-1].body.block if shared else outermost.parent
    assert body is not None
    ops = list(body.ops)
    return ops.index(statement_in(body, loop)) < ops.index(statement_in(body, reader))


def _made(span: Span | None, size: int, shared: Sequence[ForOp]) -> Reach | None:
    """Return what is made of a dimension; None if it may have holes."""
    if span is None:
        return Reach({}, 0, size - 1)
    reach = _reach(span.base, span.outer, shared, span.extent)
    if reach is None:
        return None
    return Reach(reach.fixed, reach.low + span.low, reach.high + span.low, reach.moving)


def _reach(
    expr: AffineExpr, values: Sequence[SSAValue], shared: Sequence[ForOp], dense: int = 0
) -> Reach | None:
    """Return what an index covers; None unless it is a sum of loop variables, without holes if
    each value of it stands for the `dense` next ones.
    """
    form = linear(expr)
    fixed: dict[SSAValue, int] = {}
    moving: dict[SSAValue, int] = {}
    for atom, factor in form.terms.items():
        if not isinstance(atom, AffineDimExpr):
            return None
        value = values[atom.position]
        (fixed if loop_of(value) in shared else moving)[value] = factor
    low = high = form.constant
    covered = dense
    for value, factor in sorted(moving.items(), key=lambda term: abs(term[1])):
        far = factor * (loop_of(value).trips - 1)
        low, high = low + min(far, 0), high + max(far, 0)
        if dense and not 0 < factor <= covered:
            return None
        covered += far
    return Reach(fixed, low, high + max(dense - 1, 0), frozenset(moving))


def _is_box(made: Sequence[Reach | None]) -> bool:
    """Return whether each dimension is walked by loops of its own, so that all places are met."""
    seen: set[SSAValue] = set()
    for reach in made:
        if reach is None or reach.moving & seen:
            return False
        seen |= reach.moving
    return True


def _covers(
    made: Sequence[Reach | None], load: LoadOp, reader: BlockOp, shared: Sequence[ForOp]
) -> bool:
    """Return whether all that a load reads was made."""
    exprs = access_exprs(load, reader)
    for size, reach, expr in zip(shape_of(load.memref), made, exprs, strict=True):
        assert reach is not None
        if not reach.fixed and reach.low <= 0 and reach.high >= size - 1:
            continue
        wanted = None if expr is None else _reach(expr, list(reader.indices), shared)
        if wanted is None or wanted.fixed != reach.fixed:
            return False
        if wanted.low < reach.low or wanted.high > reach.high:
            return False
    return True
