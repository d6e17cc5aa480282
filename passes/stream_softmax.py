"""stream-softmax: the softmax between two products, without waiting for the whole of a row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from nn_opt.dialects import graph
from nn_opt.ir.remarks import remark
from nn_opt.ir.rewriting import carry_location
from nn_opt.ir.target import Target, target_of
from nn_opt.ir.types import element_type, shape_of
from nn_opt.passes.attention import (
    Weights,
    block_length,
    moved_by,
    scale_of,
    scores_behind,
    weights_of,
)
from nn_opt.passes.split_axes import split_axis, split_broadcast, transposed, with_operands

LOWEST = np.float32(np.finfo(np.float32).min)


@dataclass(frozen=True)
class StreamSoftmaxPass(ModulePass):
    """softmax(s) @ v  ->  e = exp(s - max(s));  (e @ v) * (1 / sum(e)),  in a graph.fused

    The product of a row has fewer elements than the row, and does not wait for the sum. Long rows
    go block by block, each with a maximum of its own: with m = max(m_j) of all blocks j,

        y = sum_j(exp(m_j - m) * (e_j @ v_j)) * (1 / sum_j(exp(m_j - m) * sum(e_j)))

    Where a model makes weights that are no numbers 0, rows without any key give 0 (of finite v).

    block: keys a block; 0 takes those whose scores stay in the first-level cache, or whole rows.
    Needs: graph, kernels as regions. Keeps: graph. Order: after fuse-ops, before outline-kernels.
    """

    name = "stream-softmax"

    block: int = 0

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = target_of(op)
        for product in list(op.walk()):
            if isinstance(product, graph.MatmulOp) and is_streamed(product):
                self.stream(product, target)

    def stream(self, product: graph.MatmulOp, target: Target) -> None:
        """Rewrite one product, and say how."""
        weights = weights_of(product)
        assert weights is not None
        softmax = weights.softmax
        keys = shape_of(softmax.x)[-1]
        length = self.block or block_length(keys, target)
        chain = scores_behind(softmax.x)
        if chain is not None:
            assert isinstance(chain[-1], graph.MatmulOp)
            scale_late(chain[-1])
            chain = scores_behind(softmax.x)
        rounded = any(isinstance(op, graph.CastOp) for op in weights.ops)
        if chain is None or length >= keys or keys % length or rounded:
            divide_late(product, weights)
            remark(product, self.name, "divides by the sum of weights at the end")
            return
        Blocks(product, weights, chain, keys // length).rewrite()
        remark(product, self.name, f"takes {length} keys at a time")


def is_streamed(product: graph.MatmulOp) -> bool:
    """Return whether a product is in a kernel with the softmax that makes its left factor."""
    weights = weights_of(product) if isinstance(product.parent_op(), graph.FusedOp) else None
    if weights is None or len(shape_of(product.b)) < 2:
        return False
    return element_type(weights.softmax.x) == f32 and element_type(product.result) == f32


def scale_late(product: graph.MatmulOp) -> None:
    """(a * s) @ (b / t) * u  ->  (a @ b) * (s / t * u)  for numbers s, t, u: one factor a score."""
    before = [op for operand in product.operands for op in moved_by(operand)]
    scaling = [op for op in before if op.results[0].has_one_use()] + list(scaled_after(product))
    factor = 1.0
    for op in scaling:
        if (scale := scale_of(op)) is not None:
            factor *= scale
            Rewriter.replace_op(op, (), [op.operands[0]])
    if factor == 1.0:
        return
    number = graph.ConstantOp(np.array(factor, np.float32))
    scaled = graph.MulOp(product.result, number.result)
    carry_location(product.location, [number, scaled])
    Builder(InsertPoint.after(product)).insert((number, scaled))
    product.result.replace_uses_with_if(scaled.result, lambda use: use.operation is not scaled)


def scaled_after(op: Operation) -> Iterator[Operation]:
    """Yield the ops that alone read what an op makes, and scale it, in order."""
    while op.results[0].has_one_use():
        op = next(iter(op.results[0].uses)).operation
        if scale_of(op) is None:
            return
        yield op


def divide_late(product: graph.MatmulOp, weights: Weights) -> None:
    """softmax(s) @ v  ->  (exp(s - max(s)) @ v) * (1 / sum(exp(s - max(s))))"""
    softmax = weights.softmax
    before = Builder(InsertPoint.before(softmax))
    top = before.insert(graph.ReduceOp(softmax.x, "max", [-1], keepdims=True)).result
    distance = before.insert(graph.SubOp(softmax.x, top)).result
    exp = before.insert(graph.ExpOp(distance, beside_one=True)).result
    total = before.insert(graph.ReduceOp(exp, "sum", [-1], keepdims=True)).result
    carry_location(softmax.location, [value.op for value in (top, distance, exp, total)])
    for op in weights.ops:
        if not isinstance(op, graph.CastOp):
            op.results[0].replace_all_uses_with(exp)
            Rewriter.erase_op(op)
    after = Builder(InsertPoint.after(product))
    scaled = divided(after, product.result, total, safe=weights.safe)
    new: list[Operation] = []
    op = scaled.op
    while op is not product:
        assert op is not None
        new.append(op)
        op = op.prev_op
    carry_location(product.location, new)
    product.result.replace_uses_with_if(scaled, lambda use: use.operation not in new)


def divided(new: Builder, sums: SSAValue, total: SSAValue, *, safe: bool) -> OpResult:
    """Return sums / total; with `safe`, 0 where the total is 0 or no number."""
    share = new.insert(graph.ReciprocalOp(total)).result
    result = new.insert(graph.MulOp(sums, share)).result
    if safe:
        zero = new.insert(graph.ConstantOp(np.zeros((), np.float32))).result
        some = new.insert(graph.GreaterOp(total, zero)).result
        result = new.insert(graph.WhereOp(some, result, zero)).result
    return result


@dataclass(frozen=True)
class Blocks:
    """Rewrites softmax(chain(q @ k)) @ v with the keys in `parts` blocks of equal length.

    chain: the pointwise ops from the softmax back to the first product, which is the last of them.
    """

    product: graph.MatmulOp
    weights: Weights
    chain: list[Operation]
    parts: int

    def rewrite(self) -> None:
        """Put the new ops in the place of the old ones."""
        first = self.product.prev_op
        new = Builder(InsertPoint.before(self.product))
        scores = self.scores(new)
        top = new.insert(graph.ReduceOp(scores, "max", [-1], keepdims=True)).result
        lowest = new.insert(graph.ConstantOp(np.full(1, LOWEST)))
        top = new.insert(graph.MaximumOp(top, lowest.result)).result  # of a block all masked
        weights = new.insert(
            graph.ExpOp(new.insert(graph.SubOp(scores, top)).result, beside_one=True)
        ).result
        total = new.insert(graph.ReduceOp(weights, "sum", [-1], keepdims=True)).result
        values = split_axis(new, self.product.b, len(shape_of(self.product.b)) - 2, self.parts)
        wide = self.product.wide is not None
        sums = new.insert(graph.MatmulOp(weights, values, wide=wide)).result
        result = self.joined(new, top, total, sums)
        self.replace(result, first)

    def scores(self, new: Builder) -> SSAValue:
        """Return the scores [..., parts, queries, keys / parts]."""
        *pointwise, first = self.chain
        assert isinstance(first, graph.MatmulOp)
        rank = len(shape_of(first.result))
        queries = split_axis(new, first.a, len(shape_of(first.a)) - 2, 1)
        keys = self.split_keys(new, first.b)
        value = new.insert(graph.MatmulOp(queries, keys, wide=first.wide is not None)).result
        inner: SSAValue = first.result
        for op in reversed(pointwise):
            operands = [
                value if operand is inner else self.beside_scores(new, operand, rank)
                for operand in op.operands
            ]
            value = with_operands(new, op, operands, shape_of(value))
            inner = op.results[0]
        return value

    def split_keys(self, new: Builder, value: SSAValue) -> SSAValue:
        """Return [..., a, keys] as [..., parts, a, keys / parts]."""
        rank = len(shape_of(value))
        split = split_axis(new, value, rank - 1, self.parts)
        return transposed(new, split, [*range(rank - 2), rank - 1, rank - 2, rank])

    def beside_scores(self, new: Builder, value: SSAValue, rank: int) -> SSAValue:
        """Return an operand of pointwise work on scores, to broadcast to those in blocks."""
        shape = shape_of(value)
        if len(shape) < 2 and shape != (self.parts_times_length(),):
            return value
        if len(shape) < 2:
            value = new.insert(graph.ReshapeOp(value, (1, *shape))).result
        if shape[-1:] == (1,):
            return split_broadcast(new, value, -2, 1)
        return self.split_keys(new, value)

    def parts_times_length(self) -> int:
        return shape_of(self.weights.softmax.x)[-1]

    def joined(self, new: Builder, top: SSAValue, total: SSAValue, sums: SSAValue) -> SSAValue:
        """Return the products of all blocks as one, over the sum of all weights."""
        axis = len(shape_of(sums)) - 3
        highest = new.insert(graph.ReduceOp(top, "max", [axis], keepdims=True)).result
        distance = new.insert(graph.SubOp(top, highest)).result
        scale = new.insert(graph.ExpOp(distance, beside_one=True)).result
        total = new.insert(graph.MulOp(total, scale)).result
        total = new.insert(graph.ReduceOp(total, "sum", [axis], keepdims=False)).result
        sums = new.insert(graph.MulOp(sums, scale)).result
        sums = new.insert(graph.ReduceOp(sums, "sum", [axis], keepdims=False)).result
        return divided(new, sums, total, safe=self.weights.safe)

    def replace(self, result: SSAValue, last_old: Operation | None) -> None:
        """Erase the old ops; those between the old and the product are new."""
        region = self.product.parent
        assert region is not None
        op = self.product.prev_op
        new: list[Operation] = []
        while op is not None and op is not last_old:
            new.append(op)
            op = op.prev_op
        carry_location(self.product.location, new)
        Rewriter.replace_op(self.product, (), [result])
        for old in (*self.weights.ops, *self.chain):
            Rewriter.erase_op(old)
        erase_unread(region)


def erase_unread(block: Block) -> None:
    """Erase the ops of a block whose results nothing reads."""
    for op in reversed(list(block.ops)):
        if op.results and not any(result.uses for result in op.results):
            Rewriter.erase_op(op)
