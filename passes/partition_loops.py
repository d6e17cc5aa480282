"""partition-loops: the iterations in which a test always holds become a loop without it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import AffineMapAttr, IndexType, IntegerAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap
from xdsl.passes import ModulePass

from nn_opt.dialects import loop
from nn_opt.ir.affine import Linear, Range, linear, range_of
from nn_opt.passes.lower_blocks import MAPS, Lowering
from nn_opt.passes.partition_borders import border_counts


@dataclass(frozen=True)
class PartitionLoopsPass(ModulePass):
    """Needs: loop without blocks. Keeps: loop. Order: after lower-blocks, before vectorize-loops.

    for %i = 0 to 11 { if (149 - 14 * %i - %j >= 0) ... }  ->  ten iterations without the test and
    a last one in which the test bounds %j. So a tail costs no test, and no schedule needs one.

    for %i = 0 to 56 { load %x[%i + %r - 1] or 0.0 }, %r unrolled  ->  the first iteration, 54 that
    stay inside, and the last one. So a padded image costs no test save at its borders.
    """

    name = "partition-loops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.walk():
            if isinstance(function, FuncOp):
                partition(function)


def partition(function: FuncOp) -> None:
    """Split loops, outermost first, until no test is left that a split would decide."""
    while parts := split_once(function):
        changed = dict.fromkeys(parts, True)
        for nest in parts:
            around = nest.parent_op()
            while around is not None:
                changed.setdefault(around, False)
                around = around.parent_op()
        for block in function.body.blocks:
            Lowering(changed=changed).lower(block)


def split_once(function: FuncOp) -> list[Operation]:
    """Split each outermost loop that a test asks for; return the loops that they became."""
    found: list[Operation] = []
    for block in function.body.blocks:
        pending = list(block.ops)
        while pending:
            op = pending.pop()
            if type(op) is loop.ForOp and (count := whole_iterations(op)) and not is_bound(op):
                found += [op, split(op, count)]
            else:
                pending += [
                    inner for region in op.regions for b in region.blocks for inner in b.ops
                ]
    return found


def is_bound(nest: loop.ForOp) -> bool:
    """Return whether a loop's iterations are blocks or threads of a GPU, or hold threads.

    A second nest would be a second kernel, and another copy of all that threads do together.
    """
    return nest.how.is_bound or any(
        isinstance(op, loop.ForOp) and op.how.is_thread for op in nest.body.walk()
    )


def whole_iterations(nest: loop.ForOp) -> int:
    """Return how many first iterations a test treats unlike later ones; 0 for no split."""
    counts: list[int] = []
    for op in dict.fromkeys(use.operation for use in nest.index.uses):
        if isinstance(op, loop.IfOp):
            counts += _counts(op, nest)
        elif isinstance(op, loop.LoadOp) and op.default is not None:
            counts += border_counts(op, nest)
    fitting = [count for count in counts if 0 < count < nest.trips]
    return min(fitting, default=0)


def _counts(guard: loop.IfOp, nest: loop.ForOp) -> Iterator[int]:
    """Yield, for each condition that falls with the loop, how long it surely and maybe holds."""
    position = list(guard.indices).index(nest.index)
    ranges = [_range(index) for index in guard.indices]
    for expr in guard.conditions.data.results:
        form = linear(expr)
        fall = -form.coefficient(position)
        others = {a: f for a, f in form.terms.items() if a != AffineDimExpr(position)}
        if fall > 0 and not any(position in atom.used_dims() for atom in others):
            lowest, highest = range_of(Linear(others, form.constant).expr(), ranges)
            yield lowest // fall + 1
            yield highest // fall + 1


def _range(index: object) -> Range:
    owner = getattr(index, "block", None)
    nest = owner.parent_op() if owner is not None else None
    return (0, nest.trips - 1) if isinstance(nest, loop.ForOp) else (-(1 << 62), 1 << 62)


def split(nest: loop.ForOp, count: int) -> loop.ForOp:
    """Run the first `count` iterations in one loop, the others in the copy that is returned."""
    block = nest.parent
    assert block is not None
    rest = nest.clone()
    rest.extent = IntegerAttr(nest.trips - count, IndexType())
    nest.extent = IntegerAttr(count, IndexType())
    block.insert_op_after(rest, nest)
    shift(rest, count)
    return rest


def shift(nest: loop.ForOp, offset: int) -> None:
    """Let every use of a loop's variable see it `offset` higher."""
    applied: loop.ApplyOp | None = None
    for use in list(nest.index.uses):
        op = use.operation
        if type(op) in MAPS or isinstance(op, loop.IfOp):
            shift_map(op, use.index, offset)
            continue
        if applied is None:
            applied = loop.ApplyOp(AffineExpr.dimension(0) + offset, [nest.index])
            applied.location = nest.location
            first = nest.body.block.first_op
            assert first is not None
            nest.body.block.insert_op_before(applied, first)
        op.operands[use.index] = applied.result


def shift_map(op: Operation, operand: int, offset: int) -> None:
    """Replace, in an op's affine map, the dimension of one operand by itself plus `offset`."""
    name = MAPS.get(type(op), "conditions")
    attr = op.properties[name]
    assert isinstance(attr, AffineMapAttr)
    map = attr.data
    position = operand - (len(op.operands) - map.num_dims)
    dims = [AffineExpr.dimension(k) for k in range(map.num_dims)]
    dims[position] = dims[position] + offset
    exprs = tuple(expr.replace_dims_and_symbols(dims, ()) for expr in map.results)
    op.properties[name] = AffineMapAttr(AffineMap(map.num_dims, 0, exprs))
