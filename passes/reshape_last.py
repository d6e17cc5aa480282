"""Views last: moves come before the reshapes that neither mixes, so that they meet each other."""

from __future__ import annotations

from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from nn_opt.dialects import graph
from nn_opt.ir.types import is_static, shape_of

Slice = tuple[int, int, int]  # axis, start, size


def reshape_patterns() -> tuple[RewritePattern, ...]:
    """Return the patterns of this file."""
    return (SliceBehindReshape(), TransposeBeforeReshape())


def splits(op: graph.ReshapeOp, axis: int) -> tuple[int, ...] | None:
    """Return into which sizes a reshape splits one axis; None if it does anything else."""
    if not is_static(op.x) or not is_static(op.result):
        return None
    before, after = shape_of(op.x), shape_of(op.result)
    behind = len(before) - axis - 1
    middle = after[axis : len(after) - behind]
    kept = before[:axis] == after[:axis] and before[axis + 1 :] == after[len(after) - behind :]
    return middle if kept and len(after) >= len(before) else None


class SliceBehindReshape(RewritePattern):
    """reshape(slice(x))  ->  slice(reshape(x)),  if the slice cuts between the rows of the split

    [.., 96] cut at 64 and made [.., 4, 8]  ->  made [.., 12, 8] and cut at 8.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ReshapeOp, rewriter: PatternRewriter, /):
        piece = op.x.owner
        cut = cut_of(piece) if isinstance(piece, graph.SliceOp) else None
        if not isinstance(piece, graph.SliceOp) or cut is None:
            return
        axis, start, _ = cut
        sizes = splits(op, axis)
        whole = shape_of(piece.x)
        if sizes is None or len(sizes) != 2 or not sizes[1]:
            return
        if whole[axis] % sizes[1] or start % sizes[1]:
            return
        split = [*whole[:axis], whole[axis] // sizes[1], sizes[1], *whole[axis + 1 :]]
        starts = [0] * len(split)
        starts[axis] = start // sizes[1]
        wide = rewriter.insert(graph.ReshapeOp(piece.x, split)).result
        rewriter.replace(op, graph.SliceOp(wide, starts, shape_of(op.result), [1] * len(split)))


class TransposeBeforeReshape(RewritePattern):
    """transpose(reshape(x))  ->  reshape(transpose(x)),  if only the axes that stay are regrouped

    [2, 4, 8, 3] made [8, 8, 3] and transposed to [8, 3, 8]  ->  transposed to [2, 4, 3, 8] first.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.TransposeOp, rewriter: PatternRewriter, /):
        view = op.x.owner
        if not isinstance(view, graph.ReshapeOp) or not is_static(op.x) or not is_static(view.x):
            return
        perm, before, after = list(op.perm.get_values()), shape_of(view.x), shape_of(op.x)
        moved = next((k for k, axis in enumerate(perm) if axis != k), len(perm))
        behind = len(perm) - moved
        if len(before) < behind or before[len(before) - behind :] != after[moved:]:
            return
        lead = len(before) - behind
        inner = [*range(lead), *(axis - moved + lead for axis in perm[moved:])]
        if behind and not isinstance(view.x.owner, graph.TransposeOp):
            return  # it would meet nothing
        turned = rewriter.insert(graph.TransposeOp(view.x, inner)).result
        rewriter.replace(op, graph.ReshapeOp(turned, shape_of(op.result)))


def cut_of(op: graph.SliceOp) -> Slice | None:
    """Return the one axis of which a slice takes a part in one piece."""
    if not is_static(op.x) or set(op.steps.get_values()) != {1}:
        return None
    pairs = zip(shape_of(op.x), shape_of(op.result), strict=True)
    axes = [axis for axis, (whole, part) in enumerate(pairs) if whole != part]
    if len(axes) != 1:
        return None
    return axes[0], op.starts.get_values()[axes[0]], shape_of(op.result)[axes[0]]
