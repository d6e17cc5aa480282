"""Winograd kernels: every step keeps the numbers, products are register tiles in cached groups."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from lowering import STEPS, lower
from winograd_kernels import Case
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.utils.exceptions import PassFailedException

from nn_opt.backends.llvm import print_module
from nn_opt.backends.llvm.object import emit_assembly
from nn_opt.dialects.loop import AllocOp, ForKind, ForOp
from nn_opt.ir.target import TARGETS, set_target
from nn_opt.ir.types import memory_space, shape_of
from nn_opt.registry import load_pass
from nn_opt.schedule.defaults.winograd import group_of
from nn_opt.schedule.schedule import Schedule

CASES = {
    "tiles hang over": Case(4, 7, 9),
    "tiles fit, no padding": Case(4, 10, 6, pads=(0, 0, 0, 0)),
    "uneven padding": Case(2, 5, 6, pads=(0, 2, 1, 0)),
    "several groups": Case(2, 9, 37, filters=1, inputs=1),
    "batch": Case(4, 5, 5, batch=2),
    "one tile": Case(4, 3, 3),
    "one tile of one block": Case(4, 4, 4, inputs=1, filters=1),
    "a column of tiles": Case(2, 9, 2, inputs=1, filters=1),
    "odd blocks": Case(2, 6, 6, filters=3, lanes=8),
    "parts": Case(2, 7, 7, inputs=40, filters=2),
}


def lowered(case: Case, target: str, until: str) -> ModuleOp:
    return lower(*case.loops(), target, until)


@pytest.mark.parametrize("until", ["apply-schedule", "partition-loops", "vectorize-loops"])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_every_step_keeps_the_numbers(case: Case, until: str):
    case.check(lowered(case, "x86-64-v4", until))


@pytest.mark.parametrize("target", TARGETS)
def test_every_target_keeps_the_numbers(target: str):
    case = Case(4, 6, 7, lanes=TARGETS[target].lanes)
    case.check(lowered(case, target, "vectorize-loops"))


def buffers(module: ModuleOp) -> set[tuple[str, str, tuple[int, ...]]]:
    allocs = [op for op in module.walk() if isinstance(op, AllocOp)]
    sizes = [tuple(size for size in shape_of(op.result) if size > 1) for op in allocs]
    named = zip(allocs, sizes, strict=True)
    return {(op.buffer.data, memory_space(op.result), size) for op, size in named}


def test_a_group_of_tiles_stays_in_cache_and_its_products_in_registers():
    assert buffers(lowered(Case(4, 28, 56, filters=3), "x86-64-v4", "compact-buffers")) == {
        ("conv.v.in0", "stack", (6, 58, 16)),  # pixels and padding of one block of channels
        ("conv.v", "global", (6, 6, 2, 14, 16)),  # a row of 14 tiles, all channels
        ("conv.m", "register", (14, 16)),
        ("conv.m", "global", (6, 6, 3, 14, 16)),
        ("conv.y", "register", (4, 4, 16)),
    }


@pytest.mark.parametrize(
    ("image", "channels", "group"),
    [
        ((14, 14), 64, (1, 14, 1, 1)),  # rows of tiles as long as the registers reach
        ((7, 7), 128, (2, 7, 1, 1)),
        ((4, 4), 256, (4, 4, 1, 1)),
        ((4, 4), 512, (2, 4, 2, 2)),  # 16 tiles of 512 channels would fill L1
        ((56, 56), 64, (1, 14, 1, 1)),
        ((2, 2), 512, (2, 2, 1, 1)),
    ],
)
def test_groups_fit_registers_and_cache(image: tuple[int, int], channels: int, group: object):
    found = group_of(*image, 4 * channels, 4, TARGETS["x86-64-v4"])
    assert (found.rows, found.columns, found.parts, found.vectors) == group


def test_pairs_share_what_they_load():
    found = group_of(28, 28, 2 * 64, 4, TARGETS["zen4"], pairs=True)
    assert (found.rows, found.columns, found.parts, found.vectors) == (1, 10, 1, 2)
    assert group_of(28, 28, 2 * 64, 3, TARGETS["zen4"], pairs=True).vectors == 1


def test_few_registers_take_a_group_in_parts():
    found = group_of(4, 4, 256, 4, TARGETS["x86-64-v3"])
    assert (found.rows, found.columns, found.parts, found.vectors) == (2, 4, 2, 1)


def test_long_steps_are_split_over_threads_inside_a_group():
    module = lowered(Case(4, 28, 56, inputs=8, filters=8), "x86-64-v4", "apply-schedule")
    parallel = [op for op in module.walk() if isinstance(op, ForOp) and op.how is ForKind.PARALLEL]
    assert [loop.trips for loop in parallel] == [8, 6, 6, 8]  # channels; points; filters


def schedule_of(case: Case) -> Schedule:
    _, module = case.loops()
    function = module.body.block.first_op
    assert isinstance(function, FuncOp)
    schedule = Schedule(function)
    schedule.inline("conv")
    schedule.inline("add")
    return schedule


def test_a_stacked_stage_moves_to_its_reader():
    case = Case(2, 6, 9)
    schedule = schedule_of(case)
    schedule.compute_at("conv.v", schedule.axes("conv.m")[4])
    module = schedule.function.parent_op()
    assert isinstance(module, ModuleOp)
    case.check(module)


def test_a_reader_of_tiles_follows_the_rows_of_tiles():
    case = Case(4, 7, 9)
    schedule = schedule_of(case)
    rows = schedule.axes("conv.y")[2]
    schedule.reverse_compute_at("relu", rows)
    assert [loop.trips for loop in schedule.axes("relu")] == [1, 2, 2, 1, 4, 3 * 4, 16]
    module = schedule.function.parent_op()
    assert isinstance(module, ModuleOp)
    case.check(module)


def test_a_reader_of_stacked_elements_cannot_follow_one_of_them():
    schedule = schedule_of(Case(2, 6, 6))
    points = schedule.axes("conv.m")[0]
    with pytest.raises(PassFailedException, match="not at a plain axis"):
        schedule.reverse_compute_at("conv.y", points)


def test_a_stacked_stage_has_no_single_formula():
    schedule = schedule_of(Case(2, 6, 6))
    with pytest.raises(PassFailedException, match="inline"):
        schedule.inline("conv.y")


@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize(
    "case", [Case(4, 28, 56), Case(4, 28, 28), Case(2, 7, 7)], ids=["row", "rows", "image"]
)
def test_products_never_leave_registers(target: str, case: Case):
    lanes = TARGETS[target].lanes
    ctx, module = replace(case, lanes=lanes).loops()
    set_target(module, target)
    for name in (*STEPS, "plan-memory", "convert-loop-to-llvm"):
        load_pass(name)().apply(ctx, module)
    code = emit_assembly(print_module(module), TARGETS[target])
    blocks = [block.splitlines() for block in re.split(r"\n\.L\w+:", code)]
    product = max(blocks, key=lambda lines: sum("vfmadd" in line for line in lines) / len(lines))
    assert sum("vfmadd" in line for line in product) >= 4 * 7
    assert not [line for line in product if "(%rsp)" in line and re.search("[yz]mm", line)]
