"""lower-blocks: blocks dissolve; their axes are written into accesses, conditions, indices."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import AffineMapAttr, IndexType, IntegerAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap
from xdsl.passes import ModulePass

from nn_opt.dialects import loop
from nn_opt.ir.affine import Range, compact, flatten, is_sum, range_of, simplify
from nn_opt.ir.locations import located
from nn_opt.ir.types import element_type, shape_of

UNKNOWN: Range = (-(1 << 62), 1 << 62)  # of an index that only the run decides
MAPS: dict[type[Operation], str] = {  # where an op keeps an affine map over its `indices`
    loop.LoadOp: "map",
    loop.StoreOp: "map",
    loop.ViewOp: "offset",
    loop.ApplyOp: "map",
}


@dataclass(frozen=True)
class LowerBlocksPass(ModulePass):
    """Needs: loop. Leaves: loop without blocks, without loops of one trip or none, and without
    tests (`where`, `or`, init) that ranges decide. Order: after the schedules are applied.
    """

    name = "lower-blocks"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.walk():
            if isinstance(function, FuncOp) and function.body.blocks:
                for block in function.body.blocks:
                    Lowering().lower(block)


@dataclass
class Lowering:
    """Rewrites one function; every index value has a number, its dimension in expressions.

    changed: loops to lower (True) and those around them (False); None if all is to be lowered.
    """

    values: list[SSAValue] = field(default_factory=list[SSAValue])
    ranges: list[Range] = field(default_factory=list[Range])
    meanings: dict[SSAValue, AffineExpr] = field(default_factory=dict[SSAValue, AffineExpr])
    facts: list[AffineExpr] = field(default_factory=list[AffineExpr])
    changed: Mapping[Operation, bool] | None = None

    def lower(self, block: Block) -> None:
        """Lower each op of a block in place."""
        for op in list(block.ops):
            if self.changed is not None and op not in self.changed:
                continue
            rule = RULES.get(type(op))
            if rule is None:
                self.rebind(op)
            else:
                rule(self, op)

    def lower_for(self, nest: loop.ForOp) -> None:
        """for %i = 0 to 1 { body }  ->  body;  for %i = 0 to 0 { body }  ->  nothing"""
        self.define(nest.index, (0, nest.trips - 1))
        if nest.trips:
            changed = self.changed
            self.changed = None if changed is None or changed.get(nest) else changed
            self.lower(nest.body.block)
            self.changed = changed
        if nest.trips == 1 and not stays(nest):
            replace_with(nest, nest.body.block)
        elif not nest.trips or nest.body.block.is_empty:
            erase(nest)
        else:
            hoist_conditions(nest)

    def lower_if(self, guard: loop.IfOp) -> None:
        """if (conditions) { body }  ->  the same with the conditions that ranges leave open"""
        open_ = self.open_conditions(guard.conditions.data, guard.indices)
        if open_ is None:
            erase(guard)
            return
        with self.assuming(open_):
            self.lower(guard.body.block)
        self.guard(guard, open_, guard.body.block)

    def lower_block(self, block: loop.BlockOp) -> None:
        """block (%f = 2 * %i) { body } init { start }  ->  if (...) { start } body"""
        open_ = self.open_conditions(block.conditions.data, block.indices)
        if open_ is None:
            erase(block)
            return
        body = block.body.block
        with self.assuming(open_):
            bound = [self.resolve(e, block.indices) for e in block.bindings.data.results]
            start = None if block.init is None else self.start(block, block.init.block, bound)
            self.bind(body, bound)
            self.lower(body)
        if start is not None:
            first = body.first_op
            body.insert_ops_before(start, first) if first else body.add_ops(start)
        self.guard(block, open_, body)

    def start(
        self, block: loop.BlockOp, init: Block, bound: Sequence[AffineExpr]
    ) -> list[Operation]:
        """Return the ops of a lowered init, under an `if` unless it runs every time."""
        firsts = [e for e in self.first_instance(block, bound) if not self.proves(e)]
        self.bind(init, bound)
        with self.assuming(firsts):
            self.lower(init)
        ops = list(init.ops)
        for op in ops:
            op.detach()
        with located(block):
            return [make_if(firsts, self.values, ops)] if firsts else ops

    def first_instance(self, block: loop.BlockOp, bound: Sequence[AffineExpr]) -> list[AffineExpr]:
        """Return what is >= 0 together where all reduced axes are 0; of fused loops, one sum."""
        reduced = [k for k, kind in enumerate(block.axis_kinds) if kind is not loop.Kind.PAR]
        exprs = [bound[k] for k in reduced]
        if all(is_sum(expr) for expr in exprs):
            return [expr * -1 for expr in exprs]
        sizes = [block.axis_sizes[k] for k in reduced]
        return [flatten(exprs, sizes, self.ranges) * -1]

    def guard(self, op: Operation, conditions: Sequence[AffineExpr], body: Block) -> None:
        """Put the body in the place of `op`, under an `if` where conditions are open."""
        if not body.is_empty and conditions:
            ops = list(body.ops)
            for inner in ops:
                inner.detach()
            guard = make_if(conditions, self.values, ops)
            guard.location = op.location
            body.add_op(guard)
        replace_with(op, body)

    def define(self, value: SSAValue, range_: Range) -> AffineExpr:
        """Give an index value its dimension; return it."""
        self.meanings[value] = AffineExpr.dimension(len(self.values))
        self.values.append(value)
        self.ranges.append(range_)
        return self.meanings[value]

    def bind(self, block: Block, bound: Sequence[AffineExpr]) -> None:
        """Let the block's arguments mean expressions."""
        self.meanings.update(zip(block.args, bound, strict=True))

    def resolve(self, expr: AffineExpr, values: Sequence[SSAValue]) -> AffineExpr:
        """Return an expression over local values as a simplified one over all dimensions."""
        meanings = [
            self.meanings[value] if value in self.meanings else self.define(value, UNKNOWN)
            for value in values
        ]
        return simplify(expr.replace_dims_and_symbols(meanings, ()), self.ranges)

    def proves(self, expr: AffineExpr) -> bool:
        """Return whether expr >= 0 follows from the ranges and from one of the conditions met."""
        if range_of(expr, self.ranges)[0] >= 0:
            return True
        return any(range_of(expr + fact * -1, self.ranges)[0] >= 0 for fact in self.facts)

    def open_conditions(
        self, map: AffineMap, values: Sequence[SSAValue]
    ) -> list[AffineExpr] | None:
        """Return the conditions that may hold or not; None if one never holds."""
        exprs = [self.resolve(expr, values) for expr in map.results]
        if any(range_of(expr, self.ranges)[1] < 0 for expr in exprs):
            return None
        return [expr for expr in exprs if not self.proves(expr)]

    @contextmanager
    def assuming(self, conditions: Sequence[AffineExpr]) -> Generator[None]:
        """While active, the conditions are facts."""
        count = len(self.facts)
        self.facts.extend(conditions)
        yield
        del self.facts[count:]

    def rebind(self, op: Operation) -> None:
        """Write an op's indices in loop variables; a load that stays inside loses its `or`."""
        name = MAPS.get(type(op))
        if name is None:
            self.replace_operands(op)
            return
        map = op.properties[name]
        assert isinstance(map, AffineMapAttr)
        fixed = len(op.operands) - map.data.num_dims
        indices = tuple(op.operands)[fixed:]
        exprs = [self.resolve(expr, indices) for expr in map.data.results]
        if isinstance(op, loop.LoadOp) and op.default is not None and self.inside(op, exprs):
            del op.properties["default"]
        values, local = compact(exprs, self.values)
        if tuple(local) != map.data.results or tuple(values) != indices:
            op.properties[name] = AffineMapAttr(AffineMap(len(values), 0, tuple(local)))
            op.operands = [*op.operands[:fixed], *values]

    def inside(self, load: loop.LoadOp, exprs: Sequence[AffineExpr]) -> bool:
        """Return whether every index of a scalar load is within the buffer."""
        sizes = shape_of(load.memref)
        return load.accessed == element_type(load.memref) and all(
            self.proves(expr) and self.proves(expr * -1 + (size - 1))
            for expr, size in zip(exprs, sizes, strict=True)
        )

    def replace_operands(self, op: Operation) -> None:
        """Let an op that is no access read an axis as a value made before it."""
        for position, operand in enumerate(op.operands):
            meaning = self.meanings.get(operand)
            if meaning is None:
                continue
            meaning = simplify(meaning, self.ranges)
            if meaning != self.meanings.get(operand) or operand not in self.values:
                op.operands[position] = self.materialize(meaning, op)

    def materialize(self, expr: AffineExpr, before: Operation) -> SSAValue:
        """Return a value that equals the expression."""
        if isinstance(expr, AffineDimExpr):
            return self.values[expr.position]
        if isinstance(expr, AffineConstantExpr):
            new: Operation = arith.ConstantOp(IntegerAttr(expr.value, IndexType()))
        else:
            values, exprs = compact([expr], self.values)
            new = loop.ApplyOp(exprs[0], values)
        new.location = before.location
        block = before.parent
        assert block is not None
        block.insert_op_before(new, before)
        return new.results[0]


