"""What is an attention: the ops of softmax(q @ k + mask) @ v, and how its rows are cut."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import f32
from xdsl.ir import Block, Operation, SSAValue

from nn_opt.dialects import graph
from nn_opt.dialects.graph import Fusion
from nn_opt.ir.target import Target
from nn_opt.ir.types import element_type, shape_of
from nn_opt.passes.constants import is_float, splat_of
from nn_opt.passes.fusion_costs import is_static_tensor

POINTWISE = (Fusion.ELEMENTWISE, Fusion.BROADCAST)
FEWEST = 16  # keys, and elements of a head: less than a vector of them takes other schedules
QUERIES = 4  # rows that share what is read of the keys; fewer are products of vectors
ROWS = 8  # of scores that are computed together
LONGEST_ROW = 1024  # keys: some rows of scores and of weights, on the stack of a thread


def softmax_behind(product: graph.MatmulOp) -> graph.SoftmaxOp | None:
    """Return the softmax over rows that alone makes the left factor, rounded perhaps."""
    value = product.a
    if isinstance(value.owner, graph.CastOp) and value.has_one_use():
        value = value.owner.x
    softmax = value.owner
    if not isinstance(softmax, graph.SoftmaxOp) or not value.has_one_use():
        return None
    rank = len(shape_of(value))
    return softmax if softmax.axis.value.data % rank == rank - 1 else None


def scores_behind(value: SSAValue) -> list[Operation] | None:
    """Return the pointwise ops between a product and `value`, that product last; None if none.

    All that the ops make is read by the next one only.
    """
    op = value.owner
    if not isinstance(op, Operation) or not value.has_one_use() or not is_static_tensor(value):
        return None
    if isinstance(op, graph.MatmulOp):
        return [op] if is_large(op) else None
    pointwise = getattr(op, "FUSION", None) in POINTWISE and not isinstance(op, graph.ExpandOp)
    if not pointwise or element_type(value) != f32:
        return None
    for operand in op.operands:
        if operand.type == value.type and (rest := scores_behind(operand)) is not None:
            return [op, *rest]
    return None


def moved_by(value: SSAValue) -> Iterator[Operation]:
    """Yield the ops that only move the elements of `value`, or scale all alike, last first."""
    while isinstance(owner := value.owner, graph.TransposeOp | graph.SliceOp) or scale_of(owner):
        assert isinstance(owner, Operation)
        yield owner
        value = owner.operands[0]


def scale_of(op: Operation | Block) -> float | None:
    """Return the number by which an op multiplies its first operand; None if it is no such op."""
    if not isinstance(op, graph.MulOp | graph.DivOp) or op.lhs.type != op.result.type:
        return None
    number = splat_of(op.rhs)
    if number is None or not is_float(op.result) or not number:
        return None
    return float(number) if isinstance(op, graph.MulOp) else 1 / float(number)


def is_large(op: graph.MatmulOp) -> bool:
    """Return whether a product of two computed matrices fills vectors with each of its rows."""
    values = (op.a, op.b, op.result)
    if op.weight_layout is not None or not all(map(is_static_tensor, values)):
        return False
    if element_type(op.result) != f32 or any(len(shape_of(value)) < 3 for value in values):
        return False
    queries, columns = shape_of(op.result)[-2:]
    return queries >= QUERIES and columns >= FEWEST and shape_of(op.a)[-1] >= FEWEST


def block_length(keys: int, target: Target) -> int:
    """Return how many keys to take at a time: all, if the scores of some rows stay in L1."""
    fitting = target.l1_bytes // (2 * 4 * ROWS)

    if keys <= fitting:
        return keys
    step = 2 * target.lanes
    lengths = [n for n in range(step, fitting + 1, step) if keys % n == 0]
    return max(lengths, default=keys)
