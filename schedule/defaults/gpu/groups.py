"""Which stages share a kernel: those over the same rows, whose results stay in a block."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr

from nn_opt.dialects.loop import BlockOp, LoadOp, StoreOp
from nn_opt.dialects.loop.buffers import byte_size
from nn_opt.ir.target import Gpu
from nn_opt.ir.types import shape_of
from nn_opt.schedule.defaults.attention_stages import is_formula
from nn_opt.schedule.defaults.facts import (
    is_reduction,
    is_stacked,
    loads_of,
    local_buffer,
    par_axes,
    readers,
    stages,
)
from nn_opt.schedule.nest import loops_around, stores_in, written

ENOUGH_ROWS = 32  # of which a kernel is better than one for each stage
FEW_ELEMENTS = 1 << 16  # that one block computes in the time in which another kernel starts
SHARED_PART = 2  # of shared memory: half of it, so that two blocks fit


@dataclass(frozen=True)
class Group:
    """Stages of one kernel, in order; the last one finishes what the others make for it.

    rows: the axes of the last stage that all others have, too.
    """

    blocks: tuple[BlockOp, ...]
    rows: tuple[int, ...]

    @property
    def last(self) -> BlockOp:
        """The stage that finishes."""
        return self.blocks[-1]

    @property
    def row_count(self) -> int:
        """How many rows there are."""
        return math.prod(self.last.axis_sizes[axis] for axis in self.rows)

    @property
    def row_work(self) -> int:
        """How many instances the largest stage has in a row."""
        return max(math.prod(b.axis_sizes) for b in self.blocks) // self.row_count

    @property
    def row_length(self) -> int:
        """How many instances of the largest stage are of different results, or of one sum."""
        return max(self._length(block) for block in self.blocks)

    def _length(self, block: BlockOp) -> int:
        free = math.prod(block.axis_sizes[axis] for axis in par_axes(block)) // self.row_count
        return free if free > 1 else math.prod(block.axis_sizes) // self.row_count


def find_groups(function: FuncOp, gpu: Gpu) -> list[Group]:
    """Return the plain stages of a kernel in groups, in the order of their last stages."""
    blocks = [block for block in stages(function) if is_plain(block)]
    groups: dict[BlockOp, Group] = {}
    for block in reversed(blocks):
        group = _joined(block, groups, gpu) or Group((block,), tuple(par_axes(block)))
        groups.update(dict.fromkeys(group.blocks, group))
    return list(dict.fromkeys(groups[block] for block in blocks))


def is_plain(block: BlockOp) -> bool:
    """Return whether a stage is in a loop an axis, and nothing else, and no loop is marked."""
    loops = loops_around(block)
    plain = len(loops) == len(block.axis_sizes) and all(loop.how == "serial" for loop in loops)
    return plain and all(loop.trips for loop in loops) and bool(loops)


def _joined(block: BlockOp, groups: dict[BlockOp, Group], gpu: Gpu) -> Group | None:
    """Return the group of all readers of a stage with the stage, if they can share rows."""
    found = {groups[b] for b in readers(block) if b in groups}
    if len(found) != 1 or not all(b in groups for b in readers(block)) or not _moves(block):
        return None
    group = next(iter(found))
    joined = (block, *group.blocks)
    rows = shared_rows(joined)
    if rows is None:
        return None
    wider = Group(joined, rows)
    few = wider.row_count * wider.row_work <= FEW_ELEMENTS
    if (wider.row_count >= ENOUGH_ROWS or few) and _fits(wider, gpu):
        return wider
    return None


def _moves(block: BlockOp) -> bool:
    """Return whether a stage makes one buffer that is the kernel's own, at its plain axes."""
    if len(written(block)) != 1 or is_stacked(block) or local_buffer(block) is None:
        return False
    sizes = zip(stored_axes(block), shape_of(written(block)[0]), strict=True)
    return all(axis is not None or size == 1 for axis, size in sizes)


def _fits(group: Group, gpu: Gpu) -> bool:
    """Return whether what cannot be computed again fits into shared memory, a row at a time."""
    kept = [b for b in group.blocks[:-1] if is_reduction(b) or not is_formula(b)]
    return sum(row_bytes(group, b) for b in kept) <= gpu.shared_bytes // SHARED_PART


def row_bytes(group: Group, block: BlockOp) -> int:
    """Return the bytes that a stage makes for a row."""
    alloc = local_buffer(block)
    assert alloc is not None
    return byte_size(alloc.result) // group.row_count


def shared_rows(blocks: tuple[BlockOp, ...]) -> tuple[int, ...] | None:
    """Return the axes of the last of some stages that each other one has, in order.

    None where a stage reads of another what no row or whole row holds.
    """
    *others, last = blocks
    axes: dict[BlockOp, dict[int, int]] = {last: {axis: axis for axis in par_axes(last)}}
    rows = set(par_axes(last))
    for block in reversed(others):
        axes[block] = _axes_in_last(block, axes)
        rows &= set(axes[block].values())
    if all(_reads_rows(block, axes, rows) for block in others):
        return tuple(sorted(rows))
    return None


def _axes_in_last(block: BlockOp, known: dict[BlockOp, dict[int, int]]) -> dict[int, int]:
    """Return the axes of a stage that its readers take from the same axis of the last stage."""
    meant: dict[int, set[int | None]] = {}
    for reader, load in _reads(block):
        for axis, expr in zip(stored_axes(block), load.map.data.results, strict=True):
            read = _plain_axis(expr, load)
            if axis is not None:
                meant.setdefault(axis, set()).add(None if read is None else known[reader].get(read))
    found = {axis: next(iter(values)) for axis, values in meant.items() if len(values) == 1}
    same = list(found.values())
    return {k: axis for k, axis in found.items() if axis is not None and same.count(axis) == 1}


def _reads_rows(block: BlockOp, axes: dict[BlockOp, dict[int, int]], rows: set[int]) -> bool:
    """Return whether all that is read of a stage, is of the reader's row."""
    for reader, load in _reads(block):
        for axis, expr in zip(stored_axes(block), load.map.data.results, strict=True):
            if axis is not None and axes[block].get(axis) in rows:
                continue
            moving = [_axis_of(load, dim) for dim in expr.used_dims()]
            if None in moving:
                return False
            if any(axes[reader].get(k) in rows for k in moving if k is not None):
                return False
    return True


def _reads(block: BlockOp) -> Iterator[tuple[BlockOp, LoadOp]]:
    """Yield each load of what a stage makes, with its stage."""
    (buffer,) = written(block)
    for reader in readers(block):
        for load in loads_of(buffer, reader):
            yield reader, load


def stored_axes(block: BlockOp) -> list[int | None]:
    """Return the axis at which a stage stores each dimension of its buffer."""
    store = next(stores_in(block))
    return [_plain_axis(expr, store) for expr in store.map.data.results]


def _plain_axis(expr: AffineExpr, access: LoadOp | StoreOp) -> int | None:
    """Return the axis that an index is; None for any other index."""
    return _axis_of(access, expr.position) if isinstance(expr, AffineDimExpr) else None


def _axis_of(access: LoadOp | StoreOp, dim: int) -> int | None:
    """Return the axis that an access' map takes in a place; None for a value of the body."""
    region, value = access.parent, access.indices[dim]
    assert region is not None
    axes: list[SSAValue] = list(region.args)
    return axes.index(value) if value in axes else None
