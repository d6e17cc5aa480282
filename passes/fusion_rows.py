"""Kernels over the same rows become one: a reduction of each row and what reads it with the row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from xdsl.ir import Operation

from nn_opt.dialects import graph
from nn_opt.ir.remarks import remark
from nn_opt.ir.types import shape_of
from nn_opt.passes.fusion_costs import is_static_tensor
from nn_opt.passes.fusion_groups import POINTWISE, Group, Grouping, fusion_kind

LONGEST_ROW = 4096  # elements: some rows of temporaries stay in the first-level cache


def merge_rows(grouping: Grouping, kernels: Sequence[Group], pass_name: str) -> list[Group]:
    """Return the kernels after each reduction of rows, and what it reduces, joined its reader.

    mean(x); sqrt(mean((x - m)^2)); (x - m) / s, three kernels, become one that reads x once.
    """
    left = Kernels(kernels)
    for consumer in reversed(kernels):
        while consumer.output in left.made and (found := _producer(grouping, left, consumer)):
            left.merge(found, consumer, grouping)
            remark(found.ops[-1], pass_name, "joins the kernel that reads its rows")
    return list(left.made.values())


class Kernels:
    """The kernels that are left, by the value that each makes, and how many hold an op."""

    def __init__(self, kernels: Sequence[Group]) -> None:
        self.made = {kernel.output: kernel for kernel in kernels}
        self.holders = Counter(op for kernel in kernels for op in kernel.ops)

    def merge(self, producer: Group, consumer: Group, grouping: Grouping) -> None:
        """Make the ops of a kernel part of another one."""
        ops = {*producer.ops, *consumer.ops}
        self.holders.subtract([*producer.ops, *consumer.ops])
        self.holders.update(ops)
        del self.made[producer.output]
        consumer.ops = sorted(ops, key=grouping.position.__getitem__)
        consumer.anchor = consumer.anchor or producer.anchor


def _producer(grouping: Grouping, kernels: Kernels, consumer: Group) -> Group | None:
    """Return a kernel over the rows of `consumer` that only it reads, if there is one.

    The consumer keeps its place: what both read comes before the producer or is made by it.
    """
    members = set(consumer.ops)
    for value in consumer.inputs():
        producer = kernels.made.get(value)
        if producer is None or not grouping.fits(producer, consumer):
            continue
        readers = grouping.each_reader(value)
        private = all(r in members and kernels.holders[r] == 1 for r in readers)
        if private and _share_rows(producer, consumer):
            return producer
    return None


def _share_rows(producer: Group, consumer: Group) -> bool:
    """Return whether one reduces rows that the other has, or makes rows that the other reduces."""
    reduces = _is_row_reduction(producer.anchor)
    feeds = producer.pointwise and _is_row_reduction(consumer.anchor)
    if not is_static_tensor(producer.output) or not (reduces or feeds):
        return False
    rows = shape_of(producer.output)[:-1]
    ops = [*producer.ops, *consumer.ops]
    return bool(rows) and all(_stays_in_rows(op, rows) for op in ops)


def _is_row_reduction(op: Operation | None) -> bool:
    """Return whether an op reduces the last axis, and keeps it as one element."""
    if not isinstance(op, graph.ReduceOp) or op.keepdims is None:
        return False
    rank = len(shape_of(op.x))
    return {axis % rank for axis in op.axes.get_values()} == {rank - 1}


def _stays_in_rows(op: Operation, rows: Sequence[int]) -> bool:
    """Return whether each row of an op's result follows from the same row of its operands."""
    pointwise = fusion_kind(op) in POINTWISE and not isinstance(op, graph.ExpandOp)
    if len(op.results) != 1 or not (pointwise or _is_row_reduction(op)):
        return False
    whole = op.operands[0] if isinstance(op, graph.ReduceOp) else op.results[0]
    if not is_static_tensor(whole):
        return False
    shape = shape_of(whole)
    return list(shape[:-1]) == list(rows) and shape[-1] <= LONGEST_ROW
