"""Which operations share a kernel: groups of a block's ops, each with one result.

A group has at most one anchor (convolution, matmul, reduction, ...). Every value of a group save
the last is read inside the group only, so a group can always stand where its last op stood: all
that it reads comes earlier, and no cycle between groups can arise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import accumulate
from math import prod

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, OpResult, SSAValue

from nn_opt.dialects import graph
from nn_opt.dialects.graph import Fusion
from nn_opt.dialects.graph.contraction import is_byte
from nn_opt.ir.resources import INLINE_ELEMENTS
from nn_opt.ir.target import target_around
from nn_opt.ir.types import element_type, shape_of
from nn_opt.passes.constants import is_float
from nn_opt.passes.fusion_costs import elements, is_cheap, is_static_tensor, tensor_bytes

ALIGNMENT = 256  # bytes: where a buffer may begin in another one, in WebGPU
POINTWISE = (Fusion.ELEMENTWISE, Fusion.BROADCAST)
ANCHORS = (Fusion.OUT_FUSABLE, Fusion.REDUCTION)
# A reduction reads each element of its operand once, so the operand may be computed on the way.
READS_ONCE = (graph.ReduceOp, graph.ArgReduceOp)
# These read one element of one operand per result, so a producer may be computed on the way.
MOVES = (graph.TransposeOp, graph.SliceOp, graph.ExpandOp)


def fusion_kind(op: Operation) -> Fusion | None:
    """Return the fusion kind of an op that belongs into a kernel; None for all others."""
    if isinstance(op, graph.ConstantOp | graph.ScanOp | graph.FusedOp) or is_join(op):
        return None
    kind = getattr(op, "FUSION", None)
    return kind if isinstance(kind, Fusion) and kind is not Fusion.VIEW else None


def is_join(op: Operation) -> bool:
    """Return whether a concatenation needs no kernel: those of its parts write into the whole.

    The parts then lie one behind the other, and each belongs to this concatenation alone.
    """
    if not isinstance(op, graph.ConcatOp) or not is_static_tensor(op.results[0]):
        return False
    shape = shape_of(op.results[0])
    if target_around(op).gpu is not None and not _starts_aligned(op):
        return False
    if prod(shape[: op.axis.value.data % len(shape)]) != 1 or not is_float(op.results[0]):
        return False
    in_function = isinstance(op.parent_op(), FuncOp)
    return in_function and all(_written_for(part, op) for part in op.operands)


def _starts_aligned(concat: Operation) -> bool:
    """Return whether kernels of a GPU can be given each part of a whole as a buffer."""
    starts = accumulate(tensor_bytes(part) for part in concat.operands[:-1])
    return all(start % ALIGNMENT == 0 for start in starts)


def _written_for(part: SSAValue, concat: Operation) -> bool:
    """Return whether a kernel makes a part, and no other concatenation reads it."""
    owner, wholes = part.owner, (use.operation for use in part.uses)
    if not isinstance(owner, Operation) or fusion_kind(owner) is None:
        return False
    return [op for op in wholes if isinstance(op, graph.ConcatOp)] == [concat]


@dataclass(eq=False)
class Group:
    """Ops of one kernel in the order of their block; the last one's result is the kernel's."""

    ops: list[Operation]
    anchor: Operation | None = None
    moves: bool = False  # holds an injective or an opaque op

    @property
    def output(self) -> SSAValue:
        return self.ops[-1].results[0]

    @property
    def pointwise(self) -> bool:
        return self.anchor is None and not self.moves

    def inputs(self) -> list[SSAValue]:
        """Return the values read but not made here, in the order of their first use."""
        made = {result for op in self.ops for result in op.results}
        read = dict.fromkeys(operand for op in self.ops for operand in op.operands)
        return [value for value in read if value not in made]


@dataclass
class Grouping:
    """The groups of one block, made by letting each op take up the groups that only it reads."""

    block: Block
    max_depth: int
    max_inputs: int | None = None  # buffers that a kernel may read
    apart: bool = True  # heavy producers of bytes stay apart from what widens these
    position: dict[Operation, int] = field(init=False)
    group_of: dict[Operation, Group] = field(default_factory=dict[Operation, Group])

    def __post_init__(self) -> None:
        self.position = {op: index for index, op in enumerate(self.block.ops)}

    def groups(self) -> list[Group]:
        """Return the groups in the order of their last ops."""
        for op in self.block.ops:
            if (kind := fusion_kind(op)) is not None:
                self.place(op, kind)
        self.join_bytes()
        unique = dict.fromkeys(self.group_of.values())
        return sorted(unique, key=lambda group: self.position[group.ops[-1]])

    def place(self, op: Operation, kind: Fusion) -> None:
        """Start a group at `op` and let it take up producers: anchored ones first."""
        anchor = op if kind in ANCHORS else None
        pointwise = kind in POINTWISE and not isinstance(op, graph.ExpandOp)
        group = Group([op], anchor, moves=not pointwise and anchor is None)
        self.group_of[op] = group
        if len(op.results) != 1 or not is_static_tensor(op.results[0]):
            return
        self.take_up(group, moves=False)
        if group.anchor is None:
            self.take_up(group, moves=True)

    def take_up(self, group: Group, *, moves: bool) -> None:
        """Merge producers into `group`, latest first: so all readers of one are seen before it."""
        waiting: list[int] = []
        by_position: dict[int, Group] = {}
        self._enqueue(group.inputs(), waiting, by_position)
        while waiting:
            producer = by_position[heappop(waiting)]
            if (producer.moves and not moves) or not self.may_merge(producer, group):
                continue
            self.merge(producer, group)
            self._enqueue(producer.inputs(), waiting, by_position)

    def join_bytes(self) -> None:
        """Merge what was left apart so that bytes lie between: one group may still take up one.

        add(widened(f(x)), widened(g(y))) has f with it, and reads bytes from g.
        """
        self.apart = False
        for group in dict.fromkeys(self.group_of[op] for op in self.position if widens(op)):
            self.take_up(group, moves=False)

    def _enqueue(
        self, values: Iterable[SSAValue], waiting: list[int], by_position: dict[int, Group]
    ) -> None:
        for value in values:
            producer = self.group_of.get(value.owner) if isinstance(value, OpResult) else None
            if producer is None or value is not producer.output:
                continue
            index = -self.position[producer.ops[-1]]
            if index not in by_position:
                by_position[index] = producer
                heappush(waiting, index)

    def readers(self, value: SSAValue) -> list[Operation]:
        """Return the ops of this block that read a value, themselves or in a region of theirs."""
        return list(dict.fromkeys(self.each_reader(value)))

    def each_reader(self, value: SSAValue) -> Iterator[Operation]:
        """Yield these ops, one that reads the value twice as often."""
        for use in value.uses:
            reader = self.block.find_ancestor_op_in_block(use.operation)
            assert reader is not None, "a value is read only where its block is"
            yield reader

    def may_merge(self, producer: Group, group: Group) -> bool:
        """Return whether `producer` may be computed inside `group`, and by it alone."""
        if not self.fits(producer, group):
            return False
        if fusion_kind(producer.ops[-1]) is Fusion.OPAQUE:
            return False
        if not is_static_tensor(producer.output) or not anchors_agree(producer, group):
            return False
        members = set(group.ops)
        if not all(reader in members for reader in self.each_reader(producer.output)):
            return False
        readers = self.readers(producer.output)
        if self.apart and producer.anchor is not None and any(map(widens, readers)):
            return False
        return can_feed(producer, readers)

    def fits(self, producer: Group, group: Group) -> bool:
        """Return whether two groups together are no larger than a kernel may be."""
        if len(producer.ops) + len(group.ops) > self.max_depth:
            return False
        if self.max_inputs is None:
            return True
        ops = sorted({*producer.ops, *group.ops}, key=self.position.__getitem__)
        read = [value for value in Group(ops).inputs() if not is_cloned(value)]
        return len(read) <= self.max_inputs

    def merge(self, producer: Group, group: Group) -> None:
        """Make the ops of `producer` part of `group`."""
        group.ops = sorted({*producer.ops, *group.ops}, key=self.position.__getitem__)
        group.anchor = group.anchor or producer.anchor
        group.moves |= producer.moves
        for op in producer.ops:
            self.group_of[op] = group


def is_cloned(value: SSAValue) -> bool:
    """Return whether a value is a constant so small that each kernel has its own."""
    return isinstance(value.owner, graph.ConstantOp) and elements(value) <= INLINE_ELEMENTS


def widens(op: Operation) -> bool:
    """Return whether an op makes longer numbers of bytes."""
    if not isinstance(op, graph.CastOp) or not is_byte(element_type(op.x)):
        return False
    return not is_byte(element_type(op.result))


def anchors_agree(producer: Group, group: Group) -> bool:
    """Return whether the two have one anchor at most, with nothing but pointwise ops around it."""
    if producer.anchor is None:
        return group.anchor is None or producer.pointwise
    return group.pointwise and shape_of(producer.output) == shape_of(group.output)


def can_feed(producer: Group, readers: Sequence[Operation]) -> bool:
    """Return whether each of `readers` may compute the producer's result on the way."""
    return all(_can_feed(producer, reader) for reader in readers)


def _can_feed(producer: Group, reader: Operation) -> bool:
    kind = fusion_kind(reader)
    if kind in POINTWISE and not isinstance(reader, graph.ExpandOp):
        return shape_of(producer.output) == shape_of(reader.results[0])
    if isinstance(reader, READS_ONCE):
        return producer.pointwise
    if isinstance(reader, graph.LayoutTransformOp):
        return producer.pointwise
    if isinstance(reader, MOVES):
        repeats = elements(reader.results[0]) > elements(producer.output)
        cheap = not repeats or all(is_cheap(op) for op in producer.ops)
        return producer.anchor is None and cheap
    return False
