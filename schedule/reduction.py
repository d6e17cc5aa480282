"""Primitives on reductions: decompose_init."""

from __future__ import annotations

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr

from nn_opt.dialects.loop import BlockOp, ForOp, Kind
from nn_opt.schedule.nest import (
    find_block,
    is_inside,
    kinds_bound,
    loop_name,
    loops_around,
    refuse,
    set_bindings,
)


def decompose_init(function: FuncOp, stage: str, loop: ForOp) -> str:
    """Start a reduction in a nest of its own just before `loop`; return that stage's name."""
    block = find_block(function, stage)
    if block.init is None:
        problem = f"decompose_init: stage {stage!r} has no init"
        refuse(block, problem, hint="only a reduction has one, and only once")
    if not is_inside(block, loop):
        problem = f"decompose_init: stage {stage!r} is not inside {loop_name(loop)}"
        refuse(loop, problem, hint="choose a loop around the stage")
    for around in loops_around(loop):
        if kinds_bound(around, block) - {Kind.PAR}:
            problem = f"decompose_init: {loop_name(around)} already reduces {stage!r}"
            refuse(loop, problem, hint="choose the outermost reduce loop, or one outside")
    parent = loop.parent
    assert parent is not None
    parent.insert_op_before(_init_nest(block, loop), loop)
    return f"{stage}.init"


def _init_nest(block: BlockOp, loop: ForOp) -> Operation:
    """Take the init region out of a block, into copies of the `par` loops from `loop` inwards."""
    region = block.detach_region(block.regions[1])
    par = [k for k, kind in enumerate(block.axis_kinds) if kind is Kind.PAR]
    for position in reversed(range(len(block.axis_kinds))):
        if position not in par:
            region.block.erase_arg(region.block.args[position])
    inner = [around for around in loops_around(block) if around is loop or is_inside(around, loop)]
    copies: dict[SSAValue, ForOp] = {
        around.index: ForOp(around.trips, kind=around.how, name_hint=around.index.name_hint)
        for around in inner
        if Kind.PAR in kinds_bound(around, block)
    }
    init = BlockOp(
        f"{block.stage.data}.init",
        block.indices,
        block.bindings.data,
        [block.axis_sizes[k] for k in par],
        [Kind.PAR] * len(par),
        region,
    )
    init.location = block.location
    _bind_init(init, block, par, copies)
    nest: Operation = init
    for copy in reversed(copies.values()):
        copy.body.block.add_op(nest)
        nest = copy
    return nest


def _bind_init(
    init: BlockOp, block: BlockOp, par: list[int], copies: dict[SSAValue, ForOp]
) -> None:
    """Bind the `par` axes as the block's, over the copied loops; keep the conditions on them."""
    indices = [copies[v].index if v in copies else v for v in block.indices]
    reduce = {k for k, kind in enumerate(block.axis_kinds) if kind is not Kind.PAR}
    reducing = set[int]().union(*(block.bindings.data.results[k].used_dims() for k in reduce))
    conditions: list[AffineExpr] = [
        condition
        for condition in block.conditions.data.results
        if not condition.used_dims() & reducing
    ]
    set_bindings(init, indices, [block.bindings.data.results[k] for k in par], conditions)
