"""unsqueeze-windows: convolutions and poolings along one axis become those along two."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from nn_opt.dialects import graph
from nn_opt.ir.rewriting import rewrite
from nn_opt.ir.types import is_static, shape_of
from nn_opt.passes.canonicalize_moves import DropMove, MergeReshapes
from nn_opt.passes.constants import constant_array
from nn_opt.passes.unfold_conv_transpose import is_unary, with_operand


class UnsqueezeConv(RewritePattern):
    """conv(x, w) of [N, C, W]  ->  squeeze(conv(unsqueeze(x), unsqueeze(w))) of [N, C, 1, W]"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ConvOp, rewriter: PatternRewriter, /):
        if not _has_one_axis(op.x) or not is_static(op.w) or op.layout is not None:
            return
        wide = graph.ConvOp(
            unsqueezed(op.x, rewriter),
            unsqueezed(op.w, rewriter),
            op.b,
            strides=_behind(1, op.strides.get_values()),
            pads=_pads(op.pads.get_values()),
            dilations=_behind(1, op.dilations.get_values()),
            group=op.group.value.data,
            wide=op.wide is not None,
            fill=op.padding,
        )
        squeeze_result(op, wide, rewriter)


class UnsqueezePool(RewritePattern):
    """pool(x) of [N, C, W]  ->  squeeze(pool(unsqueeze(x))) of [N, C, 1, W]"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.PoolOp, rewriter: PatternRewriter, /):
        if not _has_one_axis(op.x) or op.layout is not None:
            return
        wide = graph.PoolOp(
            unsqueezed(op.x, rewriter),
            op.kind.data,
            _behind(1, op.kernel.get_values()),
            strides=_behind(1, op.strides.get_values()),
            pads=_pads(op.pads.get_values()),
            dilations=_behind(1, op.dilations.get_values()),
            ceil_mode=op.ceil_mode is not None,
            count_include_pad=op.count_include_pad is not None,
            p=2 if op.p is None else op.p.value.data,
        )
        squeeze_result(op, wide, rewriter)


class SqueezeLater(RewritePattern):
    """f(squeeze(x))  ->  squeeze(f(x)),  for an elementwise f of one operand or two"""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /):
        if is_unary(op):
            x = squeezed(op.operands[0])
            if x is not None:
                squeeze_result(op, with_operand(op, x), rewriter)
        elif isinstance(op, graph.BinaryOp) and is_static(op.result):
            self._binary(op, rewriter)

    def _binary(self, op: graph.BinaryOp, rewriter: PatternRewriter) -> None:
        operands = list(op.operands)
        whole = [squeezed(value) for value in operands]
        shape = shape_of(op.result)
        fits = [
            x is not None and shape_of(v) == shape for v, x in zip(operands, whole, strict=True)
        ]
        if not any(fits) or not all(map(is_static, operands)):
            return
        wide = [
            x if x is not None and fit else unsqueezed(value, rewriter)
            for value, x, fit in zip(operands, whole, fits, strict=True)
        ]
        squeeze_result(op, type(op)(*wide), rewriter)


def squeezed(value: SSAValue) -> SSAValue | None:
    """Return x if a value is x [N, C, 1, W] as [N, C, W], else None."""
    op = value.owner
    if not isinstance(op, graph.ReshapeOp) or not (is_static(op.x) and is_static(op.result)):
        return None
    before, after = shape_of(op.x), shape_of(op.result)
    return op.x if len(after) == 3 and before == _behind_shape(after) else None


def unsqueezed(value: SSAValue, rewriter: PatternRewriter) -> SSAValue:
    """Return a value with an axis of size 1 before its last one, which broadcasts as before."""
    shape = shape_of(value)
    if len(shape) < 2:
        return value
    array = constant_array(value)
    if array is not None:  # weights stay constants, which choose-layout asks for
        return rewriter.insert(graph.ConstantOp(array.reshape(_behind_shape(shape)))).results[0]
    return rewriter.insert(graph.ReshapeOp(value, _behind_shape(shape))).results[0]


def squeeze_result(op: Operation, wide: Operation, rewriter: PatternRewriter) -> None:
    """Replace an op by one that computes the same with an axis more."""
    result = rewriter.insert(wide).results[0]
    rewriter.replace(op, graph.ReshapeOp(result, shape_of(op.results[0])))


def _has_one_axis(x: SSAValue) -> bool:
    return is_static(x) and len(shape_of(x)) == 3


def _behind(first: int, rest: Sequence[int]) -> list[int]:
    return [first, *rest]


def _pads(pads: Sequence[int]) -> list[int]:
    low, high = pads
    return [0, low, 0, high]


def _behind_shape(shape: Sequence[int]) -> tuple[int, ...]:
    return (*shape[:-1], 1, shape[-1])


class UnsqueezeWindowsPass(ModulePass):
    """Needs: graph, static shapes. Keeps: graph.

    Order: after unfold-conv-transpose, which makes convolutions; before choose-layout, which
    knows images alone.
    """

    name = "unsqueeze-windows"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        patterns = (UnsqueezeConv(), UnsqueezePool(), SqueezeLater(), MergeReshapes(), DropMove())
        rewrite(op, *patterns)
