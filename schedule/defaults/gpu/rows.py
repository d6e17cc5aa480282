"""Reductions, and kernels of several stages over the same rows, such as softmax.

A block takes a row, or some short ones: its threads go through the row side by side, stage after
stage, with what the stages make for each other in shared memory. Where rows are short, or lie side
by side element by element, each thread takes a row of its own.
"""

from __future__ import annotations

import math
from collections.abc import Hashable

from xdsl.ir.affine import AffineDimExpr

from nn_opt.dialects.loop import BlockOp, ForKind, ForOp, Kind, LoadOp, StoreOp
from nn_opt.ir.affine import flat_form
from nn_opt.ir.target import Gpu
from nn_opt.ir.types import shape_of
from nn_opt.schedule.defaults.attention_stages import is_formula
from nn_opt.schedule.defaults.elementwise import accesses
from nn_opt.schedule.defaults.facts import is_reduction, step
from nn_opt.schedule.defaults.gpu.grids import (
    SUBGROUP,
    THREADS,
    bind_blocks,
    bind_elements,
    fuse_all,
)
from nn_opt.schedule.defaults.gpu.groups import SHARED_PART, Group, row_bytes, stored_axes
from nn_opt.schedule.defaults.gpu.splits import is_split, schedule_split
from nn_opt.schedule.defaults.sums import start_before_row
from nn_opt.schedule.nest import (
    access_exprs,
    accessors,
    find_block,
    kinds_bound,
    loads_in,
    loop_of,
    loops_around,
    ranges_of,
    written,
)
from nn_opt.schedule.schedule import Schedule

SHORT = 32  # elements: rows that one thread goes through as fast as several
MANY_ROWS = 4096  # that threads of a row each keep a GPU busy
BLOCKS = 64  # that are enough to take several rows each
ELEMENTS = 4  # of a row for each thread, at least
UNROLLED = 8  # elements of a thread, which the compiler of the language keeps in registers
OWN = 32  # elements of a row that a thread keeps, in registers or in the cache nearest to it


def schedule_group(schedule: Schedule, group: Group, gpu: Gpu) -> None:
    """Schedule stages over the same rows as one kernel."""
    if group.rows and runs_in_threads(group):
        _run_in_threads(schedule, group, gpu)
    elif is_split(group):
        schedule_split(schedule, group, gpu)
    else:
        _run_in_blocks(schedule, group, gpu)


def crosses_threads(block: BlockOp) -> bool:
    """Return whether threads can each reduce a part of what a stage reduces."""
    return Kind.SEQ not in block.axis_kinds and len(written(block)) == 1 and block.init is not None


def runs_in_threads(group: Group) -> bool:
    """Return whether each thread is to take rows of its own, rather than a part of one."""
    if not all(crosses_threads(block) for block in group.blocks if is_reduction(block)):
        return True
    if group.row_work < SHORT:
        return True
    return group.row_count >= MANY_ROWS and not any(map(_reads_along, group.blocks))


def _reads_along(block: BlockOp) -> bool:
    """Return whether what a stage's innermost loop reads lies side by side."""
    loops = [loop for loop in loops_around(block) if loop.trips > 1]
    moved = [step(load, block, loops[-1]) for load in loads_in(block)] if loops else []
    return is_reduction(block) and any(pace == 1 for pace in moved)


def _run_in_threads(schedule: Schedule, group: Group, gpu: Gpu) -> None:
    """Give each thread a row, and its sums registers."""
    names, rows = _names(group), list(group.rows)
    if is_reduction(group.last) and len(written(group.last)) == 1:
        rows = [d for d, axis in enumerate(stored_axes(group.last)) if axis in rows]
        names.append(schedule.cache_write(names[-1]))
    names = _inline(schedule, names, [n for n in names[:-1] if _columns(group, schedule, n) > 1])
    row = fuse_all(schedule, _rows_outside(schedule, names[-1], rows)[0])
    thread = bind_elements(schedule, row, gpu)
    for stage in reversed(names[:-1]):
        schedule.compute_at(stage, thread)
    for stage in names:
        start_before_row(schedule, stage)
    for stage in names[:-1]:
        single = _columns(group, schedule, stage) == 1
        schedule.set_scope(stage, "register" if single else "stack")


def _run_in_blocks(schedule: Schedule, group: Group, gpu: Gpu) -> None:
    """Give each block some rows, and what its stages make for each other shared memory."""
    names = _inline(schedule, _names(group), _inlined(schedule, group, gpu))
    across = _threads_of_row(group, gpu)
    home = _bind_rows(schedule, group, names, across, gpu)
    for stage in reversed(names[:-1]):
        schedule.compute_at(stage, home)
    for stage in names:
        if not _spread(schedule, stage, home, across):
            start_before_row(schedule, stage)
    for stage in names[:-1]:
        own = stays_with_threads(find_block(schedule.function, stage), home)
        schedule.set_scope(stage, "stack" if own else "shared")


def _names(group: Group) -> list[str]:
    return [block.stage.data for block in group.blocks]


def _columns(group: Group, schedule: Schedule, stage: str) -> int:
    """Return how many elements a stage makes of each row."""
    (buffer,) = written(find_block(schedule.function, stage))
    return math.prod(shape_of(buffer)) // group.row_count


