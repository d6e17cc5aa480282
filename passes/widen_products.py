"""widen-products: on a CPU, half floats are multiplied as single ones, and results rounded."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import BFloat16Type, Float16Type, ModuleOp, f32
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from nn_opt.dialects import graph
from nn_opt.ir.rewriting import rewrite
from nn_opt.ir.target import target_of
from nn_opt.ir.types import element_type, shape_of, tensor_type

PRODUCTS = (graph.MatmulOp, graph.ConvOp, graph.ConvTransposeOp)
HALF = (Float16Type, BFloat16Type)
VECTOR_BYTES = 16  # of the narrowest registers that hold vectors of numbers


class WidenProducts(RewritePattern):
    """matmul(a, b)  ->  cast(matmul(cast(a), cast(b))),  and convolutions, of f16 or of bf16.

    Sums are f32 in either, and rounded once: this changes no result but by the order of sums.
    Casts of weights are constant, others are done where a number is made. A product that gives
    its sums as f32, or has a layout already, stays.
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, PRODUCTS) or not is_half(op):
            return
        result = op.results[0]
        wide = op.create(
            operands=[self._cast(value, rewriter) for value in op.operands],
            result_types=[tensor_type(shape_of(result), f32)],
            properties=op.properties,
        )
        rewriter.insert(wide)
        rewriter.replace(op, graph.CastOp(wide.results[0], element_type(result)))

    def _cast(self, value: SSAValue, rewriter: PatternRewriter) -> SSAValue:
        return rewriter.insert(graph.CastOp(value, f32)).results[0]


def is_half(op: Operation) -> bool:
    """Return whether an op makes half floats of half floats alone, in no layout of blocks."""
    types = [element_type(value) for value in (*op.operands, *op.results)]
    packed = {"layout", "weight_layout", "wide"} & op.properties.keys()
    return not packed and all(isinstance(type_, HALF) for type_ in types)


class WidenProductsPass(ModulePass):
    """Needs: graph. Keeps: graph.

    Leaves kernels for GPUs, which multiply half floats, and targets without vectors, such as C99,
    whose weights take half the room so. Order: before fold-constants, which widens the weights.
    """

    name = "widen-products"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = target_of(op)
        if target.gpu is None and target.vector_bytes >= VECTOR_BYTES:
            rewrite(op, WidenProducts())
