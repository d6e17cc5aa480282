"""plan-memory: every temporary gets an offset in one arena."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, ModuleOp, i64
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from nn_opt.dialects import gpu, loop
from nn_opt.dialects.loop.buffers import byte_size
from nn_opt.ir.legality import require_one_block
from nn_opt.ir.remarks import remark
from nn_opt.ir.target import target_around
from nn_opt.ir.types import memory_space
from nn_opt.passes.plan_memory_callers import arena_as_argument, callees_first
from nn_opt.passes.plan_memory_check import check_plan
from nn_opt.passes.plan_memory_declared import TEMPORARIES, places_in_place, temporaries_of
from nn_opt.passes.plan_memory_in_place import Pair
from nn_opt.passes.plan_memory_lifetimes import Steps, lifetime, uses_of
from nn_opt.passes.plan_memory_offsets import (
    ALIGNMENT,
    ATTRIBUTE,
    Interval,
    Plan,
    Row,
    lower_bound,
    place,
)
from nn_opt.passes.plan_memory_scratch import (
    give_each_thread,
    is_in_parallel,
    provide,
    replace,
)

NAME = "plan-memory"
LAUNCHES = "nn.launches"  # on a module for a GPU: kernels that a run launches
GPU_ALIGNMENT = 256  # bytes: where buffers of WebGPU may begin, and segments that CUDA loads
ALIASES = "nn.aliases"  # on a kernel: arguments that may be the same buffer


@dataclass(frozen=True)
class PlanMemoryPass(ModulePass):
    """Needs: loop without blocks. Leaves: one loop.arena in @main, no global loop.alloc.

    Without large temporaries in it, a kernel keeps its signature; else they are further arguments,
    `num_scratch` of them. Functions other than @main that call kernels take their arena so.

    The body of a kernel may be elsewhere, if its declaration says what the plan needs:
    `nn.temporaries`, the buffers it must be given, and `nn.in_place`, the input and the result of
    each pair that may be one buffer. The plan's choice is in `nn.aliases`, also of such a kernel.

    Launches of kernels on a GPU read and write what they are given. Buffers begin at multiples of
    256 bytes there, and `nn.launches` says how many kernels a run launches.

    Order: after all that adds buffers, before convert-loop-to-llvm.
    """

    name = NAME

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        require_one_block(op, self.name)
        functions = {
            inner.sym_name.data: inner
            for inner in op.ops
            if isinstance(inner, func.FuncOp)
            and (inner.body.blocks or TEMPORARIES in inner.attributes)
        }
        moved: dict[str, list[loop.AllocOp]] = {}
        for function, calls in callees_first(functions).items():
            for call in calls:
                if temporaries := moved[call.callee.string_value()]:
                    provide(call, temporaries)
            name = function.sym_name.data
            if name == "main":
                plan_main(op, function, functions)
            elif calls:
                moved[name] = plan_caller(op, function, functions)
            else:
                moved[name] = temporaries_of(function)


Functions = dict[str, func.FuncOp]


def plan_main(module: ModuleOp, main: func.FuncOp, functions: Functions) -> None:
    """Give the buffers of @main their places; note the plan on the module."""
    plan = plan_function(main, functions)
    module.attributes["nn.arena_bytes"] = IntegerAttr(plan.size, i64)
    module.attributes["nn.arena_lower_bound"] = IntegerAttr(plan.lower_bound, i64)
    module.attributes[ATTRIBUTE] = plan.attribute()
    check_plan(module)
    report(main, plan)
    if gpu.CONTAINER in module.attributes:
        count_launches(module, main)


def count_launches(module: ModuleOp, main: func.FuncOp) -> None:
    """Note on the module how often a run launches a kernel."""
    launches = sum(times_run(op) for op in main.walk() if isinstance(op, gpu.LaunchFuncOp))
    module.attributes[LAUNCHES] = IntegerAttr(launches, i64)
    remark(main, NAME, f"{launches} launches of kernels")


def times_run(op: Operation) -> int:
    """Return how often the loops around an op have it run."""
    times, outer = 1, op.parent_op()
    while outer is not None:
        times *= outer.trips if isinstance(outer, loop.ForOp) else 1
        outer = outer.parent_op()
    return times


def plan_caller(
    module: ModuleOp, function: func.FuncOp, functions: Functions
) -> list[loop.AllocOp]:
    """Give the buffers of another function their places in an arena that is its last argument."""
    plan = plan_function(function, functions)
    check_plan(module, function.sym_name.data)
    report(function, plan)
    return arena_as_argument(function)


def report(function: func.FuncOp, plan: Plan) -> None:
    """Remark how large the arena of a function is."""
    total = sum(row.size for row in plan.rows)
    bytes_ = f"{plan.size} bytes for {len(plan.rows)} buffers of {total} in all"
    remark(function, NAME, f"{bytes_}; {plan.lower_bound} are in use at the busiest step")


def plan_function(main: func.FuncOp, kernels: Functions) -> Plan:
    """Give each buffer of a function its place; return the plan."""
    for alloc in [op for op in main.walk() if isinstance(op, loop.AllocOp)]:
        if memory_space(alloc.result) == "global" and is_in_parallel(alloc):
            give_each_thread(alloc)
    steps = Steps.of(main)
    allocs = [op for op in main.walk() if isinstance(op, loop.AllocOp)]
    buffers: list[Buffer] = []
    for alloc in allocs:
        span = lifetime(alloc.result, steps)
        if memory_space(alloc.result) != "global":
            continue
        if span is None:
            alloc.detach()
            alloc.erase()
        else:
            buffers.append(Buffer(alloc, *span))
    groups = share_in_place(main, kernels, buffers, steps)
    unit = ALIGNMENT if target_around(main).gpu is None else GPU_ALIGNMENT
    intervals = [group_interval(group, unit) for group in groups]
    offsets = place(intervals)
    placed = [
        (buffer, offset) for group, offset in zip(groups, offsets, strict=True) for buffer in group
    ]
    placed.sort(key=lambda item: (item[0].first, item[1]))
    rows = tuple(buffer.row(offset) for buffer, offset in placed)
    plan = Plan(rows, lower_bound(intervals), unit)
    if placed:
        write_views(main, placed, plan.size)
    return plan


@dataclass(eq=False)
class Buffer:
    """An alloc and the steps at which it is in use."""

    alloc: loop.AllocOp
    first: int
    last: int

    @property
    def size(self) -> int:
        return byte_size(self.alloc.result)

    def row(self, offset: int) -> Row:
        return Row(self.alloc.buffer.data, offset, self.size, self.first, self.last)


Group = list[Buffer]  # buffers at the same place, one after the other


def group_interval(group: Group, unit: int) -> Interval:
    """Return the place that a group takes, in whole units of bytes."""
    size = max(buffer.size for buffer in group)
    return Interval(
        group[0].alloc.buffer.data,
        -(-size // unit) * unit,
        min(buffer.first for buffer in group),
        max(buffer.last for buffer in group),
    )


def share_in_place(
    main: func.FuncOp, kernels: Functions, buffers: list[Buffer], steps: Steps
) -> list[Group]:
    """Let results take the place of inputs that die in the same call; return the groups."""
    by_value: dict[SSAValue, Buffer] = {buffer.alloc.result: buffer for buffer in buffers}
    groups = {buffer: [buffer] for buffer in buffers}
    known: dict[str, list[Pair]] = {}
    for call in [op for op in main.walk() if isinstance(op, func.CallOp)]:
        name = call.callee.string_value()
        if name not in kernels:
            continue
        if name not in known:
            known[name] = places_in_place(kernels[name])
        for source, result in known[name]:
            pair = dying_and_born(call, source, result, by_value, steps)
            if pair is None or not can_join(*pair, groups):
                continue
            joined = groups[pair[0]] + groups[pair[1]]
            groups.update((buffer, joined) for buffer in joined)
            names = [buffer.alloc.buffer.data for buffer in pair]
            remark(call, NAME, f"in place: {names[1]!r} overwrites {names[0]!r}, which dies here")
            mark_aliases(kernels[name], (source, result))
    unique = {id(group): group for group in groups.values()}
    return list(unique.values())


def can_join(old: Buffer, new: Buffer, groups: dict[Buffer, Group]) -> bool:
    """Return whether a place goes from one buffer to one other, and all before them are dead."""
    others = [buffer for buffer in groups[old] if buffer is not old]
    return groups[new] == [new] and all(buffer.last < new.first for buffer in others)


def dying_and_born(
    call: func.CallOp,
    source: int,
    result: int,
    buffers: dict[SSAValue, Buffer],
    steps: Steps,
) -> tuple[Buffer, Buffer] | None:
    """Return both buffers if the input is last used and the result first used in this call."""
    old, new = (buffers.get(call.arguments[position]) for position in (source, result))
    if old is None or new is None:
        return None
    now = steps.begin[call]
    if old.last != now or new.first != now or old.alloc.parent is not new.alloc.parent:
        return None
    once = all(sum(op is call for op in uses_of(b.alloc.result)) == 1 for b in (old, new))
    return (old, new) if once else None


def mark_aliases(kernel: func.FuncOp, pair: Pair) -> None:
    """Note on a kernel that two of its arguments may be the same buffer."""
    given = kernel.attributes.get(ALIASES)
    before = list(given.iter_values()) if isinstance(given, DenseArrayBase) else []
    positions = sorted({*(int(position) for position in before), *pair})
    kernel.attributes[ALIASES] = DenseArrayBase.from_list(i64, positions)


def write_views(main: func.FuncOp, placed: list[tuple[Buffer, int]], size: int) -> None:
    """loop.alloc  ->  loop.view of the arena"""
    arena = loop.ArenaOp(size)
    arena.result.name_hint = "arena"
    arena.location = main.location
    block = main.body.block
    if block.first_op is not None:
        block.insert_op_before(arena, block.first_op)
    for buffer, offset in placed:
        view = loop.ViewOp(arena.result, buffer.alloc.result.type, offset)
        view.location = buffer.alloc.location
        replace(buffer.alloc, view, view.result)
