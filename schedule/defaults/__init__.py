"""Default schedules: a kernel and a target in, a script out."""

from __future__ import annotations

from xdsl.dialects.func import FuncOp

from nn_opt.dialects.loop import BlockOp, ForKind, ForOp, Kind
from nn_opt.ir.target import Target
from nn_opt.schedule.defaults.attention import find_attention, schedule_attention
from nn_opt.schedule.defaults.dots import dot_intrinsic, schedule_dots
from nn_opt.schedule.defaults.elementwise import schedule_pass
from nn_opt.schedule.defaults.facts import is_reduction, stages, work
from nn_opt.schedule.defaults.gpu import gpu_schedule
from nn_opt.schedule.defaults.inlining import inline_stages
from nn_opt.schedule.defaults.nested_sums import nested_sums, schedule_nested_sums
from nn_opt.schedule.defaults.rows import schedule_rows
from nn_opt.schedule.defaults.sums import reduces_rows
from nn_opt.schedule.defaults.tiled import choose_tile, schedule_tiled, with_columns
from nn_opt.schedule.defaults.vector_products import (
    is_vector_product,
    schedule_vector_product,
)
from nn_opt.schedule.defaults.windows import schedule_window, window_of
from nn_opt.schedule.defaults.winograd import schedule_winograd, winograd_stages
from nn_opt.schedule.loops import writes_inside
from nn_opt.schedule.nest import blocks_in, find_block, kinds_bound, loops_around, only_child
from nn_opt.schedule.schedule import Schedule

PARALLEL_WORK = 100_000  # additions: about 5 us of one core, below which threads do not pay
BALANCED = 32  # iterations that threads share evenly: of fewer, the last ones leave some idle


def default_schedule(function: FuncOp, target: Target, columns: int | None = None) -> Schedule:
    """Schedule a kernel whose stages are plain nests; the result holds the script.

    columns: elements along the lanes of a register tile, instead of those that cost least.
    """
    if target.gpu is not None:
        return gpu_schedule(function, target)
    schedule = Schedule(function)
    attention = find_attention(schedule, target)
    if attention is not None:
        schedule_attention(schedule, attention, target)
        _run_parallel(schedule)
        return schedule
    inline_stages(schedule)
    winograd = winograd_stages(schedule)
    if winograd is not None:
        schedule_winograd(schedule, winograd, target)
        return schedule
    _schedule_stages(schedule, target, columns)
    _run_parallel(schedule)
    return schedule


def _schedule_stages(schedule: Schedule, target: Target, columns: int | None) -> None:
    reductions = [block for block in stages(schedule.function) if is_reduction(block)]
    if not reductions:
        for block in stages(schedule.function):
            schedule_pass(schedule, block.stage.data, target)
        return
    if _schedule_special(schedule, reductions, target):
        _schedule_plain(schedule, target)
        return
    one = len(reductions) == 1 and not reduces_rows(reductions[0], target)
    tile = choose_tile(reductions[0], target) if one else None
    if tile is None:
        schedule_rows(schedule, target)
        return
    if columns is not None:
        tile = with_columns(tile, reductions[0], columns, target)
    untouched = [b.stage.data for b in stages(schedule.function) if b is not reductions[0]]
    intrinsic = dot_intrinsic(schedule, reductions[0].stage.data, tile, target)
    window = window_of(reductions[0], target)
    if intrinsic is not None:
        schedule_dots(schedule, reductions[0].stage.data, tile, intrinsic, target)
    elif window is not None:
        schedule_window(schedule, reductions[0].stage.data, window, target)
    else:
        schedule_tiled(schedule, reductions[0].stage.data, tile, target)
    for stage in untouched:
        if _is_plain(schedule, stage):
            schedule_pass(schedule, stage, target)


def _schedule_special(schedule: Schedule, reductions: list[BlockOp], target: Target) -> bool:
    """Schedule the reductions of a kernel that has a form of its own; return whether it has."""
    if len(reductions) == 1 and is_vector_product(reductions[0]):
        schedule_vector_product(schedule, reductions[0].stage.data, target)
        return True
    nested = nested_sums(schedule, target)
    if nested is not None:
        schedule_nested_sums(schedule, nested, target)
    return nested is not None


def _schedule_plain(schedule: Schedule, target: Target) -> None:
    """Schedule the stages without a reduction, which no primitive has touched."""
    for block in stages(schedule.function):
        if not is_reduction(block) and _is_plain(schedule, block.stage.data):
            schedule_pass(schedule, block.stage.data, target)


def _is_plain(schedule: Schedule, stage: str) -> bool:
    """Return whether no primitive has marked a stage's loops yet."""
    loops = loops_around(find_block(schedule.function, stage))
    return all(loop.how is ForKind.SERIAL for loop in loops)


def _run_parallel(schedule: Schedule) -> None:
    """Split each top-level nest that is worth it over threads."""
    for op in list(schedule.function.body.block.ops):
        if isinstance(op, ForOp) and work(op) >= PARALLEL_WORK:
            _parallelise_nest(schedule, op)


def _parallelise_nest(schedule: Schedule, top: ForOp) -> None:
    """Split the outermost independent loops, which run as one, until there are enough iterations.

    An inner loop joins in only if the one around it holds nothing else.
    """
    blocks = blocks_in(top)
    iterations = 1
    for loop in schedule.axes(blocks[0].stage.data):
        if loop.how is not ForKind.SERIAL or any(_hinders(loop, block) for block in blocks):
            return
        if loop.trips > 1:
            schedule.parallel(loop)
        iterations *= loop.trips
        if iterations >= BALANCED or (iterations > 1 and only_child(loop) is None):
            return


def _hinders(loop: ForOp, block: BlockOp) -> bool:
    """Return whether a loop's iterations of a block depend on each other or do the same."""
    kinds = kinds_bound(loop, block)
    if loop.trips == 1 or writes_inside(block, loop):
        return bool(kinds - {Kind.PAR})
    return kinds != {Kind.PAR}
