"""simplify-scans: a step of a recurrence does nothing that can be done once, or for all steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import prod

import numpy as np
from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from nn_opt.dialects import graph
from nn_opt.ir.locations import located
from nn_opt.ir.statistics import Statistic
from nn_opt.ir.surgery import erase, replace_uses
from nn_opt.ir.types import element_type, numpy_dtype, shape_of
from nn_opt.passes.constants import constant_array

HOISTED = Statistic("simplify-scans", "ops-hoisted", "operations that every step repeated")
LIFTED = Statistic("simplify-scans", "ops-lifted", "operations done for all steps at once")
DROPPED = Statistic(
    "simplify-scans", "values-dropped", "states, slices and outputs that are unread"
)
UNROLLED = Statistic("simplify-scans", "scans-unrolled", "recurrences of one step, or of none")

# What repeats elements is better done on the way, in the kernel that reads them.
REPEATS = (graph.ExpandOp, graph.TileOp)


class SimplifyScansPass(ModulePass):
    """What a step of graph.scan computes of no state and no slice is computed before the scan;

    of slices alone: products with what does not change, for all steps at once; entry t of a
    tensor at step t is a slice of it. States that stay as they are, and states, slices and outputs
    that nothing reads, go. One step is no scan, and none leaves the states as they were.

    Needs: graph. Keeps: graph. Order: after fold-constants, before fuse-ops.
    """

    name = "simplify-scans"
    statistics = (HOISTED, LIFTED, DROPPED, UNROLLED)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        scans = [inner for inner in op.walk(region_first=True) if isinstance(inner, graph.ScanOp)]
        for scan in scans:
            with located(scan):
                simplify(scan)


def simplify(scan: graph.ScanOp) -> None:
    """Simplify one scan; those in its body are simple already."""
    hoist(scan)
    fix_states(scan)
    if scan.length < 2:
        unroll(scan)
        return
    scan = lift(scan)
    drop_unread(scan)


def is_outside(value: SSAValue, block: Block) -> bool:
    """Return whether a value is neither an argument of a block nor computed in it."""
    owner = value.owner
    if isinstance(owner, Block):
        return owner is not block
    return owner.parent is not block


def reads(op: Operation) -> Iterable[SSAValue]:
    """Yield what an op reads, also in regions of its own, except for what is computed in these."""
    if not op.regions:
        return op.operands
    made = set[SSAValue](value for inner in op.walk() for value in inner.results)
    regions = (region for inner in op.walk() for region in inner.regions)
    made |= {argument for region in regions for block in region.blocks for argument in block.args}
    return [value for inner in op.walk() for value in inner.operands if value not in made]


def hoist(scan: graph.ScanOp) -> None:
    """Move to the front of a scan what depends on none of its states and slices."""
    block, around = scan.body.block, scan.parent
    assert around is not None
    for op in list(block.ops):
        if isinstance(op, (graph.YieldOp, *REPEATS)):
            continue
        if all(is_outside(value, block) for value in reads(op)):
            op.detach()
            around.insert_op_before(op, scan)
            HOISTED.add(0 if isinstance(op, graph.ConstantOp) else 1)


def yields(scan: graph.ScanOp) -> graph.YieldOp:
    """Return what ends the body of a scan."""
    last = scan.body.block.last_op
    assert isinstance(last, graph.YieldOp), "a verified scan ends in graph.yield"
    return last


def fix_states(scan: graph.ScanOp) -> None:
    """Let readers of a state that never changes read what it begins as."""
    for init, argument, after, last in zip(
        scan.inits, scan.body.block.args, yields(scan).values, scan.outputs, strict=False
    ):
        if after is argument or after is init:
            replace_uses(argument, init)
            replace_uses(last, init)


def unroll(scan: graph.ScanOp) -> None:
    """Replace a scan of one step by the step; one of none by its first states."""
    builder = Builder(InsertPoint.before(scan))
    results: Sequence[SSAValue] = scan.inits
    if scan.length:
        slices = [
            builder.insert(graph.ReshapeOp(value, shape_of(value)[1:])).result
            for value in scan.scanned
        ]
        results = step(scan, [*scan.inits, *slices], builder)
    for old, new in zip(scan.outputs, results, strict=False):
        replace_uses(old, new)
    for old in scan.outputs[len(results) :]:
        empty = np.zeros(shape_of(old), numpy_dtype(element_type(old)))
        replace_uses(old, builder.insert(graph.ConstantOp(empty)).result)
    erase(scan)
    UNROLLED.add()


def step(scan: graph.ScanOp, arguments: Sequence[SSAValue], builder: Builder) -> list[SSAValue]:
    """Move the only step of a scan to its front; return what it leaves."""
    block, around = scan.body.block, scan.parent
    assert around is not None
    for argument, value in zip(block.args, arguments, strict=True):
        replace_uses(argument, value)
    last = yields(scan)
    for op in list(block.ops):
        if op is not last:
            op.detach()
            around.insert_op_before(op, scan)
    results = list(last.values)
    for index, value in enumerate(results[scan.states :], scan.states):
        stacked = graph.ReshapeOp(value, [1, *shape_of(value)])
        results[index] = builder.insert(stacked).result
    return results


# The whole of what an op makes of a slice, of that of which it is a slice; None if it must stay.
Lift = Callable[[Operation, graph.ScanOp, SSAValue, Builder], SSAValue | None]


def lift_view(
    op: Operation, scan: graph.ScanOp, whole: SSAValue, builder: Builder
) -> SSAValue | None:
    """reshape(x[t])  ->  reshape(x)[t]"""
    return reshaped(whole, [scan.length, *shape_of(op.results[0])], builder)


def lift_entry(
    op: Operation, scan: graph.ScanOp, whole: SSAValue, builder: Builder
) -> SSAValue | None:
    """gather(x, t)  ->  x[t],  if x does not change and t counts steps"""
    assert isinstance(op, graph.GatherOp)
    numbers = constant_array(whole)
    if op.indices.owner is not scan.body.block or shape_of(op.indices) or numbers is None:
        return None
    first, axis, shape = int(numbers[0]), op.axis.value.data, list(shape_of(op.x))
    axis %= len(shape)
    inside = 0 <= first and first + scan.length <= shape[axis]
    if not is_outside(op.x, scan.body.block) or not inside or (np.diff(numbers) != 1).any():
        return None
    starts = [first if a == axis else 0 for a in range(len(shape))]
    shape[axis] = scan.length
    part = builder.insert(graph.SliceOp(op.x, starts, shape, [1] * len(shape))).result
    front = [axis, *(a for a in range(len(shape)) if a != axis)]
    return builder.insert(graph.TransposeOp(part, front)).result if axis else part


def lift_product(
    op: Operation, scan: graph.ScanOp, whole: SSAValue, builder: Builder
) -> SSAValue | None:
    """matmul(x[t], w)  ->  matmul(x, w)[t],  if w is a matrix that does not change"""
    assert isinstance(op, graph.MatmulOp)
    left, right = op.a, op.b
    plain = op.weight_layout is None and left.owner is scan.body.block and len(shape_of(right)) == 2
    if not plain or not is_outside(right, scan.body.block) or not shape_of(left):
        return None
    *outer, inner = shape_of(whole)
    flat = reshaped(whole, [prod(outer), inner], builder)
    product = builder.insert(graph.MatmulOp(flat, right, wide=op.wide is not None)).result
    return reshaped(product, [scan.length, *shape_of(op.result)], builder)


def reshaped(value: SSAValue, shape: Sequence[int], builder: Builder) -> SSAValue:
    """Return a value under a shape, itself if it has that already."""
    if shape_of(value) == tuple(shape):
        return value
    return builder.insert(graph.ReshapeOp(value, shape)).result


LIFTS: dict[type[Operation], Lift] = {
    graph.ReshapeOp: lift_view,
    graph.GatherOp: lift_entry,
    graph.MatmulOp: lift_product,
}


def lift(scan: graph.ScanOp) -> graph.ScanOp:
    """Do for all steps at once what a step makes of a slice; return the scan that is left."""
    block = scan.body.block
    slices = block.args[scan.states :]
    wholes = dict[SSAValue, SSAValue](zip(slices, scan.scanned, strict=True))
    more: list[SSAValue] = []
    builder = Builder(InsertPoint.before(scan))
    for op in list(block.ops):
        if type(op) not in LIFTS:
            continue
        sliced = next((operand for operand in op.operands if operand in wholes), None)
        whole = None
        if sliced is not None:
            with located(op):
                whole = LIFTS[type(op)](op, scan, wholes[sliced], builder)
        if whole is None:
            continue
        argument = block.insert_arg(op.results[0].type, len(block.args))
        wholes[argument] = whole
        more.append(whole)
        replace_uses(op.results[0], argument)
        erase(op)
        LIFTED.add()
    return rebuilt(scan, [*scan.inputs, *more], scan.states, list(scan.outputs)) if more else scan


def drop_unread(scan: graph.ScanOp) -> None:
    """Take from a scan the states, slices and outputs that no result needs."""
    kept = sorted(needed(scan))
    outputs = [i for i in kept if i < scan.states]
    outputs += [i for i in range(scan.states, len(scan.outputs)) if scan.outputs[i].uses]
    places = list(kept)
    if not any(i >= scan.states for i in places):
        places.append(scan.states)  # something says how many steps there are
    if not outputs or (len(places), len(outputs)) == (len(scan.inputs), len(scan.outputs)):
        return
    DROPPED.add(len(scan.inputs) - len(places) + len(scan.outputs) - len(outputs))
    block, last = scan.body.block, yields(scan)
    shown = graph.YieldOp(*(last.values[i] for i in outputs))
    block.insert_op_before(shown, last)
    erase(last)
    for op in reversed(list(block.ops)):
        if op is not shown and not any(result.uses for result in op.results):
            erase(op)
    for index, argument in reversed(list(enumerate(block.args))):
        if index not in places:
            block.erase_arg(argument)
    inputs = [scan.inputs[i] for i in places]
    states = sum(i < scan.states for i in outputs)
    rebuilt(scan, inputs, states, [scan.outputs[i] for i in outputs])


def needed(scan: graph.ScanOp) -> set[int]:
    """Return which states and slices the results that are read depend on, by their places."""
    block, after = scan.body.block, yields(scan).values
    stack = [value for value, result in zip(after, scan.outputs, strict=True) if result.uses]
    seen = set[SSAValue]()
    places = dict[SSAValue, int](zip(block.args, range(len(block.args)), strict=True))
    found = {i for i, state in enumerate(scan.outputs[: scan.states]) if state.uses}
    while stack:
        value = stack.pop()
        if value in seen or is_outside(value, block):
            continue
        seen.add(value)
        if value not in places:
            assert isinstance(value.owner, Operation)
            stack += reads(value.owner)
            continue
        found.add(places[value])
        if places[value] < scan.states:
            stack.append(after[places[value]])
    return found


def rebuilt(
    scan: graph.ScanOp, inputs: Sequence[SSAValue], states: int, outputs: Sequence[SSAValue]
) -> graph.ScanOp:
    """Replace a scan by one with its body, of other inputs, whose results stand for `outputs`."""
    types: list[Attribute] = [value.type for value in outputs]
    properties: dict[str, Attribute] = {"num_states": IntegerAttr(states, i64)}
    if scan.reverse is not None:
        properties["reverse"] = scan.reverse
    body = Region(scan.body.detach_block(0))
    attributes = scan.attributes
    new = graph.ScanOp.create(
        operands=inputs,
        result_types=types,
        properties=properties,
        attributes=attributes,
        regions=[body],
    )
    new.location = scan.location
    around = scan.parent
    assert around is not None
    around.insert_op_before(new, scan)
    for old, result in zip(outputs, new.outputs, strict=True):
        replace_uses(old, result)
    scan.body.add_block(Block())
    erase(scan)
    return new
