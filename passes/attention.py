"""What is an attention: the ops of softmax(q @ k + mask) @ v, and how its rows are cut."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects.builtin import f32
from xdsl.ir import Block, Operation, SSAValue

from nn_opt.dialects import graph
from nn_opt.dialects.graph import Fusion
from nn_opt.ir.target import Gpu, Target
from nn_opt.ir.types import element_type, shape_of
from nn_opt.passes.constants import is_float, splat_of
from nn_opt.passes.fusion_costs import is_static_tensor

POINTWISE = (Fusion.ELEMENTWISE, Fusion.BROADCAST)
FEWEST = 8  # keys, and elements of a head: less than half a vector takes other schedules
QUERIES = 4  # rows that share what is read of the keys; fewer are products of vectors
ROWS = 8  # of scores that are computed together
LANES = 32  # threads of a GPU that share a row of scores ...
MOST_SCORES = 32  # ... and how many of those each keeps
LONGEST_ROW = 1024  # keys: some rows of scores and of weights, on the stack of a thread


@dataclass(frozen=True)
class Weights:
    """The softmax over rows that alone makes the left factor of a product, and what follows it.

    safe: weights of rows without any key, where softmax gives NaN, are 0.
    """

    softmax: graph.SoftmaxOp
    ops: tuple[Operation, ...]
    safe: bool


def weights_of(product: graph.MatmulOp) -> Weights | None:
    """Return what makes the left factor of a product, if that is a softmax of rows."""
    value, ops = product.a, list[Operation]()
    if isinstance(value.owner, graph.CastOp) and value.has_one_use():
        ops.append(value.owner)
        value = value.owner.x
    guard = _guarded(value)
    if guard is not None:
        value, more = guard
        ops += more
    softmax = value.owner
    if not isinstance(softmax, graph.SoftmaxOp) or len(set(value.uses)) != 1 + (guard is not None):
        return None
    rank = len(shape_of(value))
    along_rows = softmax.axis.value.data % rank == rank - 1
    return Weights(softmax, (*ops, softmax), guard is not None) if along_rows else None


def _guarded(value: SSAValue) -> tuple[SSAValue, list[Operation]] | None:
    """Return x and the ops of where(isnan(x), 0, x), read once."""
    where = value.owner
    if not isinstance(where, graph.WhereOp) or not value.has_one_use():
        return None
    condition, zero, x = where.operands
    test = condition.owner
    if not isinstance(test, graph.IsNaNOp) or test.x is not x or not condition.has_one_use():
        return None
    return (x, [where, test]) if splat_of(zero) == 0 else None


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


def fits_block(keys: int, gpu: Gpu) -> bool:
    """Return whether shared memory holds the scores of some rows, and as many weights.

    Where threads can take equal parts of a row, each keeps its scores itself.
    """
    arrays = 1 if keys % LANES == 0 and keys <= LANES * MOST_SCORES else 2
    return arrays * 4 * ROWS * keys <= gpu.shared_bytes * 3 // 4  # sums need some, too


def block_length(keys: int, target: Target) -> int:
    """Return how many keys to take at a time: all, if the scores of some rows stay in L1.

    A GPU's block takes all.
    """
    fitting = target.l1_bytes // (2 * 4 * ROWS)
    if target.gpu is not None:
        return keys
    if keys <= fitting:
        return keys
    step = 2 * target.lanes
    lengths = [n for n in range(step, fitting + 1, step) if keys % n == 0]
    return max(lengths, default=keys)
