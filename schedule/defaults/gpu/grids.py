"""How loops become blocks and threads: sizes that suit any GPU, and limits of the one meant."""

from __future__ import annotations

import math
from collections.abc import Sequence

from nn_opt.dialects.loop import ForKind, ForOp
from nn_opt.ir.target import Gpu
from nn_opt.schedule.schedule import Schedule

THREADS = 256  # of a block: several blocks fit on a multiprocessor, whatever GPU it is
SUBGROUP = 32  # threads that run in step on most GPUs; a multiple of what runs so on the others
FEW_ELEMENTS = 1 << 16  # that small blocks spread over more multiprocessors


def fuse_all(schedule: Schedule, loops: Sequence[ForOp]) -> ForOp:
    """Make perfectly nested loops one; return it."""
    fused = loops[0]
    for inner in loops[1:]:
        fused = schedule.fuse(fused, inner)
    return fused


def bind_elements(schedule: Schedule, loop: ForOp, gpu: Gpu) -> ForOp:
    """Split a loop over blocks of threads, an iteration each; return the loop over threads."""
    blocks, thread = schedule.split(loop, block_threads(loop.trips, gpu))
    schedule.bind(thread, ForKind.THREAD_X)
    bind_blocks(schedule, blocks, gpu)
    return thread


def block_threads(elements: int, gpu: Gpu) -> int:
    """Return how many threads a block has whose grid has a thread an element."""
    threads = THREADS if elements >= FEW_ELEMENTS else THREADS // 4
    return min(threads, gpu.threads, elements)


def bind_blocks(schedule: Schedule, loop: ForOp, gpu: Gpu) -> ForOp:
    """Bind a loop to blocks along x, and along y where those are too few; return the inner one."""
    if loop.trips > gpu.grid[0]:
        rows = math.ceil(loop.trips / gpu.grid[0])
        while loop.trips % rows and rows * 2 <= gpu.grid[1]:
            rows += 1
        outer, loop = schedule.split(loop, math.ceil(loop.trips / rows))
        schedule.bind(outer, ForKind.BLOCK_Y)
    schedule.bind(loop, ForKind.BLOCK_X)
    return loop
