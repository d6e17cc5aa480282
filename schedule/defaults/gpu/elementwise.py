"""Stages without reuse: a thread for each element, or for each four that lie side by side."""

from __future__ import annotations

import math

from xdsl.ir.affine import AffineExpr

from nn_opt.dialects.loop import BlockOp, ForOp, LoadOp, StoreOp
from nn_opt.ir.affine import flat_form
from nn_opt.ir.target import Gpu
from nn_opt.ir.types import element_type, numpy_dtype, shape_of
from nn_opt.schedule.defaults.elementwise import accesses, merge_contiguous
from nn_opt.schedule.defaults.facts import step, vectorizable
from nn_opt.schedule.defaults.gpu.grids import bind_elements, fuse_all
from nn_opt.schedule.defaults.gpu.transposes import schedule_transposed
from nn_opt.schedule.nest import access_exprs, find_block, ranges_of
from nn_opt.schedule.schedule import Schedule

VECTOR = 4  # elements: loads and stores of 16 bytes
FEWEST = 4096  # elements that are enough for threads of a vector each


def schedule_elements(schedule: Schedule, stage: str, gpu: Gpu) -> None:
    """Give each thread one element of a stage, or a vector of them."""
    if schedule_transposed(schedule, stage, gpu):
        return
    merge_contiguous(schedule, stage)
    loops = schedule.axes(stage)
    vector: ForOp | None = None
    if _fills_vectors(find_block(schedule.function, stage), loops):
        outer, vector = schedule.split(loops[-1], VECTOR)
        loops = [*loops[:-1], outer]
    bind_elements(schedule, fuse_all(schedule, loops), gpu)
    if vector is not None:
        schedule.vectorize(vector)


def _fills_vectors(block: BlockOp, loops: list[ForOp]) -> bool:
    """Return whether the innermost loop is cut into vectors that each lie in one piece."""
    inner = loops[-1]
    elements = math.prod(loop.trips for loop in loops)
    if inner.trips % VECTOR or elements < FEWEST or not vectorizable(block, inner):
        return False
    wide = [access for access in accesses(block) if step(access, block, inner) == 1]
    return all(_is_aligned(access, block, inner) for access in wide)


def _is_aligned(access: LoadOp | StoreOp, block: BlockOp, inner: ForOp) -> bool:
    """Return whether an access meets its buffer's vectors where those begin."""
    known = access_exprs(access, block)
    exprs = [expr for expr in known if expr is not None]
    if len(exprs) < len(known) or numpy_dtype(element_type(access.memref)).itemsize != VECTOR:
        return False
    form = flat_form(exprs, shape_of(access.memref), ranges_of(block.indices))
    place = AffineExpr.dimension(list(block.indices).index(inner.index))
    others = (factor for atom, factor in form.terms.items() if atom != place)
    return form.constant % VECTOR == 0 and all(factor % VECTOR == 0 for factor in others)
