"""insert-barriers: threads wait where one needs what another has written, or is about to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from nn_opt.dialects import gpu, loop
from nn_opt.ir.statistics import Statistic
from nn_opt.passes.thread_conflicts import NEVER, Counter, Meeting, Relation
from nn_opt.passes.thread_races import Names, refuse_hazard, refuse_races, writes_the_same
from nn_opt.passes.thread_touches import Reader, Touch, is_uniform

BARRIERS = Statistic("insert-barriers", "barriers", "barriers inserted")


@dataclass(frozen=True)
class InsertBarriersPass(ModulePass):
    """store %v, %tile[%tx]; load %tile[%ty]  ->  store %v, %tile[%tx]; barrier; load %tile[%ty]

    Wherever one thread of a block reads what another one wrote, or writes what another one read or
    wrote, also an iteration earlier, a barrier comes between them: before the later access, or
    before the branch that it is in, since all threads must come to a barrier. That two accesses
    touch the same elements is found by counting through the threads and loops around them.

    Errors: no barrier can stand between two such accesses; two threads write different values to
    one element; a block reads or writes what another one writes, which nothing orders.

    Needs: gpu. Keeps: gpu; kernels are no longer `gpu.lockstep`. Order: after convert-loop-to-gpu.
    """

    name: ClassVar[str] = "insert-barriers"  # pyright: ignore[reportIncompatibleVariableOverride]
    statistics: ClassVar = (BARRIERS,)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.walk():
            if isinstance(kernel, gpu.FuncOp) and kernel.block is not None:
                insert_barriers(kernel)
                kernel.attributes.pop(gpu.LOCKSTEP, None)


def insert_barriers(kernel: gpu.FuncOp) -> None:
    """Insert the barriers of one kernel."""
    reader = Reader(kernel)
    touches = reader.touches()
    if not touches:
        return
    refuse_races(reader, touches)
    threads = reader.actors(gpu.ThreadIdOp)
    if threads:
        counter = Counter(reader.extents, threads)
        Placement(counter, touches, Names(kernel)).scan(kernel.body.block, [], uniform=True)


@dataclass(frozen=True)
class Pending:
    """An access since the last barrier, and how its iterations are related to the current ones."""

    touch: Touch
    relations: Mapping[SSAValue, Relation] = field(default_factory=dict[SSAValue, Relation])

    def related(self, index: SSAValue, relation: Relation) -> Pending:
        """Return the same access for another relation of a loop's iterations."""
        if self.relations.get(index) is not None:
            relation = Relation.ANY
        return replace(self, relations={**self.relations, index: relation})


@dataclass
class Placement:
    """Walks through a kernel in the order in which threads do, and remembers what they touched."""

    counter: Counter
    touches: Mapping[Operation, Sequence[Touch]]
    names: Names
    constant: dict[Touch, bool] = field(default_factory=dict[Touch, bool])  # one value an element

    def scan(
        self, block: Block, pending: list[Pending], *, uniform: bool
    ) -> tuple[list[Pending], bool]:
        """Insert barriers into a block; return what is pending after it, and if it surely waits.

        uniform: all threads of a block come here.
        """
        waits = False
        for op in list(block.ops):
            if isinstance(op, gpu.BarrierOp):
                pending, waits = [], True
            elif op.regions:
                pending, inner = self.scan_region(op, pending, uniform=uniform)
                waits = waits or inner
            elif op in self.touches:
                if self.separate(op, self.touches[op], pending, uniform=uniform):
                    pending, waits = [], True
                pending = [*pending, *map(Pending, self.touches[op])]
        return pending, waits

    def scan_region(
        self, op: Operation, before: list[Pending], *, uniform: bool
    ) -> tuple[list[Pending], bool]:
        """Insert barriers into a loop or branch, and before it if that needs one."""
        inside = uniform and not (
            isinstance(op, loop.IfOp) and not all(map(is_uniform, op.indices))
        )
        body = op.regions[0].block
        after, waits = self.scan(body, [], uniform=inside)
        if isinstance(op, loop.ForOp) and op.trips > 1:
            after, waits = self.scan_again(op, after, waits, uniform=inside)
        heads = list(self.heads(body))
        separated = self.separate(op, heads, before, uniform=uniform)
        if isinstance(op, loop.ForOp):
            after = [item.related(op.index, Relation.ANY) for item in after]
            if waits:
                return after, True
        return [*([] if separated else before), *after], separated

    def scan_again(
        self, nest: loop.ForOp, after: list[Pending], waits: bool, *, uniform: bool
    ) -> tuple[list[Pending], bool]:
        """Insert what the next iteration of a loop needs after this one."""
        relation = Relation.NEXT if waits else Relation.ANY
        carried = [item.related(nest.index, relation) for item in after]
        body = nest.body.block
        count = _barriers(body)
        self.scan(body, carried, uniform=uniform)
        if _barriers(body) == count:
            return after, waits
        return self.scan(body, [], uniform=uniform)

    def heads(self, block: Block) -> Iterable[Touch]:
        """Yield what is touched in a block before a barrier that all threads come to."""
        for op in block.ops:
            if isinstance(op, gpu.BarrierOp):
                return
            yield from self.touches.get(op, ())
            for region in op.regions:
                yield from self.heads(region.block)
            if isinstance(op, loop.ForOp) and _surely_waits(op.body.block):
                return

    def separate(
        self,
        op: Operation,
        touches: Sequence[Touch],
        pending: Sequence[Pending],
        *,
        uniform: bool,
    ) -> bool:
        """Insert a barrier before an op if one of its accesses meets a pending one."""
        for touch in touches:
            for item in pending:
                meeting = self.meeting(item, touch)
                if not meeting:
                    continue
                if not uniform:
                    if item.touch is touch and meeting.element < 0:
                        continue  # a loop's own stores, which a schedule keeps apart
                    refuse_hazard(item.touch, touch, meeting, self.names)
                barrier = gpu.BarrierOp()
                barrier.location = op.location
                assert op.parent is not None
                op.parent.insert_op_before(barrier, op)
                BARRIERS.add()
                return True
        return False

    def meeting(self, item: Pending, touch: Touch) -> Meeting:
        """Return whether different threads touch one element by a pending access and a new one."""
        earlier = item.touch
        ordered = earlier.writes or touch.writes
        if not ordered or earlier.root is not touch.root or (earlier.atomic and touch.atomic):
            return NEVER
        around = earlier.indices & touch.indices
        relations = {index: item.relations.get(index, Relation.SAME) for index in around}
        blocks = {
            value: Relation.SAME
            for value in self.counter.variables(earlier, touch)
            if isinstance(value.owner, gpu.BlockIdOp)
        }
        meeting = self.counter.meet(earlier, touch, relations | blocks)
        return NEVER if meeting and earlier is touch and self.keeps(touch) else meeting

    def keeps(self, touch: Touch) -> bool:
        """Return whether it does not matter in which order a store of a loop's iterations come.

        What data decides the place of is independent, or no schedule had let threads do it.
        """
        if touch not in self.constant:
            known = touch.place is not None and isinstance(touch.op, loop.StoreOp)
            self.constant[touch] = not known or writes_the_same(self.counter, touch)
        return self.constant[touch]


def _barriers(block: Block) -> int:
    return sum(isinstance(op, gpu.BarrierOp) for op in block.walk())


def _surely_waits(block: Block) -> bool:
    """Return whether all threads wait in a block, whatever its branches do."""
    for op in block.ops:
        if isinstance(op, gpu.BarrierOp):
            return True
        if isinstance(op, loop.ForOp) and _surely_waits(op.body.block):
            return True
    return False
