"""Primitives on shared memory: storage_align and double_buffer."""

from __future__ import annotations

from xdsl.dialects.builtin import AffineMapAttr, DenseArrayBase, StringAttr, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap

from nn_opt.dialects.loop import AllocOp, BlockOp, ForKind, ForOp
from nn_opt.ir.affine import Linear, linear, range_of
from nn_opt.ir.types import shape_of
from nn_opt.schedule.axes import accesses_of, replace_buffer
from nn_opt.schedule.nest import (
    accessors,
    add_condition,
    blocks_in,
    is_inside,
    loop_name,
    own_buffer,
    ranges_of,
    rebind,
    refuse,
    statement_in,
    stores_in,
)
from nn_opt.schedule.storage import settle

ALIGN = "align"  # of a loop.alloc: --compact-buffers lengthens its rows


def storage_align(function: FuncOp, stage: str, multiple: int, offset: int) -> None:
    """Let the rows of a stage's buffer have k * multiple + offset elements, once it is compact."""
    block, alloc = own_buffer(function, stage)
    if not 0 <= offset < multiple:
        problem = f"storage_align: the offset is {offset}, expected 0 to {multiple - 1}"
        refuse(block, problem, hint="rows get k * multiple + offset elements")
    alloc.attributes[ALIGN] = DenseArrayBase.from_list(i64, [multiple, offset])


def double_buffer(function: FuncOp, stage: str, loop: ForOp) -> str:
    """Fill a stage's buffer one iteration of a serial loop ahead; return who fills the first.

    for %k { fill(%k) to b; use b }
      ->  fill(0) to b[0]
          for %k { use b[%k mod 2]; if (%k + 1 < n) { fill(%k + 1) to b[(%k + 1) mod 2] } }

    The two places are one ring of two tiles: the buffer is indexed by %k mod (2 tiles).
    """
    block, alloc = own_buffer(function, stage)
    if not is_inside(block, loop) or loop.how is not ForKind.SERIAL:
        problem = f"double_buffer: stage {stage!r} is not in a serial loop {loop_name(loop)}"
        refuse(loop, problem, hint="compute it at that loop first, and do not bind that one")
    _require_in_loop(stage, alloc, loop)
    dimension, tile = _moving_dimension(block, alloc, loop)
    _make_ring(alloc.result, dimension, 2 * tile)
    nest = statement_in(loop.body.block, block)
    first = nest.clone()
    (start,) = blocks_in(first)
    start.stage = StringAttr(f"{stage}.first")
    parent = loop.parent
    assert parent is not None
    parent.insert_op_before(first, loop)
    rebind(start, loop.index, AffineExpr.constant(0), [])
    _fill_ahead(block, nest, loop)
    _, moved = own_buffer(function, stage)
    settle(moved, function)
    return start.stage.data


def _require_in_loop(stage: str, alloc: AllocOp, loop: ForOp) -> None:
    for reader in accessors(alloc.result):
        if not is_inside(reader, loop):
            problem = f"double_buffer: {reader.stage.data!r} reads {stage!r} outside"
            refuse(loop, f"{problem} {loop_name(loop)}", hint="it is filled for the loop alone")


def _moving_dimension(block: BlockOp, alloc: AllocOp, loop: ForOp) -> tuple[int, int]:
    """Return the dimension of a buffer that a loop walks through, and the size of its steps.

    The steps must be tiles: each iteration fills from one multiple of the step to the next.
    """
    stage = block.stage.data
    axes: list[SSAValue] = list(block.axes)
    store = next(stores_in(block))
    found: set[tuple[int, int]] = set()
    for dimension, place in enumerate(store.map.data.results):
        if isinstance(place, AffineDimExpr):
            binding = block.bindings.data.results[axes.index(store.indices[place.position])]
            found.add((dimension, _tile_step(binding, block, loop)))
    found = {(dimension, step) for dimension, step in found if step}
    if len(found) != 1 or len(list(stores_in(block))) != 1:
        problem = f"double_buffer: {loop_name(loop)} does not walk through {stage!r} tile by tile"
        refuse(loop, problem, hint="pad and split its axis, so that tiles do not overlap")
    return found.pop()


def _tile_step(binding: AffineExpr, block: BlockOp, loop: ForOp) -> int:
    """Return the factor of a loop in a binding whose rest stays within one step; else 0."""
    values = list(block.indices)
    if loop.index not in values:
        return 0
    position = values.index(loop.index)
    form = linear(binding)
    step = form.coefficient(position)
    rest = {atom: f for atom, f in form.terms.items() if atom != AffineDimExpr(position)}
    if any(position in atom.used_dims() for atom in rest):
        return 0
    low, high = range_of(Linear(rest, form.constant).expr(), ranges_of(values))
    return step if low >= 0 and high < step else 0


def _make_ring(buffer: SSAValue, dimension: int, size: int) -> None:
    """Keep `size` places along a dimension: index i is at i mod size."""
    for access in accesses_of(buffer):
        exprs = list(access.map.data.results)
        exprs[dimension] = exprs[dimension] % size
        access.map = AffineMapAttr(AffineMap(len(access.indices), 0, tuple(exprs)))
    sizes = list(shape_of(buffer))
    sizes[dimension] = size
    replace_buffer(buffer, sizes)


def _fill_ahead(block: BlockOp, nest: Operation, loop: ForOp) -> None:
    """Let a stage run for the next iteration, at the end of this one."""
    body = loop.body.block
    nest.detach()
    body.add_op(nest)
    rebind(block, loop.index, AffineExpr.dimension(0) + 1, [loop.index])
    add_condition(block, AffineExpr.dimension(0) * -1 + (loop.trips - 2), [loop.index])
