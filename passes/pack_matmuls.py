"""pack-matmuls: constant right operands in panels of columns, in the order a tile reads them."""

from __future__ import annotations

from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from nn_opt.dialects import graph
from nn_opt.ir.rewriting import rewrite
from nn_opt.ir.target import Target, target_of
from nn_opt.ir.types import element_type, is_static, shape_of
from nn_opt.passes.pack_blocks import PackBlocks
from nn_opt.schedule.defaults.facts import LONGEST_VECTOR
from nn_opt.schedule.defaults.tile_shapes import product_tile

PANEL_VECTORS = (2, 1)  # of narrow numbers, as wide as their tile of several rows, or half of it
ROW_VECTORS = (8, 4, 2, 1)  # ... of a single row
MANY_ROWS = 128  # that share a matrix of which each number is moved once for them


class PackWeights(RewritePattern):
    """matmul(a, w)  ->  matmul(a, w in layout NK48n),  if w is one matrix

    that is larger than the cache in which the rows of `a` find it again, and constant, or so large
    that packing it at every call pays. A panel is as wide as the register tile; the last one is
    filled up.
    """

    def __init__(self, target: Target):
        self.target = target

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.MatmulOp, rewriter: PatternRewriter, /):
        if op.weight_layout is not None:
            return
        shape = shape_of(op.b)
        if len(shape) != 2 or element_type(op.b) != f32 or not is_static(op.a):
            return
        rows, (_, columns) = prod(shape_of(op.a)[:-1]), shape
        _, vectors = product_tile(rows, columns, self.target)
        tile = vectors * self.target.lanes
        panel = tile * -(-LONGEST_VECTOR // tile)
        if prod(shape) * 4 <= self.target.l1_bytes or columns < self.target.lanes:
            return
        large = prod(shape) * 4 > 2 * self.target.l2_bytes
        if not isinstance(op.b.owner, graph.ConstantOp) and not (large and rows >= MANY_ROWS):
            return
        layout = f"NK{panel}n"
        packed = rewriter.insert(graph.LayoutTransformOp(op.b, "KN", layout)).results[0]
        used = columns if columns % panel else 0
        wide = op.wide is not None
        new = graph.MatmulOp(op.a, packed, weight_layout=layout, columns=used, wide=wide)
        rewriter.replace(op, new)


def source_of(op: graph.MatmulOp) -> SSAValue | None:
    """Return the matrices whose transposes are a product's right side, and nothing else is."""
    turn = op.b.owner
    if not isinstance(turn, graph.TransposeOp) or not op.b.has_one_use():
        return None
    *batch, rows, columns = turn.perm.get_values()
    last = len(batch)
    return turn.x if (*batch, rows, columns) == (*range(last), last + 1, last) else None


class TurnRow(RewritePattern):
    """matmul(a, transpose(b))  ->  reshape(matmul(b, reshape(a))),  if `a` has one row a matrix

    Each row of b is read once, so the sums go along it, and nothing is transposed.
    """

    def __init__(self, target: Target):
        self.target = target

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.MatmulOp, rewriter: PatternRewriter, /):
        b = source_of(op)
        if b is None or op.weight_layout is not None or not (is_static(op.a) and is_static(b)):
            return
        row, matrix = shape_of(op.a), shape_of(b)
        if element_type(op.a) != element_type(b):
            return
        if row[:-2] != matrix[:-2] or row[-2:-1] != (1,) or row[-1] < 2 * self.target.lanes:
            return
        column = rewriter.insert(graph.ReshapeOp(op.a, [*row[:-2], row[-1], 1])).results[0]
        product = rewriter.insert(graph.MatmulOp(b, column, wide=op.wide is not None)).results[0]
        rewriter.replace(op, graph.ReshapeOp(product, shape_of(op.result)))


class PackMatmulsPass(ModulePass):
    """Needs: graph. Keeps: graph. Order: after fold-scale-axis; before fold-constants, which packs.

    Rows of a wide matrix lie far apart, in other pages and at equal places of the cache; a panel
    lies in one piece. Weights of few bits become words, which a vector unpacks in its lanes. A GPU
    reads rows of tiles at once, so that nothing is packed for it.
    """

    name = "pack-matmuls"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = target_of(op)
        packs = [PackWeights(target), PackBlocks(target)] if target.gpu is None else []
        rewrite(op, TurnRow(target), *packs)
