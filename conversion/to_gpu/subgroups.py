"""Parts that threads join in a tree in shared memory: subgroups join them in registers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import Float32Type, StringAttr, i32
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineExpr, AffineMap

from nn_opt.dialects import gpu, loop
from nn_opt.ir.locations import located
from nn_opt.ir.types import element_type, memref_type, shape_of

Kind = loop.ForKind
KINDS: dict[type[Operation], str] = {
    arith.AddfOp: "add",
    arith.AddiOp: "add",
    arith.MulfOp: "mul",
    arith.MuliOp: "mul",
    arith.MaximumfOp: "maximumf",
    arith.MinimumfOp: "minimumf",
    arith.MaxSIOp: "maxsi",
    arith.MinSIOp: "minsi",
    arith.AndIOp: "and",
    arith.OrIOp: "or",
}
PASSED = (Float32Type(), i32)  # what lanes pass to each other in any language


def join_in_subgroups(body: Block, subgroup: int, sizes: Mapping[Kind, int]) -> None:
    """Let subgroups of so many threads do what trees are marked for, where whole ones do it.

    sizes: how many threads each dimension of a block has.
    """
    for fill in list(body.walk()):
        if isinstance(fill, loop.ForOp) and fill.attributes.get(loop.JOIN) == StringAttr("fill"):
            tree = Tree.of(fill)
            if tree is not None and tree.fits(subgroup, sizes):
                with located(fill):
                    tree.join(subgroup)


@dataclass
class Tree:
    """What fills a tree, the loops that join its parts, and the loads of what is left."""

    fill: loop.ForOp
    part: loop.LoadOp
    store: loop.StoreOp
    joins: Sequence[loop.ForOp]
    totals: Sequence[loop.LoadOp]
    kind: str

    @classmethod
    def of(cls, fill: loop.ForOp) -> Tree | None:
        """Return the tree that a loop fills; None if it is not just filled, joined and read."""
        ops = list(fill.body.block.ops)
        if len(ops) != 2 or not isinstance(part := ops[0], loop.LoadOp):
            return None
        if not isinstance(store := ops[1], loop.StoreOp) or store.value is not part.result:
            return None
        joins = list(_joins_after(fill))
        inside = {op for nest in joins for op in nest.walk()}
        others = [use.operation for use in store.memref.uses]
        others = [op for op in others if op is not store and op not in inside]
        totals = [op for op in others if isinstance(op, loop.LoadOp) and _reads_first(op)]
        kind = _kind(joins)
        if len(totals) < len(others) or kind is None:
            return None
        return cls(fill, part, store, joins, totals, kind)

    def fits(self, subgroup: int, sizes: Mapping[Kind, int]) -> bool:
        """Return whether whole subgroups come here, each with threads of one tree only."""
        count, outer = self.fill.trips, self.fill.parent_op()
        while isinstance(outer, loop.ForOp):
            if outer.how.is_thread and outer.trips != sizes[outer.how]:
                return False
            outer = outer.parent_op()
        threads = math.prod(size for kind, size in sizes.items() if kind.is_thread)
        whole = threads % subgroup == 0 and self.fill.trips == sizes[Kind.THREAD_X]
        aligned = count % subgroup == 0 or subgroup % count == 0
        return (
            outer is None
            and self.fill.how is Kind.THREAD_X
            and whole
            and aligned
            and element_type(self.store.memref) in PASSED
        )

    def join(self, subgroup: int) -> None:
        """tree[%t] = %p; joins  ->  the parts of a subgroup joined; of several, through the tree"""
        block, old = self.fill.parent, self.store.memref.owner
        assert block is not None
        assert isinstance(old, loop.AllocOp)
        element = element_type(old.result)
        joined = loop.AllocOp("joined", memref_type([1], element, "register"))
        block.insert_op_before(joined, self.fill)
        groups = self.fill.trips // subgroup
        width = min(self.fill.trips, subgroup)
        own = self.reduced(self.part, width, self.fill.body.block)
        if groups > 1:
            self.pass_on(own, subgroup, groups)
            own = self.take(groups)
        own_block = own.owner.parent if isinstance(own.owner, Operation) else None
        assert own_block is not None
        own_block.add_op(loop.StoreOp(own, joined.result, [], [AffineExpr.constant(0)]))
        for op in [*self.joins, *([self.store] if groups <= 1 else [])]:
            op.detach()
            op.drop_all_references()
        for total in self.totals:
            new = loop.LoadOp(joined.result, [], [AffineExpr.constant(0)])
            _replace(total, new)
        old.detach()
        old.erase()

    def reduced(self, part: loop.LoadOp, width: int, block: Block) -> SSAValue:
        """Add the reduction of a value over so many lanes behind it."""
        op = gpu.SubgroupReduceOp(self.kind, part.result, size=width)
        block.insert_op_after(op, part)
        return op.result

    def pass_on(self, own: SSAValue, subgroup: int, groups: int) -> None:
        """Let the first thread of each subgroup put its part into a tree of so many."""
        old = self.store.memref
        assert isinstance(old.owner, loop.AllocOp)
        shape = [*shape_of(old)[:-1], groups]
        tree = loop.AllocOp(old.owner.buffer.data, memref_type(shape, element_type(old), "shared"))
        home = old.owner.parent
        assert home is not None
        home.insert_op_before(tree, old.owner)
        self.store.detach()
        place = self.place(self.fill.index, AffineExpr.dimension(0) // subgroup)
        store = loop.StoreOp(own, tree.result, *place)
        first = AffineMap(1, 0, (AffineExpr.dimension(0) % subgroup * -1,))
        guard = loop.IfOp(first, [self.fill.index], Region(Block([store])))
        self.fill.body.block.add_op(guard)
        self.store.drop_all_references()
        self.store = store

    def place(self, thread: SSAValue, last: AffineExpr) -> tuple[list[SSAValue], list[AffineExpr]]:
        """Return values and indices of this thread's tree; `last` is over the thread alone."""
        exprs = list(self.store.map.data.results)[:-1]
        values = [*self.store.indices, thread]
        dims: list[AffineExpr] = [AffineExpr.dimension(len(values) - 1)]
        return values, [*exprs, last.replace_dims_and_symbols(dims, ())]

    def take(self, groups: int) -> SSAValue:
        """Return what all subgroups have together, in a loop of its own after the first."""
        nest = loop.ForOp(self.fill.trips, kind=Kind.THREAD_X, name_hint="tx")
        block, inner = self.fill.parent, nest.body.block
        assert block is not None
        block.insert_op_after(nest, self.fill)
        tree = self.store.memref
        if groups & (groups - 1) == 0:
            place = self.place(nest.index, AffineExpr.dimension(0) % groups)
            part = loop.LoadOp(tree, *place)
            inner.add_op(part)
            return self.reduced(part, groups, inner)
        total: SSAValue | None = None
        for group in range(groups):
            part = loop.LoadOp(tree, *self.place(nest.index, AffineExpr.constant(group)))
            inner.add_op(part)
            total = part.result if total is None else self.combined(total, part.result, inner)
        assert total is not None
        return total

    def combined(self, one: SSAValue, two: SSAValue, block: Block) -> SSAValue:
        """Add the combination of two values."""
        is_float = isinstance(one.type, Float32Type)
        kinds = [op for op, word in KINDS.items() if word == self.kind]
        op = kinds[0] if is_float or len(kinds) == 1 else kinds[1]
        new = op.create(operands=[one, two], result_types=[one.type])
        block.add_op(new)
        return new.results[0]


def _joins_after(fill: loop.ForOp) -> Iterator[loop.ForOp]:
    """Yield the loops right behind a loop that join what it fills."""
    following = fill.next_op
    while isinstance(following, loop.ForOp):
        if following.attributes.get(loop.JOIN) != StringAttr("join"):
            return
        yield following
        following = following.next_op


def _reads_first(load: loop.LoadOp) -> bool:
    """Return whether a load is of the first part of a tree."""
    last = load.map.data.results[-1]
    return isinstance(last, AffineConstantExpr) and last.value == 0


def _kind(joins: Sequence[loop.ForOp]) -> str | None:
    """Return how parts are combined."""
    stores = [op for nest in joins for op in nest.walk() if isinstance(op, loop.StoreOp)]
    combine = stores[0].value.owner if stores else None
    return KINDS.get(type(combine)) if isinstance(combine, Operation) else None


def _replace(old: loop.LoadOp, new: loop.LoadOp) -> None:
    block = old.parent
    assert block is not None
    new.location = old.location
    block.insert_op_before(new, old)
    old.result.replace_all_uses_with(new.result)
    old.detach()
    old.erase()