def _inline(schedule: Schedule, names: list[str], wanted: list[str]) -> list[str]:
    """Compute stages where they are read, as far as they are formulas; return those that stay."""
    left = list(names)
    for name in wanted:
        if is_formula(find_block(schedule.function, name)):
            schedule.inline(name)
            left.remove(name)
    return left


def _inlined(schedule: Schedule, group: Group, gpu: Gpu) -> list[str]:
    """Return the stages to compute again in each reader: numbers of a row, and too long rows."""
    before = group.blocks[:-1]
    fits = sum(row_bytes(group, block) for block in before) <= gpu.shared_bytes // SHARED_PART
    names = [block.stage.data for block in before]
    return [name for name in names if not fits or _columns(group, schedule, name) == 1]


def _threads_of_row(group: Group, gpu: Gpu) -> int:
    """Return how many threads share a row."""
    wanted = max(SUBGROUP, group.row_length // ELEMENTS)
    return min(1 << (wanted - 1).bit_length(), THREADS, gpu.threads)


def _rows_outside(
    schedule: Schedule, stage: str, rows: list[int]
) -> tuple[list[ForOp], list[ForOp]]:
    """Put the loops over rows outside of the others; return both."""
    loops = schedule.axes(stage)
    outer = [loops[axis] for axis in rows]
    inner = [loop for loop in loops if loop not in outer]
    if outer and inner:
        schedule.reorder(*outer, *inner)
    return outer, inner


def _bind_rows(schedule: Schedule, group: Group, names: list[str], across: int, gpu: Gpu) -> ForOp:
    """Give blocks the rows of the last stage; return the loop in which the others are computed."""
    outer, inner = _rows_outside(schedule, names[-1], list(group.rows))
    if not outer:
        return bind_blocks(schedule, schedule.split(inner[0], inner[0].trips)[0], gpu)
    count = _rows_at_once(group, outer[-1].trips, across, gpu)
    home: ForOp | None = None
    if count > 1:
        outer[-1], home = schedule.split(outer[-1], count)
        schedule.bind(home, ForKind.THREAD_Y)
    block = bind_blocks(schedule, fuse_all(schedule, outer), gpu)
    return home or block


def _rows_at_once(group: Group, rows: int, across: int, gpu: Gpu) -> int:
    """Return how many rows a block takes: as many as it has threads and shared memory for."""
    size = sum(row_bytes(group, block) for block in group.blocks[:-1])
    count = min(THREADS // across, gpu.shared_bytes // SHARED_PART // max(size, 1))
    count = min(count, group.row_count // BLOCKS)
    while count > 1 and rows % count:
        count -= 1
    return max(count, 1)


def _spread(schedule: Schedule, stage: str, home: ForOp, across: int) -> bool:
    """Let threads go through a stage's part of a row; return whether they share its sums."""
    loops = schedule.axes(stage)
    block, inner = find_block(schedule.function, stage), loops[loops.index(home) + 1 :]
    reduced = [loop for loop in inner if kinds_bound(loop, block) - {Kind.PAR}]
    free = [loop for loop in inner if loop not in reduced]
    wide = [loop for loop in free if loop.trips > 1]
    if free and reduced:
        schedule.reorder(*free, *reduced)
    if not wide and not reduced:
        return False
    outer, thread = schedule.split(fuse_all(schedule, free if wide else reduced), across)
    schedule.reorder(thread, outer)
    schedule.bind(thread, ForKind.THREAD_X)
    if outer.trips <= UNROLLED:
        schedule.unroll(outer)
    return not wide


def stays_with_threads(block: BlockOp, home: ForOp) -> bool:
    """Return whether each thread reads of a stage's row what it has made, and no more than a few.

    So it is where all go through the row in the same way.
    """
    (buffer,) = written(block)
    if is_reduction(block):
        return False
    paths = [
        _path(access, user, home)
        for user in accessors(buffer)
        for access in accesses(user)
        if access.memref is buffer
    ]
    return None not in paths and len(set(paths)) == 1


def _path(access: LoadOp | StoreOp, block: BlockOp, home: ForOp) -> Hashable:
    """Return how an access goes through a row: the threads, and the steps of each; else None."""
    around, indices = loops_around(block), list(block.indices)
    inner = [loop for loop in around[around.index(home) + 1 :] if loop.trips > 1]
    exprs = [expr for expr in access_exprs(access, block) if expr is not None]
    if len(exprs) < len(shape_of(access.memref)) or not inner or not inner[0].how.is_thread:
        return None
    form = flat_form(exprs, shape_of(access.memref), ranges_of(indices))
    threads, steps = inner[0].trips, math.prod(loop.trips for loop in inner[1:])
    wanted = {inner[0]: 1} | {loop: threads for loop in inner[1:2]}
    for atom, factor in form.terms.items():
        loops = [loop_of(indices[dim]) for dim in atom.used_dims()]
        if any(loop in inner for loop in loops):
            if not isinstance(atom, AffineDimExpr) or wanted.pop(loops[0], None) != factor:
                return None
    return (threads, steps) if not wanted and steps <= OWN and len(inner) < 3 else None
