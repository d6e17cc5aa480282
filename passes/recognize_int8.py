"""recognize-int8: sums of products of dequantised numbers become sums of integers."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from nn_opt.ir.rewriting import rewrite
from nn_opt.ir.target import target_of
from nn_opt.passes.int8_contraction import MultiplyIntegers
from nn_opt.passes.int8_requantize import (
    ClipFirst,
    DivideScales,
    DropRelu,
    MultiplyScales,
    ScaleOnce,
)
from nn_opt.passes.int8_values import (
    CastUnsigned,
    DropQuantize,
    Sink,
    SinkPad,
    SinkShift,
    SubOnce,
    ToUnsigned,
)


class RecognizeInt8Pass(ModulePass):
    """conv(dq(x), dq(w))  ->  dq(conv(x, w)) of 8-bit integers summed in i32; matmuls alike.

    dq(x) is (x - zero) * scale. Activations become unsigned, weights signed; the share of the
    zero points in a sum is known or a column's sum of weights, and joins the bias. Moves and
    maxima of dequantised numbers move integers; what is quantised as it was before stays as it is.
    Sums are exact, where those of floats round; the two scales around a sum become one, so that a
    result may be one step off where it lies halfway between two.

    Needs: graph, static shapes, weights at hand. Keeps: graph.
    Order: before fold-constants, which would make floats of the weights.
    """

    name = "recognize-int8"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, Sink(), SinkPad(), DropQuantize())
        rewrite(op, ToUnsigned(), SinkShift(), CastUnsigned(), SubOnce())
        contraction = MultiplyIntegers(target_of(op), self.name)
        rewrite(op, *contraction.patterns)
        if contraction.count:
            rewrite(op, DivideScales())
            rewrite(op, MultiplyScales(), ScaleOnce(), DropRelu())
            rewrite(op, ClipFirst())
