"""Which part of a buffer one iteration of a loop touches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr

from nn_opt.dialects.loop import BlockOp, ForOp, LoadOp, StoreOp
from nn_opt.ir.affine import Linear, linear, range_of, simplify
from nn_opt.schedule.nest import access_exprs, is_inside, loop_of, loops_around, ranges_of, refuse


@dataclass(frozen=True)
class Span:
    """The indices base + low ... base + high; `base` is over the variables `outer`."""

    base: AffineExpr
    outer: tuple[SSAValue, ...]
    low: int
    high: int

    @property
    def extent(self) -> int:
        """How many indices it covers."""
        return self.high - self.low + 1

    @property
    def start(self) -> AffineExpr:
        """Its first index."""
        return self.base + self.low


def spans_of(
    access: LoadOp | StoreOp, block: BlockOp, loop: ForOp, *, threads: bool = False
) -> list[Span]:
    """Return what one iteration of `loop` covers in each dimension of the accessed buffer.

    threads: what it covers in all threads of a block together.
    """
    spans: list[Span] = []
    loops = [loop_of(value) for value in block.indices]
    inner = {
        k for k, own in enumerate(loops) if is_inside(own, loop) or (threads and own.how.is_thread)
    }
    for dimension, expr in enumerate(access_exprs(access, block)):
        if expr is None:
            problem = f"stage {block.stage.data!r} reads dimension {dimension} data-dependently"
            refuse(block, problem, hint="keep its producer outside")
        spans.append(_span(expr, block, inner))
    return spans


def _span(expr: AffineExpr, block: BlockOp, inner: set[int]) -> Span:
    """Split an index over a block's variables into a part outside a loop and a range.

    `inner` are the positions of the variables that run inside the loop's body.
    """
    indices = list(block.indices)
    form = linear(simplify(expr, ranges_of(indices)))  # without loops of one trip
    outside: dict[AffineExpr, int] = {}
    inside: dict[AffineExpr, int] = {}
    for atom, factor in form.terms.items():
        used = atom.used_dims()
        if used & inner and used - inner:
            problem = f"stage {block.stage.data!r} has the index {expr}, which mixes loops"
            refuse(block, problem, hint="fuse or split later")
        (inside if used & inner else outside)[atom] = factor
    low, high = range_of(Linear(inside, form.constant).expr(), ranges_of(indices))
    return Span(*_compact(Linear(outside, 0).expr(), indices), low, high)


def _compact(
    expr: AffineExpr, values: Sequence[SSAValue]
) -> tuple[AffineExpr, tuple[SSAValue, ...]]:
    """Return the expression over only the values that it uses, those of outer loops first."""
    used = sorted(expr.used_dims(), key=lambda dim: len(loops_around(loop_of(values[dim]))))
    replacements = [AffineExpr.constant(0)] * len(values)
    for position, dim in enumerate(used):
        replacements[dim] = AffineExpr.dimension(position)
    ordered = linear(expr.replace_dims_and_symbols(replacements, ())).expr()
    return ordered, tuple(values[dim] for dim in used)


def union(spans: Sequence[Span], block: BlockOp) -> Span:
    """Return one span over several; refuses those whose bases differ by more than a constant."""
    first = spans[0]
    for span in spans[1:]:
        if (span.base, span.outer) != (first.base, first.outer):
            problem = f"stage {block.stage.data!r} reads at unrelated places"
            refuse(block, problem, hint="inline the producer, or keep it outside")
    low, high = min(span.low for span in spans), max(span.high for span in spans)
    return Span(first.base, first.outer, low, high)
