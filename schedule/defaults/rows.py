"""Kernels of several stages over the same rows, such as softmax: row by row, while in cache."""

from __future__ import annotations

import math

from xdsl.ir.affine import AffineExpr

from nn_opt.dialects.loop import AllocOp, BlockOp, ForOp, StoreOp
from nn_opt.ir.target import Target
from nn_opt.ir.types import shape_of
from nn_opt.schedule.defaults.elementwise import schedule_pass
from nn_opt.schedule.defaults.facts import (
    is_reduction,
    loads_of,
    local_buffer,
    par_axes,
    readers,
    stages,
)
from nn_opt.schedule.defaults.sums import schedule_sum
from nn_opt.schedule.nest import access_exprs, find_block, is_inside
from nn_opt.schedule.schedule import Schedule

ROWS = 4  # taken at once
MANY_ROWS = 32  # that a few more at the end do not matter
SHORT_ROW = 1024  # elements; longer rows keep a core busy by themselves
STACK_BYTES = 64 << 10  # a row's temporaries leave room on a thread's stack, and stay in L2


def schedule_rows(schedule: Schedule, target: Target) -> None:
    """Compute every earlier stage at the last stage's rows, then vectorise each along the row."""
    last = stages(schedule.function)[-1]
    if is_reduction(last) and local_buffer(last) is None and _results(last) == 1:
        schedule.cache_write(last.stage.data)
    names = [block.stage.data for block in stages(schedule.function)]
    depth = _shared_depth(schedule)
    if depth and len(names) > 1:
        rows = _rows_at_once(schedule, depth)
        row_loop = schedule.axes(names[-1])[depth - 1]
        if rows > 1:
            row_loop = schedule.split(row_loop, rows)[0]
        for stage in reversed(names[:-1]):
            _move_to_row(schedule, stage, row_loop, depth, rows)
    for stage in names:
        if is_reduction(find_block(schedule.function, stage)):
            schedule_sum(schedule, stage, target)
        else:
            schedule_pass(schedule, stage, target)


def _rows_at_once(schedule: Schedule, depth: int) -> int:
    """Return how many rows one iteration takes: some if short, as each stage waits for another."""
    final = stages(schedule.function)[-1]
    sizes = final.axis_sizes
    row = math.prod(sizes[depth:])
    if row == 1 or row > SHORT_ROW or (sizes[depth - 1] % ROWS and sizes[depth - 1] < MANY_ROWS):
        return 1
    return ROWS


def _results(block: BlockOp) -> int:
    """Return how many buffers a stage writes; a custom combiner may have several."""
    return len({op.memref for op in block.body.block.ops if isinstance(op, StoreOp)})


def _shared_depth(schedule: Schedule) -> int:
    """Return how many leading axes of the last stage every earlier one has, and is read at."""
    *earlier, final = stages(schedule.function)
    depth = len(par_axes(final))
    for block in earlier:
        depth = min(depth, _common_axes(block, final), _axes_of_readers(block))
    return depth


def _axes_of_readers(block: BlockOp) -> int:
    """Return at how many leading axes every reader of a sum reads its own place alone.

    What is no sum can be computed again for readers of other places.
    """
    alloc = local_buffer(block)
    depth = len(par_axes(block))
    if alloc is None or not is_reduction(block):
        return depth
    sizes = shape_of(alloc.result)
    for reader in readers(block):
        for load in loads_of(alloc.result, reader):
            exprs = access_exprs(load, reader)
            if None in exprs:  # which keeps the stage where it is
                continue
            own = [
                s == 1 or e == AffineExpr.dimension(d)
                for d, (s, e) in enumerate(zip(sizes, exprs, strict=True))
            ]
            depth = min(depth, own.index(False) if False in own else depth)
    return depth


def _common_axes(block: BlockOp, final: BlockOp) -> int:
    count = 0
    own = len(par_axes(block))
    for mine, theirs in zip(block.axis_sizes[:own], final.axis_sizes, strict=False):
        if mine != theirs:
            break
        count += 1
    return count


def _move_to_row(schedule: Schedule, stage: str, row_loop: ForOp, depth: int, rows: int) -> None:
    """compute_at the rows' loop; a row's results stay in registers or on the stack."""
    block = find_block(schedule.function, stage)
    alloc = local_buffer(block)
    if alloc is None or not readers(block):
        return
    if not all(_reads_rows(reader, alloc, row_loop) for reader in readers(block)):
        return
    schedule.compute_at(stage, row_loop)
    elements = rows * math.prod(shape_of(alloc.result)[depth:])
    if elements == 1 and is_reduction(block):
        schedule.set_scope(stage, "register")
    elif elements * 4 <= STACK_BYTES:
        schedule.set_scope(stage, "stack")


def _reads_rows(reader: BlockOp, alloc: AllocOp, row_loop: ForOp) -> bool:
    """Return whether a stage runs in the rows' loop and its reads are known for each row."""
    known = all(None not in access_exprs(load, reader) for load in loads_of(alloc.result, reader))
    return known and is_inside(reader, row_loop)
