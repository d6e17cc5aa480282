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

    Only a loop that stays one is asked, of an index that otherwise moves with expanded loops:
    those are straight code, in which every test on a border is decided. Where the load is on a
    border already, what is left are corners: too few iterations for more code.
    """
    if nest.how in EXPANDED:
        return
    position = list(load.indices).index(nest.index)
    if _on_a_border(load):
        return
    for expr, size in zip(load.map.data.results, shape_of(load.memref), strict=True):
        form = linear(expr)
        pace = form.coefficient(position)
        others = _others(form, position, load.indices)
        if pace <= 0 or others is None:
            continue
        low, high = others
        yield from _few(-high, -low, pace)
        yield from _few(size - high, size - low, pace)


def _on_a_border(load: loop.LoadOp) -> bool:
    """Return whether an index that only expanded loops move leaves the buffer."""
    for expr, size in zip(load.map.data.results, shape_of(load.memref), strict=True):
        span = _others(linear(expr), None, load.indices)
        if span is not None and (span[0] < 0 or span[1] >= size):
            return True
    return False


def _others(form: Linear, position: int | None, indices: Sequence[SSAValue]) -> Range | None:
    """Return the range of an index without one loop; None if others than expanded ones move it."""
    own = None if position is None else AffineDimExpr(position)
    terms = {a: f for a, f in form.terms.items() if a != own}
    used = set[int]().union(*(atom.used_dims() for atom in terms))
    loops = {k: _expanded_loop(indices[k]) for k in used}
    if position in used or None in loops.values():
        return None
    ranges = [
        (0, found.trips - 1) if (found := loops.get(k)) else (0, 0) for k in range(len(indices))
    ]
    return range_of(Linear(terms, form.constant).expr(), ranges)


def _expanded_loop(index: SSAValue) -> loop.ForOp | None:
    owner = index.block.parent_op() if isinstance(index, BlockArgument) else None
    return owner if isinstance(owner, loop.ForOp) and owner.how in EXPANDED else None


def _few(first: int, last: int, pace: int) -> Sequence[int]:
    """Return the iterations that reach first ... last, or only the end ones if there are many."""
    low, high = -(-first // pace), -(-last // pace)
    return range(low, high + 1) if high - low <= MOST_BORDERS else (low, high)
