"""Whether the surplus iterations of a reduced axis would change what a stage sums."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue

from nn_opt.dialects.loop import BlockOp, LoadOp, StoreOp
from nn_opt.ir.affine import range_of
from nn_opt.ir.literals import scalar_attr, scalar_value
from nn_opt.ir.types import shape_of
from nn_opt.reference.running import make_interpreter
from nn_opt.schedule.inline import index_ranges
from nn_opt.schedule.nest import loads_in, refuse, written

SAFE = ("arith", "math")  # dialects of arithmetic on elements alone
HELD = (3, -3)  # what a sum may be before an iteration that adds nothing, exact in every type


def require_nothing_added(block: BlockOp, axis: int, surplus: range) -> None:
    """Refuse unless a stage's sum stays what it is where an axis has one of the surplus values."""
    stage = block.stage.data
    if not reads_zeros(block, axis, surplus):
        problem = f"pad: {stage!r} reads more than zeros where axis {axis} is {surplus.start}"
        refuse(block, problem, hint="pad an axis that every factor is indexed by")
    if not keeps_sum(block):
        problem = f"pad: zeros change what {stage!r} accumulates"
        refuse(block, problem, hint="pad the reduction of a sum of products")


def reads_zeros(block: BlockOp, axis: int, surplus: range) -> bool:
    """Return whether all reads are outside their buffers where an axis has a surplus value."""
    sums = written(block)
    loads = [load for load in loads_in(block) if load.memref not in sums]
    return all(_surely_outside(load, block, axis, surplus) for load in loads)


def _surely_outside(load: LoadOp, block: BlockOp, axis: int, surplus: range) -> bool:
    """Return whether a load is of no element for every surplus value, and then zero."""
    if load.default is not None and scalar_value(load.default) != 0:
        return False
    ranges = index_ranges(load, block)
    for position, value in enumerate(load.indices):
        if value is block.axes[axis]:
            ranges[position] = (surplus.start, surplus.stop - 1)
    bounds = [range_of(expr, ranges) for expr in load.map.data.results]
    sizes = shape_of(load.memref)
    return any(low >= size or high < 0 for (low, high), size in zip(bounds, sizes, strict=True))


def keeps_sum(block: BlockOp) -> bool:
    """Return whether a stage's formula, with zeros for what it reads, gives what it held."""
    return all(_keeps(block, held) for held in HELD)


def _keeps(block: BlockOp, held: int) -> bool:
    body = Block()
    clones: dict[SSAValue, SSAValue] = {}
    stored: SSAValue | None = None
    sums = written(block)
    for op in block.body.block.ops:
        if isinstance(op, StoreOp):
            stored = clones.get(op.value)
            continue
        if isinstance(op, LoadOp):
            number = held if op.memref in sums else 0
            clone = ConstantOp(scalar_attr(number, op.result.type), op.result.type)
        elif op.name.partition(".")[0] in SAFE and all(v in clones for v in op.operands):
            clone = op.clone(clones)
        else:
            return False
        body.add_op(clone)
        clones.update(zip(op.results, clone.results, strict=True))
    return stored is not None and bool(_run(body, stored) == held)


def _run(body: Block, value: SSAValue) -> Any:
    body.add_op(ReturnOp(value))
    function = FuncOp("formula", ((), (value.type,)), Region(body))
    (result,) = make_interpreter(ModuleOp([function])).call_op("formula", ())
    return result
