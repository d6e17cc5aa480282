"""Attention as one kernel: softmax(q @ k + mask) @ v, with the moves of what it reads and makes.

The matrix of scores, of queries x keys for each head, then never exists as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Block, Operation

from nn_opt.dialects import graph
from nn_opt.ir.remarks import remark
from nn_opt.ir.target import Target
from nn_opt.ir.types import shape_of
from nn_opt.passes.attention import (
    LONGEST_ROW,
    block_length,
    fits_block,
    is_large,
    moved_by,
    scores_behind,
    weights_of,
)
from nn_opt.passes.fusion_groups import Group


def attention_groups(
    block: Block, target: Target, most_inputs: int | None, pass_name: str
) -> list[Group]:
    """Return a group for each attention of a block, in order."""
    position = {op: index for index, op in enumerate(block.ops)}
    groups: list[Group] = []
    for op in block.ops:
        ops = attention(op, target) if isinstance(op, graph.MatmulOp) else None
        if ops is not None:
            group = Group(sorted(ops, key=position.__getitem__), anchor=op)
            if most_inputs is not None and len(group.inputs()) > most_inputs:
                continue
            groups.append(group)
            remark(op, pass_name, "one kernel with the softmax of its scores")
    return groups


def attention(weighted: graph.MatmulOp, target: Target) -> set[Operation] | None:
    """Return the ops of the attention that ends in a product with values; None if it is none."""
    weights = weights_of(weighted)
    chain = None if weights is None else scores_behind(weights.softmax.x)
    if weights is None or chain is None or not is_large(weighted):
        return None
    keys = shape_of(weights.softmax.x)[-1]
    if block_length(keys, target) > LONGEST_ROW:
        return None
    if target.gpu is not None and not fits_block(keys, target.gpu):
        return None
    scores = chain[-1]
    assert isinstance(scores, graph.MatmulOp)
    ops: set[Operation] = {weighted, *weights.ops, *chain}
    for operand in (scores.a, scores.b, weighted.b):
        ops.update(moved_by(operand))
    return ops | set(moves_after(weighted))


def moves_after(op: graph.MatmulOp) -> Iterator[Operation]:
    """Yield the transposition that alone reads a product, if it keeps rows in one piece."""
    use = next(iter(op.result.uses), None)
    reader = use.operation if use is not None and op.result.has_one_use() else None
    if isinstance(reader, graph.TransposeOp):
        rank = len(shape_of(op.result))
        if list(reader.perm.get_values())[-1] == rank - 1:
            yield reader