RULES: dict[type[Operation], Callable[[Lowering, Any], None]] = {
    loop.ForOp: Lowering.lower_for,
    loop.IfOp: Lowering.lower_if,
    loop.BlockOp: Lowering.lower_block,
}


def stays(nest: loop.ForOp) -> bool:
    """Return whether a loop is more than its body: a block of a grid, or a step of a tree."""
    return nest.how.is_block or loop.JOIN in nest.attributes


def erase(op: Operation) -> None:
    """Remove an op that defines nothing."""
    op.detach()
    op.drop_all_references()


def replace_with(op: Operation, body: Block) -> None:
    """Put the ops of a block in the place of the op."""
    block = op.parent
    assert block is not None
    for inner in list(body.ops):
        inner.detach()
        block.insert_op_before(inner, op)
    erase(op)


def make_if(
    exprs: Sequence[AffineExpr], values: Sequence[SSAValue], ops: Sequence[Operation]
) -> loop.IfOp:
    """Return a loop.if around ops, over those of the values that its conditions use."""
    used, conditions = compact(exprs, values)
    map = AffineMap(len(used), 0, tuple(conditions))
    return loop.IfOp(map, used, Region(Block(ops)))


def hoist_conditions(nest: loop.ForOp) -> None:
    """for %i { if (a(%i), b) { body } }  ->  if (b) { for %i { if (a(%i)) { body } } }"""
    guard = nest.body.block.first_op
    if not isinstance(guard, loop.IfOp) or guard is not nest.body.block.last_op:
        return
    values, conditions = list(guard.indices), guard.conditions.data.results
    own = values.index(nest.index) if nest.index in values else -1
    free = [expr for expr in conditions if own not in expr.used_dims()]
    bound = [expr for expr in conditions if own in expr.used_dims()]
    if not free:
        return
    if bound:
        ops = list(guard.body.block.ops)
        for op in ops:
            op.detach()
        inner = make_if(bound, values, ops)
        inner.location = guard.location
        nest.body.block.insert_op_before(inner, guard)
        erase(guard)
    else:
        replace_with(guard, guard.body.block)
    block = nest.parent
    assert block is not None
    outer = make_if(free, values, ())
    outer.location = guard.location
    block.insert_op_before(outer, nest)
    nest.detach()
    outer.body.block.add_op(nest)
