"""lower-thread-reductions: threads that reduce together sum parts, joined in shared memory."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile

from xdsl.context import Context
from xdsl.dialects.builtin import DenseArrayBase, IndexType, IntegerAttr, ModuleOp, StringAttr, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.passes import ModulePass

from nn_opt.dialects import loop
from nn_opt.ir.legality import require_one_block
from nn_opt.ir.locations import located
from nn_opt.ir.statistics import Statistic
from nn_opt.ir.target import target_of
from nn_opt.ir.types import element_type, memory_space, memref_type
from nn_opt.schedule.nest import (
    accessors,
    blocks_in,
    find_block,
    kinds_bound,
    loops_around,
    refuse,
    set_bindings,
)
from nn_opt.schedule.rfactor import rfactor
from nn_opt.schedule.storage import set_scope

LOWERED = Statistic("lower-thread-reductions", "reductions", "reductions across threads")
RADIX = 8  # parts that a thread joins before all wait for each other


@dataclass(frozen=True)
class LowerThreadReductionsPass(ModulePass):
    """for %t thread_x { for %i { s += f(%i, %t) } }
    ->  for %t thread_x { p = 0; for %i { p += f(%i, %t) }; tree[%t] = p }; s = sum of the tree

    A thread adds to a part of its own, in registers; the parts are joined in shared memory, by
    eights. A sum in shared memory that each thread can add up for itself goes to registers. For a
    target with subgroups, the tree ends in one part: the loops that fill and join it are marked
    `nn.join`, so that convert-loop-to-gpu can let subgroups do it.

    Needs: loop, with blocks. Keeps: loop. Order: before lower-blocks, for a target with a GPU.
    """

    name = "lower-thread-reductions"
    statistics = (LOWERED,)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        require_one_block(op, self.name)
        gpu = target_of(op).gpu
        rest = 1 if gpu is not None and gpu.subgroup > 1 else RADIX
        for function in op.walk():
            if isinstance(function, FuncOp) and function.body.blocks:
                for stage in [block.stage.data for block in blocks_in(function)]:
                    lower_stage(function, stage, rest)


def lower_stage(function: FuncOp, stage: str, rest: int) -> None:
    """Lower a stage, if threads reduce in it; `rest`: parts that a thread adds up last."""
    block = find_block(function, stage)
    across = [nest for nest in loops_around(block) if nest.how.is_thread and nest.trips > 1]
    across = [nest for nest in across if kinds_bound(nest, block) - {loop.Kind.PAR}]
    if not across:
        return
    if len(across) > 1:
        problem = f"stage {stage!r} is reduced along several dimensions of threads"
        refuse(across[1], problem, hint="fuse the loops, and bind the one that they become")
    thread = across[0]
    with located(block):
        parts = rfactor(function, stage, thread)
        total = find_block(function, stage)
        Reduction(function, find_block(function, parts), total, thread, rest).lower()
        set_scope(function, parts, "register")
        share_total(find_block(function, stage))
    LOWERED.add()


@dataclass
class Reduction:
    """A stage that `rfactor` split: `parts` sums one part a thread, `total` joins them."""

    function: FuncOp
    parts: loop.BlockOp
    total: loop.BlockOp
    thread: loop.ForOp
    rest: int

    def lower(self) -> None:
        """Let each thread start by itself, and join the parts in shared memory."""
        (last,) = (nest for nest in loops_around(self.total)[-1:])
        first = self.first_loop()
        place = first.parent
        assert place is not None
        place.insert_op_before(self.start(), first)
        tree = self.tree()
        (count,) = self.total.axis_sizes[-1:]
        place.insert_op_before(marked(self.fill(tree, count), "fill"), last)
        for step in steps(count, self.rest):
            place.insert_op_before(marked(self.join(tree, *step), "join"), last)
            count = step[2]
        self.add_up(tree, last, count)

    def first_loop(self) -> loop.ForOp:
        """Return the outermost loop of the sum of parts."""
        total = loops_around(self.total)[:-1]
        return loops_around(self.parts)[len(total)]

    def start(self) -> loop.ForOp:
        """for %t { p[%t] = identity }"""
        init = self.parts.detach_region(self.parts.regions[1])
        rank = len(self.total.axis_sizes)
        body = init.detach_block(0)
        for argument in reversed(body.args[rank:]):
            body.erase_arg(argument)
        return self.stage("start", self.thread.trips, body)

    def fill(self, tree: SSAValue, count: int) -> loop.ForOp:
        """for %t { tree[%t] = p[%t] }"""
        body = self.body()
        buffer = next(op for op in self.parts.body.walk() if isinstance(op, loop.StoreOp)).memref
        part = loop.LoadOp(buffer, body.args)
        body.add_ops([part, loop.StoreOp(part.result, tree, body.args)])
        return self.stage("fill", count, body)

    def join(self, tree: SSAValue, active: int, count: int, stride: int) -> loop.ForOp:
        """for %t < active { tree[%t] = tree[%t] + tree[%t + stride] + .. }"""
        body = self.body()
        held = loop.LoadOp(tree, body.args)
        body.add_op(held)
        for k in range(1, count):
            exprs: list[AffineExpr] = [AffineExpr.dimension(d) for d in range(len(body.args))]
            exprs[-1] = exprs[-1] + k * stride
            other = loop.LoadOp(tree, body.args, exprs)
            held = self.combine(held.results[0], other.result)
            body.add_ops([other, held])
        body.add_op(loop.StoreOp(held.results[0], tree, body.args))
        return self.stage("join", active, body)

    def combine(self, held: SSAValue, other: SSAValue) -> Operation:
        """Return the op that joins two parts."""
        store = next(op for op in self.total.body.walk() if isinstance(op, loop.StoreOp))
        like = store.value.owner
        assert isinstance(like, Operation)
        return type(like).create(
            operands=[held, other], result_types=[held.type], properties=like.properties
        )

    def body(self) -> Block:
        """Return an empty body with the axes of the total: the independent ones, and the part."""
        return Block(arg_types=[IndexType()] * len(self.total.axis_sizes))

    def stage(self, name: str, trips: int, body: Block) -> loop.ForOp:
        """Return a loop over threads around a block that is done for each of them."""
        total = self.total
        nest = loop.ForOp(trips, kind=self.thread.how, name_hint=self.thread.index.name_hint)
        part = loops_around(total)[-1].index
        indices = [*(value for value in total.indices if value is not part), nest.index]
        block = loop.BlockOp(
            f"{total.stage.data}.{name}",
            total.indices,
            total.bindings.data,
            [*total.axis_sizes[:-1], trips],
            [loop.Kind.PAR] * len(total.axis_sizes),
            Region(body),
            conditions=total.conditions.data,
        )
        nest.body.block.add_op(block)
        dims = [
            AffineExpr.dimension(indices.index(nest.index if value is part else value))
            for value in total.indices
        ]
        moved = [
            expr.replace_dims_and_symbols(dims, ())
            for expr in (*total.bindings.data.results, *total.conditions.data.results)
        ]
        axes = len(total.axis_sizes)
        block.operands = [nest.index] * len(total.indices)
        set_bindings(block, indices, moved[:axes], moved[axes:])
        for op in nest.walk():
            op.location = total.location
        return nest

    def tree(self) -> SSAValue:
        """Allocate the parts of all threads, outside of the thread loops."""
        total = self.total
        store = next(op for op in total.body.walk() if isinstance(op, loop.StoreOp))
        shape = [*total.axis_sizes[:-1], self.thread.trips]
        type_ = memref_type(shape, element_type(store.memref), "shared")
        alloc = loop.AllocOp(f"{total.stage.data}.tree", type_)
        alloc.location = total.location
        outside = list(takewhile(lambda nest: not nest.how.is_thread, loops_around(total)[:-1]))
        home = outside[-1].body.block if outside else self.function.body.block
        assert home.first_op is not None
        home.insert_op_before(alloc, home.first_op)
        return alloc.result

    def add_up(self, tree: SSAValue, last: loop.ForOp, count: int) -> None:
        """Let the total read what is left of the tree."""
        total = self.total
        last.extent = IntegerAttr(count, IndexType())
        last.how = loop.ForKind.UNROLL if count <= RADIX else loop.ForKind.SERIAL
        total.sizes = DenseArrayBase.from_list(i64, [*total.axis_sizes[:-1], count])
        part = next(op for op in total.body.walk() if isinstance(op, loop.LoadOp))
        part.operands = [tree, *part.indices]


def marked(nest: loop.ForOp, word: str) -> loop.ForOp:
    """Say what a loop does to a tree."""
    nest.attributes[loop.JOIN] = StringAttr(word)
    return nest


def steps(count: int, rest: int = RADIX) -> list[tuple[int, int, int]]:
    """Return (threads, parts each, their distance) for each step until few parts are left.

    What is more than a power of two comes first.
    """
    found: list[tuple[int, int, int]] = []
    power = 1 << (count.bit_length() - 1)
    if power < count and count > rest:
        found.append((count - power, 2, power))
        count = power
    while count > rest:
        active = max(count // RADIX, 1)
        found.append((active, count // active, active))
        count = active
    return found


def share_total(total: loop.BlockOp) -> None:
    """Keep a sum in registers that each thread can add up for itself, instead of in shared memory.

    So it is where no thread loop is around the total, and none indexes the sum.
    """
    store = next(op for op in total.body.walk() if isinstance(op, loop.StoreOp))
    alloc = store.memref.owner
    if not isinstance(alloc, loop.AllocOp) or memory_space(alloc.result) != "shared":
        return
    if any(nest.how.is_thread for nest in loops_around(total)):
        return
    users = accessors(alloc.result)
    others = [user for user in users if user is not total]
    if any(_is_written(alloc, user) or _indexes_by_thread(alloc, user) for user in others):
        return
    type_ = memref_type(alloc.result.type.get_shape(), element_type(alloc.result), "register")
    new = loop.AllocOp(alloc.buffer.data, type_)
    new.location = alloc.location
    new.result.name_hint = alloc.result.name_hint
    block = alloc.parent
    assert block is not None
    block.insert_op_before(new, alloc)
    alloc.result.replace_all_uses_with(new.result)
    alloc.detach()
    alloc.erase()


def _is_written(alloc: loop.AllocOp, user: loop.BlockOp) -> bool:
    stores = [op for op in user.walk() if isinstance(op, loop.StoreOp)]
    return any(op.memref is alloc.result for op in stores)


def _indexes_by_thread(alloc: loop.AllocOp, user: loop.BlockOp) -> bool:
    """Return whether a stage reads several elements of a buffer, or one that a thread chooses."""
    threads = {nest.index for nest in loops_around(user) if nest.how.is_thread}
    for load in [op for op in user.walk() if isinstance(op, loop.LoadOp)]:
        if load.memref is not alloc.result:
            continue
        axes: list[SSAValue] = [] if load.parent is None else [*load.parent.args]
        for index in load.indices:
            if index not in axes:
                return True
            binding = user.bindings.data.results[axes.index(index)]
            if any(user.indices[dim] in threads for dim in binding.used_dims()):
                return True
    return False
