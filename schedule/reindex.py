"""reindex: a stage reads a buffer through a copy that has its own axes as dimensions."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IndexType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, SSAValue

from nn_opt.dialects.loop import AllocOp, BlockOp, LoadOp, StoreOp
from nn_opt.ir.affine import compact
from nn_opt.ir.literals import scalar_value
from nn_opt.ir.types import element_type, memref_type
from nn_opt.schedule.nest import find_block, loads_in, read, refuse, top_of_nest
from nn_opt.schedule.storage import copy_name, plain_nest


def reindex(function: FuncOp, stage: str, operand: int, axes: Sequence[int]) -> str:
    """Let a stage read its `operand`-th buffer as copy[axes]; return the copying stage's name.

    `axes` are all those that the read depends on, in any order: that of the copy's dimensions. So
    x[2 * %q + %s] becomes copy[%q, %s], whatever the index was, and the order is free.
    """
    block = find_block(function, stage)
    load = _only_load(block, operand)
    needed = axes_of(load, block)
    if sorted(axes) != needed:
        problem = f"reindex: stage {stage!r} reads it at axes {needed}, not at {sorted(axes)}"
        refuse(block, problem, hint="name each axis that the index depends on once")
    name = copy_name(function, stage, operand)
    sizes = [block.axis_sizes[axis] for axis in axes]
    alloc = AllocOp(name, memref_type(sizes, element_type(load.memref)))
    body = Block(arg_types=[IndexType()] * len(axes))
    for axis, arg in zip(axes, body.args, strict=True):
        arg.name_hint = block.axes[axis].name_hint
    _copy_element(load, block, axes, body, alloc.result)
    nest = plain_nest(name, body, sizes)
    top = top_of_nest(block)
    parent = top.parent
    assert parent is not None
    parent.insert_ops_before([alloc, nest], top)
    new = LoadOp(alloc.result, [block.axes[axis] for axis in axes])
    new.location = load.location
    new.result.name_hint = load.result.name_hint
    block.body.block.insert_op_before(new, load)
    load.result.replace_all_uses_with(new.result)
    load.detach()
    load.erase()
    return name


def _only_load(block: BlockOp, operand: int) -> LoadOp:
    """Return the one load of a stage's buffer."""
    stage, sources = block.stage.data, read(block)
    if operand >= len(sources):
        problem = f"reindex: stage {stage!r} reads {len(sources)} buffers, not {operand + 1}"
        refuse(block, problem, hint="count them from 0, in the order of their first load")
    loads = [load for load in loads_in(block) if load.memref is sources[operand]]
    if len(loads) > 1:
        problem = f"reindex: stage {stage!r} reads buffer {operand} at {len(loads)} places"
        refuse(block, problem, hint="cache_read copies all that it reads")
    return loads[0]


def axes_of(load: LoadOp, block: BlockOp) -> list[int]:
    """Return the axes of a stage that an index depends on; refuses one that data decides."""
    axes = depends_on(load, block)
    if axes is None:
        problem = f"reindex: stage {block.stage.data!r} reads at an index that data decides"
        refuse(block, problem, hint="only affine reads can be copied ahead")
    return axes


def depends_on(load: LoadOp, block: BlockOp) -> list[int] | None:
    """Return the axes of a stage that an index depends on, in order; None if data decides it."""
    used = set[int]().union(*(expr.used_dims() for expr in load.map.data.results))
    axes: list[SSAValue] = list(block.axes)
    values = [load.indices[k] for k in sorted(used)]
    if any(value not in axes for value in values):
        return None
    return sorted({axes.index(value) for value in values})


def _copy_element(
    load: LoadOp, block: BlockOp, axes: Sequence[int], body: Block, target: SSAValue
) -> None:
    """Fill the body of the copying stage: what the load reads, stored at the axes."""
    args = {block.axes[axis]: arg for axis, arg in zip(axes, body.args, strict=True)}
    values, exprs = compact(load.map.data.results, list(load.indices))
    default = None if load.default is None else scalar_value(load.default)
    copy = LoadOp(load.memref, [args[value] for value in values], exprs, default=default)
    copy.location = load.location
    body.add_ops([copy, StoreOp(copy.result, target, body.args)])
