"""Patterns of --canonicalize for ops that only move elements: reshape, transpose, slice, pad."""

from __future__ import annotations

from itertools import pairwise

from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from nn_opt.dialects import graph
from nn_opt.dialects.graph.shapes import broadcast_shape
from nn_opt.ir.types import is_static, shape_of
from nn_opt.passes.canonicalize_layouts import layout_patterns
from nn_opt.passes.constants import splat_of

MOVES = (
    graph.ReshapeOp,
    graph.TransposeOp,
    graph.ExpandOp,
    graph.SliceOp,
    graph.TileOp,
    graph.PadOp,
    graph.ConcatOp,
)


class DropMove(RewritePattern):
    """reshape, transpose, expand, slice, tile, pad or concat of x  ->  x,  if it moves nothing"""

    roots = MOVES

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /):
        if op.operands[0].type != op.results[0].type:
            return
        if is_static(op.operands[0]) and moves_nothing(op):
            rewriter.replace(op, (), [op.operands[0]])


def moves_nothing(op: Operation) -> bool:
    """Return whether an op of MOVES whose operand has its result's type is the identity."""
    match op:
        case graph.TransposeOp():
            return list(op.perm.get_values()) == sorted(op.perm.get_values())
        case graph.SliceOp():
            return all(
                step > 0 or size <= 1
                for step, size in zip(op.steps.get_values(), shape_of(op.result), strict=True)
            )
        case graph.PadOp():
            return not any(op.pads.get_values())
        case graph.ConcatOp():
            return len(op.operands) == 1
        case _:
            return True


class MergeReshapes(RewritePattern):
    """reshape(reshape(x))  ->  reshape(x)"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ReshapeOp, rewriter: PatternRewriter, /):
        if isinstance(op.x.owner, graph.ReshapeOp) and is_static(op.result):
            rewriter.replace(op, graph.ReshapeOp(op.x.owner.x, shape_of(op.result)))


class MergeTransposes(RewritePattern):
    """transpose(transpose(x, p), q)  ->  transpose(x, p[q])"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.TransposeOp, rewriter: PatternRewriter, /):
        inner = op.x.owner
        if not isinstance(inner, graph.TransposeOp):
            return
        first = inner.perm.get_values()
        perm = [first[axis] for axis in op.perm.get_values()]
        rewriter.replace(op, graph.TransposeOp(inner.x, perm))


class TransposeToReshape(RewritePattern):
    """transpose(x)  ->  reshape(x),  if only axes of size 1 change their order"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.TransposeOp, rewriter: PatternRewriter, /):
        if not is_static(op.x):
            return
        sizes = shape_of(op.x)
        moved = [axis for axis in op.perm.get_values() if sizes[axis] != 1]
        if all(a < b for a, b in pairwise(moved)):
            rewriter.replace(op, graph.ReshapeOp(op.x, shape_of(op.result)))


class MergeExpands(RewritePattern):
    """expand(expand(x))  ->  expand(x)"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ExpandOp, rewriter: PatternRewriter, /):
        if isinstance(op.x.owner, graph.ExpandOp) and is_static(op.result):
            rewriter.replace(op, graph.ExpandOp(op.x.owner.x, shape_of(op.result)))


class ExpandIntoBroadcast(RewritePattern):
    """f(expand(x), y)  ->  f(x, y) for a broadcasting f,  if its result keeps its shape"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.BinaryOp | graph.WhereOp, rewriter: PatternRewriter, /):
        if not is_static(op.result):
            return
        for index, operand in enumerate(op.operands):
            if not isinstance(operand.owner, graph.ExpandOp):
                continue
            narrow = operand.owner.x
            others = [shape_of(v) for k, v in enumerate(op.operands) if k != index]
            shapes = (shape_of(narrow), *others)
            if is_static(narrow) and broadcast_shape(*shapes) == shape_of(op.result):
                op.operands[index] = narrow
                rewriter.notify_op_modified(op)
                return


class PadIntoConv(RewritePattern):
    """conv(pad(x))  ->  conv(x) with wider pads,  if both pad spatial axes by one number"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ConvOp, rewriter: PatternRewriter, /):
        pad = op.x.owner
        if (
            not isinstance(pad, graph.PadOp)
            or op.layout is not None
            or not pads_with(pad, op.padding)
        ):
            return
        rank = len(shape_of(op.x))
        low, high = pad.pads.get_values()[:rank], pad.pads.get_values()[rank:]
        if any((*low[:2], *high[:2])) or min(*low, *high) < 0:
            return
        spatial = (*low[2:], *high[2:])
        pads = [a + b for a, b in zip(op.pads.get_values(), spatial, strict=True)]
        wider = graph.ConvOp(
            pad.x,
            op.w,
            op.b,
            strides=op.strides.get_values(),
            pads=pads,
            dilations=op.dilations.get_values(),
            group=op.group.value.data,
            wide=op.wide is not None,
            fill=op.padding,
        )
        rewriter.replace(op, wider)


def pads_with(pad: graph.PadOp, number: int) -> bool:
    """Return whether a pad surrounds its operand with a number."""
    return pad.mode.data == "constant" and number == (
        0 if pad.value is None else splat_of(pad.value)
    )


def move_patterns() -> list[RewritePattern]:
    """Return the patterns of this file, and those of layouts."""
    return [
        DropMove(),
        MergeReshapes(),
        MergeTransposes(),
        TransposeToReshape(),
        MergeExpands(),
        ExpandIntoBroadcast(),
        PadIntoConv(),
        *layout_patterns(),
    ]
