"""Patterns of --canonicalize for graph.layout_transform: those that cancel or move nothing."""

from __future__ import annotations

from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from nn_opt.dialects import graph
from nn_opt.dialects.graph.layouts import Layout, parse_layout
from nn_opt.ir.types import is_static, shape_of


class DropLayoutPair(RewritePattern):
    """from A to B of (from B to A of x)  ->  x,  if A has no lanes that are filled up in B

    (what is in such lanes of x would be kept, where the pair puts zeros).
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.LayoutTransformOp, rewriter: PatternRewriter, /):
        inner = op.x.owner
        if not isinstance(inner, graph.LayoutTransformOp):
            return
        if (inner.source.data, inner.target.data) != (op.target.data, op.source.data):
            return
        if inner.x.type == op.result.type and fills_nothing(inner):
            rewriter.replace(op, (), [inner.x])


class LayoutTransformToReshape(RewritePattern):
    """layout_transform(x)  ->  reshape(x),  if only axes of size 1 change their order"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.LayoutTransformOp, rewriter: PatternRewriter, /):
        if not is_static(op.x) or not is_static(op.result):
            return
        source, target = parse_layout(op.source.data), parse_layout(op.target.data)
        if (source.blocks and target.blocks) or not (fills_nothing(op) and fills_nothing_in(op)):
            return
        blocked = source if source.blocks else target
        sizes = dict(zip(source.axes, op.sizes.get_values(), strict=True))
        if memory_order(source, blocked, sizes) == memory_order(target, blocked, sizes):
            rewriter.replace(op, graph.ReshapeOp(op.x, shape_of(op.result)))


def fills_nothing(op: graph.LayoutTransformOp) -> bool:
    """Return whether the blocks of the source layout are all full."""
    return _blocks_full(op, parse_layout(op.source.data))


def fills_nothing_in(op: graph.LayoutTransformOp) -> bool:
    """Return whether the blocks of the target layout are all full."""
    return _blocks_full(op, parse_layout(op.target.data))


def _blocks_full(op: graph.LayoutTransformOp, layout: Layout) -> bool:
    letters = parse_layout(op.source.data).axes
    sizes = zip(letters, op.sizes.get_values(), strict=True)
    return all(size % layout.block_of(letter) == 0 for letter, size in sizes)


def memory_order(layout: Layout, blocked: Layout, sizes: dict[str, int]) -> list[tuple[str, int]]:
    """Return the axes longer than 1 in memory order, each split as in `blocked`:
    (letter, 0) is the part between blocks and (letter, n) that in its n-th block."""
    inner = [(letter, number) for number, (_, letter) in enumerate(blocked.blocks, 1)]
    if layout.blocks:
        order = [*((letter, 0) for letter in layout.axes), *inner]
    else:
        order = [
            part
            for letter in layout.axes
            for part in ((letter, 0), *(p for p in inner if p[0] == letter))
        ]
    length = {(letter, 0): size // blocked.block_of(letter) for letter, size in sizes.items()}
    length |= {part: blocked.blocks[part[1] - 1][0] for part in inner}
    return [part for part in order if length[part] > 1]


def layout_patterns() -> list[RewritePattern]:
    """Return the patterns of this file."""
    return [DropLayoutPair(), LayoutTransformToReshape()]
