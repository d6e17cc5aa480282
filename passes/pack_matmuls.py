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
from nn_opt.schedule.defaults.tile_shapes import product_tile

PANEL_VECTORS = (2, 1)  # of narrow numbers, as wide as their tile of several rows, or half of it
ROW_VECTORS = (8, 4, 2, 1)  # ... of a single row


class PackWeights(RewritePattern):
    """matmul(a, w)  ->  matmul(a, w in layout NK48n),  if w is one constant matrix

    that is larger than the cache in which the rows of `a` find it again. A panel is as wide as the
    register tile; the last one is filled up.
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
        rows, (_, columns) = prod(shape_of(op.a)[:-1]), shape
        _, vectors = product_tile(rows, columns, self.target)
        panel = vectors * self.target.lanes
        if prod(shape) * 4 <= self.target.l1_bytes or columns < self.target.lanes:
            return
        layout = f"NK{panel}n"
        packed = rewriter.insert(graph.LayoutTransformOp(op.b, "KN", layout)).results[0]
        used = columns if columns % panel else 0
        new = graph.MatmulOp(op.a, packed, weight_layout=layout, columns=used)
        rewriter.replace(op, new)


class PackMatmulsPass(ModulePass):
    """Needs: graph. Keeps: graph. Order: after fold-scale-axis; before fold-constants, which packs.

    Rows of a wide matrix lie far apart, in other pages and at equal places of the cache; a panel
    lies in one piece.
    """

    name = "pack-matmuls"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, PackWeights(target_of(op)))
