"""One thread an element: what any stage can do, whatever it computes."""

from __future__ import annotations

from nn_opt.dialects.loop import BlockOp, ForKind, ForOp, Kind
from nn_opt.ir.target import Gpu
from nn_opt.schedule.defaults.facts import axis_loops, is_reduction, stages
from nn_opt.schedule.nest import find_block, kinds_bound, loops_around, only_child, written
from nn_opt.schedule.schedule import Schedule

THREADS = 256  # of a block: several blocks fit on a multiprocessor, whatever GPU it is


def schedule_plain(schedule: Schedule, gpu: Gpu) -> None:
    """Give each element of every stage that has no bound loop yet a thread."""
    for stage in [block.stage.data for block in stages(schedule.function)]:
        loops = loops_around(find_block(schedule.function, stage))
        if not any(loop.how.is_bound for loop in loops) and all(loop.trips for loop in loops):
            bind_elements(schedule, stage, gpu)


def bind_elements(schedule: Schedule, stage: str, gpu: Gpu) -> None:
    """Make a stage's independent loops one; its iterations are threads, in blocks."""
    loops = _loops(schedule, stage)
    if not loops:
        return  # it has one element and no loop
    block = find_block(schedule.function, stage)
    independent = _outermost(loops, block)
    if not independent:
        _run_alone(schedule, loops[0])
        return
    fused = independent[0]
    for inner in independent[1:]:
        fused = schedule.fuse(fused, inner)
    threads = min(THREADS, gpu.threads, fused.trips)
    blocks, thread = schedule.split(fused, threads)
    if is_reduction(block) and len(written(block)) == 1:
        _accumulate_in_register(schedule, stage, thread)
    schedule.bind(thread, ForKind.THREAD_X)
    _bind_blocks(schedule, blocks, gpu)


def _loops(schedule: Schedule, stage: str) -> list[ForOp]:
    """Return the loops of a stage's axes, without those of time around them."""
    count = len(axis_loops(find_block(schedule.function, stage)))
    return schedule.axes(stage)[-count:] if count else []


def _outermost(loops: list[ForOp], block: BlockOp) -> list[ForOp]:
    """Return those of the outermost loops whose iterations are independent, each the next's own."""
    found: list[ForOp] = []
    for loop in loops:
        if kinds_bound(loop, block) - {Kind.PAR} or (found and only_child(found[-1]) is not loop):
            break
        found.append(loop)
    return found


def _accumulate_in_register(schedule: Schedule, stage: str, thread: ForOp) -> None:
    """Write the result of a reduction once, when it is complete."""
    copy = schedule.cache_write(stage)
    schedule.reverse_compute_at(copy, thread)
    schedule.set_scope(stage, "register")


def _run_alone(schedule: Schedule, loop: ForOp) -> None:
    """Run a stage of one result in one thread."""
    outer, _ = schedule.split(loop, max(loop.trips, 1))
    schedule.bind(outer, ForKind.BLOCK_X)


def _bind_blocks(schedule: Schedule, blocks: ForOp, gpu: Gpu) -> None:
    """Bind a loop to blocks along x, and along y where those are too few."""
    if blocks.trips > gpu.grid[0]:
        rows, blocks = schedule.split(blocks, gpu.grid[0])
        schedule.bind(rows, ForKind.BLOCK_Y)
    schedule.bind(blocks, ForKind.BLOCK_X)
