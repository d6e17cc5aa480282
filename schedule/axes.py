"""Primitives on a stage's axes, with its buffer: join, pad and permute."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from xdsl.dialects.builtin import AffineMapAttr, DenseArrayBase, IndexType, IntegerAttr, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap

from nn_opt.dialects.loop import AllocOp, BlockOp, ForOp, Kind, LoadOp, StoreOp
from nn_opt.ir.affine import compact, flatten, simplify
from nn_opt.ir.literals import scalar_attr
from nn_opt.ir.types import element_type, memory_space, memref_type, shape_of
from nn_opt.schedule.fused_axes import join_axes, only_index
from nn_opt.schedule.inline import index_ranges, may_leave
from nn_opt.schedule.loops import fuse
from nn_opt.schedule.nest import (
    blocks_in,
    is_own,
    kinds_bound,
    loads_in,
    loop_name,
    only_child,
    own_buffer,
    refuse,
    stores_in,
    written,
)
from nn_opt.schedule.padding import require_nothing_added

Access = LoadOp | StoreOp


def join(loops: Sequence[ForOp]) -> ForOp:
    """Make loops, each directly in the one before, one loop, and their axes one axis.

    The stage's own buffer gets one dimension for theirs, so that it is stored at plain axes still,
    unless it was not before, or reads may leave it. The indices of other buffers are quotients and
    remainders.
    """
    block, axes = _plain_axes(loops, "join")
    for outer, inner in pairwise(loops):
        if only_child(outer) is not inner:
            problem = f"join: {loop_name(inner)} is not all that {loop_name(outer)} holds"
            refuse(outer, problem, hint="reorder them next to each other first")
    if len({block.axis_kinds[axis] for axis in axes}) > 1 or block.axis_kinds[axes[0]] is Kind.SEQ:
        names = ", ".join(loop_name(loop) for loop in loops)
        problem = f"join: {names} of {block.stage.data!r} are not all independent, or all reduced"
        refuse(loops[0], problem, hint="join loops of one kind, whose order is free")
    if not only_index(block, axes):
        problem = f"join: stage {block.stage.data!r} computes with an index"
        refuse(block, problem, hint="fuse its loops instead")
    for buffer in written(block):
        if is_own(buffer):
            _join_dimensions(buffer, _joinable_dimensions(block, buffer, axes))
    fused = loops[0]
    for loop in loops[1:]:
        fused = fuse(fused, loop)
    _simplify_indices(join_axes(block, axes))
    return fused


def _plain_axes(loops: Sequence[ForOp], primitive: str) -> tuple[BlockOp, list[int]]:
    """Return the only stage in some loops, and its axes that are each bound to just one loop."""
    blocks = blocks_in(loops[0])
    axes: list[int] = []
    for loop in loops:
        found = [axis for axis in range(len(blocks[0].axis_sizes)) if _runs(blocks[0], axis, loop)]
        if len(blocks) != 1 or len(found) != 1 or not kinds_bound(loop, blocks[0]):
            problem = f"{primitive}: {loop_name(loop)} is not the plain axis of one stage"
            refuse(loop, problem, hint=f"{primitive} before other primitives")
        axes += found
    return blocks[0], axes


def _runs(block: BlockOp, axis: int, loop: ForOp) -> bool:
    """Return whether a loop runs an axis, and nothing else: `%m_1 = %m`."""
    expr = block.bindings.data.results[axis]
    bound = isinstance(expr, AffineDimExpr) and block.indices[expr.position] is loop.index
    return bound and block.axis_sizes[axis] == loop.trips


def _joinable_dimensions(block: BlockOp, buffer: SSAValue, axes: Sequence[int]) -> list[int]:
    """Return the dimensions that axes are stored at; none where reads may leave one of them."""
    for access in accesses_of(buffer):
        parent = access.parent_op()
        assert isinstance(parent, BlockOp)
        if isinstance(access, LoadOp) and may_leave(access, parent):
            return []
    return stored_at(block, buffer, axes) or []


def _join_dimensions(buffer: SSAValue, dims: Sequence[int]) -> None:
    """Lay a buffer out anew, with one dimension, in the place of the first, for several."""
    if len(dims) < 2:
        return
    shape = shape_of(buffer)
    for access in accesses_of(buffer):
        parent = access.parent_op()
        assert isinstance(parent, BlockOp)
        exprs = list(access.map.data.results)
        ranges = index_ranges(access, parent)
        exprs[dims[0]] = flatten([exprs[d] for d in dims], [shape[d] for d in dims], ranges)
        kept = [expr for d, expr in enumerate(exprs) if d not in dims[1:]]
        access.map = AffineMapAttr(AffineMap(len(access.indices), 0, tuple(kept)))
    sizes = [n for d, n in enumerate(shape) if d not in dims[1:]]
    sizes[dims[0] - sum(d < dims[0] for d in dims[1:])] = math.prod(shape[d] for d in dims)
    replace_buffer(buffer, sizes)


def stored_at(block: BlockOp, buffer: SSAValue, axes: Sequence[int]) -> list[int] | None:
    """Return the dimension of a stage's buffer that each axis is stored at, reduced ones nowhere.

    An axis of one iteration may have none; the result is None if another has none.
    """
    stores = [store for store in stores_in(block) if store.memref is buffer]
    dims: list[int] = []
    for axis in axes:
        places = {_place(store, block, axis) for store in stores}
        place = next(iter(places))
        needed = block.axis_sizes[axis] > 1 and block.axis_kinds[axis] is Kind.PAR
        if len(places) != 1 or (place is None and needed):
            return None
        dims += [] if place is None else [place]
    return dims


def _place(store: StoreOp, block: BlockOp, axis: int) -> int | None:
    region = store.parent
    assert region is not None
    for dimension, expr in enumerate(store.map.data.results):
        if isinstance(expr, AffineDimExpr) and store.indices[expr.position] is region.args[axis]:
            return dimension
    return None


def accesses_of(buffer: SSAValue) -> list[Access]:
    """Return all loads and stores of a buffer that only blocks use."""
    return [use.operation for use in buffer.uses if isinstance(use.operation, Access)]


def replace_buffer(buffer: SSAValue, sizes: Sequence[int]) -> SSAValue:
    """Give an own buffer another shape; its accesses have the indices for it already."""
    old = buffer.owner
    assert isinstance(old, AllocOp)
    space = memory_space(buffer)
    type_ = memref_type(list(sizes), element_type(buffer), None if space == "global" else space)
    new = AllocOp(old.buffer.data, type_)
    new.attributes |= old.attributes
    new.location = old.location
    new.result.name_hint = buffer.name_hint
    block = old.parent
    assert block is not None
    block.insert_op_before(new, old)
    buffer.replace_all_uses_with(new.result)
    old.detach()
    old.erase()
    return new.result


def _simplify_indices(block: BlockOp) -> None:
    """Write each access of a stage as short as the sizes of its axes allow."""
    for access in [*loads_in(block), *stores_in(block)]:
        ranges = index_ranges(access, block)
        exprs = [simplify(expr, ranges) for expr in access.map.data.results]
        values, local = compact(exprs, list(access.indices))
        fixed = len(access.operands) - len(access.indices)
        access.operands = [*access.operands[:fixed], *values]
        access.map = AffineMapAttr(AffineMap(len(values), 0, tuple(local)))


def pad(loop: ForOp, multiple: int) -> None:
    """Run a loop on to a multiple of iterations that compute what nobody reads, or add nothing.

    The stage's own buffer grows with it; reads of others are zeros where they would leave them.
    So a split by that multiple needs no test in the stage itself.
    """
    block, (axis,) = _plain_axes([loop], "pad")
    if multiple < 1:
        refuse(loop, f"pad: the multiple of {loop_name(loop)} is {multiple}, expected at least 1")
    size = loop.trips
    padded = -(-size // multiple) * multiple
    if padded == size:
        return
    buffers = written(block)
    if not all(is_own(buffer) for buffer in buffers):
        problem = f"pad: stage {block.stage.data!r} does not write a buffer of its own"
        refuse(block, problem, hint=f'give it one by cache_write "{block.stage.data}"')
    if not only_index(block, [axis]):
        problem = f"pad: stage {block.stage.data!r} computes with {loop_name(loop)}"
        refuse(block, problem, hint="split with a guard instead")
    if block.axis_kinds[axis] is not Kind.PAR:
        require_nothing_added(block, axis, range(size, padded))
    _grow_buffers(block, axis, padded)
    sizes = [padded if k == axis else n for k, n in enumerate(block.axis_sizes)]
    block.sizes = DenseArrayBase.from_list(i64, sizes)
    loop.extent = IntegerAttr(padded, IndexType())
    for load in loads_in(block):
        if load.default is None and _leaves(load, block):
            load.default = scalar_attr(0, element_type(load.memref))


def _grow_buffers(block: BlockOp, axis: int, size: int) -> None:
    for buffer in written(block):
        dims = stored_at(block, buffer, [axis])
        if dims is None:
            problem = f"pad: stage {block.stage.data!r} stores at more than plain axes"
            refuse(block, problem, hint="pad before other primitives")
        sizes = [size if d in dims else n for d, n in enumerate(shape_of(buffer))]
        replace_buffer(buffer, sizes)


def _leaves(load: LoadOp, block: BlockOp) -> bool:
    """Return whether a load may be outside its buffer, now that an axis is longer."""
    load.default = scalar_attr(0, element_type(load.memref))
    leaves = may_leave(load, block)
    load.default = None
    return leaves


def permute(function: FuncOp, stage: str, order: Sequence[int]) -> None:
    """Lay the buffer that a stage writes out in another order of its dimensions."""
    block, alloc = own_buffer(function, stage)
    shape = shape_of(alloc.result)
    if sorted(order) != list(range(len(shape))):
        problem = f"permute: {list(order)} is no order of the {len(shape)} dimensions of {stage!r}"
        refuse(block, problem, hint="name each dimension once")
    for access in accesses_of(alloc.result):
        exprs = access.map.data.results
        permuted = tuple(exprs[dimension] for dimension in order)
        access.map = AffineMapAttr(AffineMap(len(access.indices), 0, permuted))
    replace_buffer(alloc.result, [shape[dimension] for dimension in order])
