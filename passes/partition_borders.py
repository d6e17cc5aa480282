"""Where along a loop a load with an `or` value enters and leaves its buffer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.ir import BlockArgument, SSAValue
from xdsl.ir.affine import AffineDimExpr

from nn_opt.dialects import loop
from nn_opt.ir.affine import Linear, Range, linear, range_of
from nn_opt.ir.types import shape_of

EXPANDED = (loop.ForKind.UNROLL, loop.ForKind.VECTOR)
MOST_BORDERS = 4  # iterations that each become code of their own; more stay one loop with tests


def border_counts(load: loop.LoadOp, nest: loop.ForOp) -> Iterator[int]:
    """Yield the iterations before which a load's test changes: each on a border, if they are few.

    Only a loop that stays one is asked, of an index that otherwise moves with expanded loops or
    with those inside the loop. The former are straight code, in which every test on a border is
    decided; the latter are asked in their turn. Where the load is on a border already, what is
    left are corners: too few iterations for more code.
    """
    if nest.how in EXPANDED:
        return
    position = list(load.indices).index(nest.index)
    if _on_a_border(load):
        return
    for expr, size in zip(load.map.data.results, shape_of(load.memref), strict=True):
        form = linear(expr)
        pace = form.coefficient(position)
        others = _others(form, load.indices, nest)
        if pace <= 0 or others is None:
            continue
        low, high = others
        yield from _few(-high, -low, pace)
        yield from _few(size - high, size - low, pace)


def _on_a_border(load: loop.LoadOp) -> bool:
    """Return whether an index that only expanded loops move leaves the buffer.

    Not so where they go along all of it: such an iteration is a whole line, not a corner.
    """
    for expr, size in zip(load.map.data.results, shape_of(load.memref), strict=True):
        span = _others(linear(expr), load.indices, None)
        if span is not None and (span[0] < 0 or span[1] >= size):
            return span[0] > 0 or span[1] < size - 1
    return False


def _others(form: Linear, indices: Sequence[SSAValue], nest: loop.ForOp | None) -> Range | None:
    """Return the range of an index but for one loop; None if a loop around that moves it."""
    loops = [_loop_of(index) for index in indices]
    own = None if nest is None else AffineDimExpr(loops.index(nest))
    terms = {a: f for a, f in form.terms.items() if a != own}
    used = set[int]().union(*(atom.used_dims() for atom in terms))
    ranges: list[Range] = [(0, 0)] * len(indices)
    for k in used:
        inner = loops[k]
        if inner is None or not (inner.how in EXPANDED or _is_inside(inner, nest)):
            return None
        ranges[k] = (0, inner.trips - 1)
    return range_of(Linear(terms, form.constant).expr(), ranges)


def _loop_of(index: SSAValue) -> loop.ForOp | None:
    owner = index.block.parent_op() if isinstance(index, BlockArgument) else None
    return owner if isinstance(owner, loop.ForOp) else None


def _is_inside(inner: loop.ForOp, nest: loop.ForOp | None) -> bool:
    around = inner.parent_op()
    while around is not None and around is not nest:
        around = around.parent_op()
    return around is not None


def _few(first: int, last: int, pace: int) -> Sequence[int]:
    """Return the iterations that reach first ... last, or only the end ones if there are many."""
    low, high = -(-first // pace), -(-last // pace)
    return range(low, high + 1) if high - low <= MOST_BORDERS else (low, high)
