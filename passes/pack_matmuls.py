"""pack-matmuls: constant right operands in panels of columns, in the order a tile reads them."""

from __future__ import annotations

from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from nn_opt.dialects import graph
from nn_opt.ir.rewriting import rewrite
from nn_opt.ir.target import Target, target_of
from nn_opt.ir.types import element_type, is_static, shape_of

PANEL_VECTORS = (2, 1)  # as wide as the register tile of several rows, or half of it
ROW_VECTORS = (8, 4, 2, 1)  # ... of a single row


class PackWeights(RewritePattern):
    """matmul(a, w)  ->  matmul(a, w in layout NK32n),  if w is one constant matrix of whole panels

    that is larger than the cache in which the rows of `a` find it again.
    """

    def __init__(self, target: Target):
        self.target = target

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.MatmulOp, rewriter: PatternRewriter, /):
        if op.weight_layout is not None or not isinstance(op.b.owner, graph.ConstantOp):
            return
        shape = shape_of(op.b)
        if len(shape) != 2 or element_type(op.b) != f32 or not is_static(op.a):
            return
        one_row = prod(shape_of(op.a)[:-1]) == 1
        cache = self.target.l1_bytes
        widths = [n * self.target.lanes for n in (ROW_VECTORS if one_row else PANEL_VECTORS)]
        panel = next((width for width in widths if shape[1] % width == 0), 0)
        if not panel or prod(shape) * 4 <= cache:
            return
        layout = f"NK{panel}n"
        packed = rewriter.insert(graph.LayoutTransformOp(op.b, "KN", layout)).results[0]
        rewriter.replace(op, graph.MatmulOp(op.a, packed, weight_layout=layout))


class PackMatmulsPass(ModulePass):
    """Needs: graph. Keeps: graph. Order: after fold-scale-axis; before fold-constants, which packs.

    Rows of a wide matrix lie far apart, in other pages and at equal places of the cache; a panel
    lies in one piece.
    """

    name = "pack-matmuls"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, PackWeights(target_of(op)))
