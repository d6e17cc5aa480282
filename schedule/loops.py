"""Primitives on loops alone: split, fuse, reorder, tile, and the annotations."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from xdsl.ir.affine import AffineExpr

from nn_opt.dialects.loop import AllocOp, BlockOp, ForKind, ForOp, Kind
from nn_opt.ir.locations import fuse_locations
from nn_opt.schedule.nest import (
    add_condition,
    blocks_in,
    is_inside,
    kinds_bound,
    loop_name,
    loops_around,
    move_ops,
    only_child,
    refuse,
    replace_op,
    replace_variable,
    written,
)

MAX_LANES = 128
_D0, _D1 = AffineExpr.dimension(0), AffineExpr.dimension(1)


def _require_serial(loop: ForOp, primitive: str) -> None:
    if loop.how is not ForKind.SERIAL:
        problem = f"{primitive}: loop {loop_name(loop)} is already marked {loop.how.value}"
        refuse(loop, problem, hint=f"{primitive} first, annotate afterwards")


def split(loop: ForOp, factor: int, tail: str = "guard") -> tuple[ForOp, ForOp]:
    """loop %q  ->  %qo, %qi of `factor` iterations, with q = factor * qo + qi.

    If the factor does not divide, every block inside gets a condition (`tail="guard"`), or the
    split is refused (`tail="exact"`).
    """
    _require_serial(loop, "split")
    if factor < 1:
        refuse(loop, f"split: the factor of {loop_name(loop)} is {factor}, expected at least 1")
    trips = loop.trips
    if tail == "exact" and trips % factor:
        problem = f"split: {factor} does not divide the {trips} iterations of {loop_name(loop)}"
        refuse(loop, problem, hint="use tail guard, or a factor that divides")
    hint = loop.index.name_hint or "i"
    outer = ForOp(-(-trips // factor), name_hint=f"{hint}o")
    inner = ForOp(factor, name_hint=f"{hint}i")
    inner.location = loop.location
    value = _D0 * factor + _D1
    move_ops(loop.body.block, inner.body.block)
    outer.body.block.add_op(inner)
    replace_op(loop, outer)
    replace_variable(loop, value, [outer.index, inner.index])
    if trips % factor:
        for block in blocks_in(inner):
            add_condition(block, value * -1 + (trips - 1), [outer.index, inner.index])
    return outer, inner


def fuse(outer: ForOp, inner: ForOp) -> ForOp:
    """loops %a, %b, one directly inside the other  ->  %f with a = f div B, b = f mod B."""
    _require_serial(outer, "fuse")
    _require_serial(inner, "fuse")
    if only_child(outer) is not inner:
        problem = f"fuse: {loop_name(inner)} is not all that {loop_name(outer)} holds"
        refuse(outer, problem, hint="reorder them next to each other first")
    hints = [loop.index.name_hint or "i" for loop in (outer, inner)]
    fused = ForOp(outer.trips * inner.trips, name_hint="_".join(hints))
    move_ops(inner.body.block, fused.body.block)
    replace_op(outer, fused)
    fused.location = fuse_locations(outer, inner)
    extent = max(inner.trips, 1)
    replace_variable(outer, _D0 // extent, [fused.index])
    replace_variable(inner, _D0 % extent, [fused.index])
    return fused


def reorder(loops: Sequence[ForOp]) -> None:
    """Put loops of one perfect nest in the given order, at the places they take up together."""
    if len(set(loops)) != len(loops):
        refuse(loops[0], "reorder: a loop is named twice", hint="name each loop once")
    chain = _chain(loops)
    body = chain[-1].body.block
    blocks = blocks_in(chain[-1])
    if len(blocks) != 1:
        problem = f"reorder: loop {loop_name(chain[-1])} holds {len(blocks)} stages"
        refuse(chain[-1], problem, hint="reorder before compute_at")
    wanted = iter(loops)
    order = [next(wanted) if loop in loops else loop for loop in chain]
    _require_same_sequence(chain, order, blocks[0])
    innermost = list(body.ops)
    anchor = chain[0].parent
    assert anchor is not None
    follower = chain[0].next_op
    for loop in chain:
        for op in list(loop.body.block.ops):
            op.detach()
    chain[0].detach()
    if follower is None:
        anchor.add_op(order[0])
    else:
        anchor.insert_op_before(order[0], follower)
    for outer, inner in pairwise(order):
        outer.body.block.add_op(inner)
    order[-1].body.block.add_ops(innermost)


def _chain(loops: Sequence[ForOp]) -> list[ForOp]:
    """Return all loops from the outermost to the innermost of `loops`; refuses if not perfect."""
    deepest = max(loops, key=lambda loop: len(loops_around(loop)))
    around = [*loops_around(deepest), deepest]
    for loop in loops:
        if loop not in around:
            problem = f"reorder: {loop_name(loop)} and {loop_name(deepest)} are not in one nest"
            refuse(loop, problem, hint="take loops around one stage")
    chain = around[min(around.index(loop) for loop in loops) :]
    for outer, inner in pairwise(chain):
        if only_child(outer) is not inner:
            problem = f"reorder: {loop_name(outer)} holds more than {loop_name(inner)}"
            refuse(outer, problem, hint="reorder before compute_at")
    return chain


def _require_same_sequence(before: Sequence[ForOp], after: Sequence[ForOp], block: BlockOp) -> None:
    """Refuse to change the order of loops that run an ordered axis."""
    ordered = [loop for loop in before if Kind.SEQ in kinds_bound(loop, block)]
    if [loop for loop in after if loop in ordered] != ordered:
        problem = f"reorder: stage {block.stage.data!r} accumulates in the order of its axes"
        refuse(ordered[0], problem, hint="only a `reduce fast` may be reordered")


def tile(x: ForOp, y: ForOp, x_factor: int, y_factor: int) -> tuple[ForOp, ForOp, ForOp, ForOp]:
    """loops %x, %y  ->  %xo, %yo, %xi, %yi."""
    xo, xi = split(x, x_factor)
    yo, yi = split(y, y_factor)
    reorder([xo, yo, xi, yi])
    return xo, yo, xi, yi


def unroll(loop: ForOp) -> None:
    """Mark a loop to be expanded by the last conversion."""
    _require_serial(loop, "unroll")
    loop.how = ForKind.UNROLL


def vectorize(loop: ForOp) -> None:
    """Mark an innermost loop whose iterations become lanes; refuses ordered axes and huge loops."""
    _require_serial(loop, "vectorize")
    if loop.trips > MAX_LANES:
        name, most = loop_name(loop), f"expected at most {MAX_LANES}"
        problem = f"vectorize: loop {name} has {loop.trips} iterations, {most}"
        refuse(loop, problem, hint=f"split it by at most {MAX_LANES} lanes first")
    if any(isinstance(op, ForOp) for op in loop.body.block.ops):
        problem = f"vectorize: loop {loop_name(loop)} is not innermost"
        refuse(loop, problem, hint="reorder it to the inside first")
    for block in blocks_in(loop):
        if Kind.SEQ in kinds_bound(loop, block):
            problem = f"vectorize: loop {loop_name(loop)} runs an ordered axis"
            refuse(loop, problem, hint="only a `reduce fast` may be reassociated")
    loop.how = ForKind.VECTOR


def writes_inside(block: BlockOp, loop: ForOp) -> bool:
    """Return whether all that a block writes lives in one iteration of a loop."""
    owners = [buffer.owner for buffer in written(block)]
    return all(isinstance(owner, AllocOp) and is_inside(owner, loop) for owner in owners)


def parallel(loop: ForOp) -> None:
    """Mark a loop whose iterations are independent; refuses one that carries a reduction."""
    _require_serial(loop, "parallel")
    for block in blocks_in(loop):
        kinds = kinds_bound(loop, block)
        if not kinds and loop.trips > 1 and not writes_inside(block, loop):
            problem = f"all iterations of {loop_name(loop)} write the same of {block.stage.data!r}"
            refuse(loop, f"parallel: {problem}", hint="compute that stage outside this loop")
        if kinds - {Kind.PAR}:
            problem = f"loop {loop_name(loop)} carries the reduction of {block.stage.data!r}"
            refuse(loop, f"parallel: {problem}", hint="choose a loop over a par axis")
    loop.how = ForKind.PARALLEL


BOUND = [kind.value for kind in ForKind if kind.is_bound]


def bind(loop: ForOp, kind: str) -> None:
    """Give each iteration a block of a GPU's grid, or a thread of a block.

    Blocks are independent; a reduction that may be reassociated may run across threads.
    """
    _require_serial(loop, "bind")
    if kind not in BOUND:
        known = ", ".join(BOUND)
        refuse(loop, f"bind: {loop_name(loop)} is bound to {kind!r}, expected one of {known}")
    how = ForKind(kind)
    if how.is_block:
        _require_blocks(loop, how)
    for block in blocks_in(loop) if loop.trips > 1 else ():
        kinds = kinds_bound(loop, block)
        if Kind.SEQ in kinds or (how.is_block and kinds - {Kind.PAR}):
            problem = f"loop {loop_name(loop)} carries the reduction of {block.stage.data!r}"
            refuse(loop, f"bind: {problem}", hint="choose a loop over a par axis")
    loop.how = how


def _require_blocks(loop: ForOp, how: ForKind) -> None:
    """Refuse a loop whose iterations cannot be blocks: bound inside threads, or not independent."""
    for outer in loops_around(loop):
        if outer.how.is_thread or outer.how is how:
            name = loop_name(outer)
            problem = f"{loop_name(loop)} is inside {name}, which is bound to {outer.how.value}"
            refuse(loop, f"bind: {problem}", hint="blocks are around threads, each dimension once")
    for block in blocks_in(loop):
        if not kinds_bound(loop, block) and loop.trips > 1 and not writes_inside(block, loop):
            problem = f"all iterations of {loop_name(loop)} write the same of {block.stage.data!r}"
            refuse(loop, f"bind: {problem}", hint="compute that stage outside this loop")
