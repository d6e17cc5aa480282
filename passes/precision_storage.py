"""Values rounded to bf16 where they are made, and kept so through what moves or compares them."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.builder import Builder
from xdsl.dialects.builtin import bf16, f32
from xdsl.ir import Block, Operation, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.rewriter import InsertPoint, Rewriter

from nn_opt.dialects import graph
from nn_opt.dialects.graph import Fusion
from nn_opt.ir.locations import place_of
from nn_opt.ir.types import element_type, shape_of, tensor_type

# These only move elements, so that rounding may come first; it has fewer numbers to do then, or
# as many.
MOVES = (
    graph.ReshapeOp,
    graph.TransposeOp,
    graph.SliceOp,
    graph.ExpandOp,
    graph.TileOp,
    graph.ConcatOp,
    graph.LayoutTransformOp,
)


@dataclass
class Storage:
    """The bf16 form of each value that is rounded."""

    rounded: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    casts: list[graph.CastOp] = field(default_factory=list[graph.CastOp])

    def round(self, value: SSAValue) -> SSAValue:
        """Return a value in bf16, rounded right where it is made."""
        owner = value.owner
        if isinstance(owner, graph.CastOp) and element_type(owner.x) == bf16:
            return owner.x
        if value not in self.rounded:
            cast = graph.CastOp(value, bf16)
            self.rounded[value] = cast.results[0]
            self.casts.append(cast)
            insert_after(value, cast)
            share(value, cast)
        return self.rounded[value]

    def sink(self) -> None:
        """round(move(x))  ->  move(round(x)),  and the same of a maximum, which keeps the order.

        Done where nothing else reads what is moved; `round(x)` may sink further.
        """
        while self.casts:
            cast = self.casts.pop()
            mover = cast.x.owner
            if isinstance(mover, Operation) and keeps_rounding(mover) and is_only_use(cast):
                if all(is_computed(operand) for operand in mover.operands):
                    self.move(mover, cast)

    def move(self, mover: Operation, cast: graph.CastOp) -> None:
        """Let an op move rounded numbers, and its readers read those."""
        narrow = type(mover).create(
            operands=[self.round(operand) for operand in mover.operands],
            result_types=[tensor_type(shape_of(mover.results[0]), bf16)],
            properties=dict(mover.properties),
            attributes=mover.attributes,
            location=mover.location,
        )
        Rewriter.insert_op(narrow, InsertPoint.after(mover))
        del self.rounded[cast.x]
        Rewriter.replace_op(cast, (), narrow.results)
        Rewriter.erase_op(mover)


def keeps_rounding(op: Operation) -> bool:
    """Return whether an op of f32 numbers gives the same after its operands are rounded."""
    if isinstance(op, graph.PoolOp):
        return op.kind.data == "max"
    return isinstance(op, MOVES)


def is_computed(value: SSAValue) -> bool:
    """Return whether a kernel makes a value, which can round it as well."""
    owner = value.owner
    if isinstance(owner, graph.ReshapeOp):
        return is_computed(owner.x)
    return getattr(owner, "FUSION", None) is not None and not isinstance(owner, graph.ConstantOp)


def is_only_use(cast: graph.CastOp) -> bool:
    """Return whether a value is read for rounding alone, in the block that makes it."""
    owner = cast.x.owner
    same_block = isinstance(owner, Operation) and owner.parent is cast.parent
    return same_block and all(use.operation is cast for use in cast.x.uses)


def insert_after(value: SSAValue, op: IRDLOperation) -> None:
    """Insert an op right after the one that makes `value`, or at the start of its block."""
    owner = value.owner
    op.location = place_of(value)
    if isinstance(owner, Block):
        Builder(InsertPoint.at_start(owner)).insert(op)
        return
    Builder(InsertPoint.after(owner)).insert(op)


def share(value: SSAValue, cast: graph.CastOp) -> None:
    """Let pointwise readers widen the rounded value, if nothing needs the value as it was.

    Convolutions and matmuls come later, each by itself, to the same rounded value.
    """
    readers = [use.operation for use in value.uses if use.operation is not cast]
    pointwise = [op for op in readers if is_pointwise(op)]
    others = [op for op in readers if op not in pointwise]
    if isinstance(value.owner, Block) or not all(multiplies(op) for op in others):
        return
    for reader in dict.fromkeys(pointwise):
        wide = graph.CastOp(cast.results[0], f32)
        wide.location = reader.location
        Builder(InsertPoint.before(reader)).insert(wide)
        for k, operand in enumerate(reader.operands):
            if operand is value:
                reader.operands[k] = wide.results[0]


def is_pointwise(op: Operation) -> bool:
    """Return whether an op can widen an operand on the way."""
    return getattr(op, "FUSION", None) in (Fusion.ELEMENTWISE, Fusion.BROADCAST)


def multiplies(op: Operation) -> bool:
    """Return whether an op may read the rounded value instead."""
    return isinstance(op, graph.ConvOp | graph.MatmulOp)
