"""Each primitive keeps what a kernel computes, and refuses where it would not."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from kernels import (
    CHAIN,
    CONV,
    FAN,
    KERNELS,
    MATMUL,
    ORDERED,
    PLACES,
    PLACES_2D,
    SOFTMAX,
    SUM_2D,
    assert_right,
    loops,
)
from xdsl.utils.exceptions import PassFailedException

from nn_opt.dialects.loop import AllocOp, ForKind
from nn_opt.ir.types import memory_space
from nn_opt.schedule.nest import find_block, loops_around
from nn_opt.schedule.schedule import Schedule
from nn_opt.schedule.script import replay

Script = Callable[[Schedule], object]


def split_evenly(s: Schedule) -> None:
    s.split(s.axes("matmul")[0], 3)


def split_with_tail(s: Schedule) -> None:
    m, n, k = s.axes("matmul")
    s.split(n, 8)
    s.split(m, 4)
    s.split(k, 4)


def split_a_split(s: Schedule) -> None:
    outer, inner = s.split(s.axes("matmul")[1], 8)
    s.split(outer, 2)
    s.split(inner, 3)


def fuse_loops(s: Schedule) -> None:
    m, n, _ = s.axes("matmul")
    s.fuse(m, n)


def fuse_then_split(s: Schedule) -> None:
    n, c, h, v = s.axes("neg")
    s.split(s.fuse(s.fuse(n, c), s.fuse(h, v)), 16)


def reorder_loops(s: Schedule) -> None:
    m, n, k = s.axes("matmul")
    s.reorder(k, n, m)


def reorder_two_of_many(s: Schedule) -> None:
    axes = s.axes("conv")
    s.reorder(axes[7], axes[2])


def tile_loops(s: Schedule) -> None:
    m, n, _ = s.axes("matmul")
    s.tile(m, n, 4, 8)


def annotate(s: Schedule) -> None:
    m, n, k = s.axes("matmul")
    s.reorder(m, k, n)
    s.parallel(m)
    s.unroll(k)
    s.vectorize(n)


def inline_a_chain(s: Schedule) -> None:
    s.inline("mul")


def inline_into_two_readers(s: Schedule) -> None:
    s.inline("exp")


def compute_at_row(s: Schedule) -> None:
    row = s.axes("div")[0]
    for stage in ("sum", "exp", "max"):
        s.compute_at(stage, row)


def compute_at_shrinks(s: Schedule) -> None:
    s.compute_at("mul", s.axes("neg")[2])


def compute_at_for_readers_behind(s: Schedule) -> None:
    """`div` reads what all rows made."""
    row, k = s.axes("sum")
    s.compute_at("exp", s.split(k, 7)[0])
    s.compute_at("max", row)


def reverse_compute_at_beside_a_reader(s: Schedule) -> None:
    """`exp` and `sum` read the same, and now row by row together."""
    row = s.axes("exp")[0]
    s.reverse_compute_at("sum", row)
    s.compute_at("first", s.axes("join")[0])
    s.compute_at("double", row)


def reverse_compute_at_tile(s: Schedule) -> None:
    s.inline("bias")
    n, fo, p, q, fi, co, r, t, ci = s.axes("conv")
    qo, qi = s.split(q, 4)
    s.reorder(n, fo, p, qo, co, r, t, ci, qi, fi)
    s.reverse_compute_at("relu", qo)


def cache_the_input(s: Schedule) -> None:
    s.cache_read("conv", 0)


def cache_the_input_row_by_row(s: Schedule) -> None:
    copy = s.cache_read("conv", 0)
    s.compute_at(copy, s.axes("conv")[2])
    s.set_scope(copy, "stack")


def cache_the_output(s: Schedule) -> None:
    s.cache_write("matmul")


def register_tile(s: Schedule) -> None:
    copy = s.cache_write("matmul")
    m, n, k = s.axes("matmul")
    mo, no, mi, ni = s.tile(m, n, 4, 8)
    s.reorder(mo, no, k, mi, ni)
    s.reverse_compute_at(copy, no)
    s.decompose_init("matmul", k)
    s.set_scope("matmul", "register")


def decompose_at_outer_loop(s: Schedule) -> None:
    s.decompose_init("matmul", s.axes("matmul")[0])


def factor_a_sum(s: Schedule) -> None:
    s.rfactor("sum", s.split(s.axes("sum")[1], 7)[1])


def factor_fused_sum(s: Schedule) -> None:
    """16 iterations of a fused loop of 3 * 6 * 6: every axis moves, none by a constant."""
    _, j, k, m = s.axes("sum")
    lane = s.split(s.fuse(s.fuse(j, k), m), 16)[1]
    s.set_scope(s.rfactor("sum", lane), "stack")


def factor_with_a_tail_twice(s: Schedule) -> None:
    parts = s.rfactor("max", s.split(s.axes("max")[1], 8)[1])
    s.set_scope(parts, "stack")
    assert s.rfactor("max", s.split(s.axes("max")[1], 4)[1]) == "max.parts2"


def factor_products(s: Schedule) -> None:
    parts = s.rfactor("matmul", s.split(s.axes("matmul")[2], 4)[1])
    s.decompose_init(parts, s.axes(parts)[2])
    s.vectorize(s.axes(parts)[3])


def factor_in_a_row(s: Schedule) -> None:
    s.compute_at("sum", s.axes("div")[0])
    parts = s.rfactor("sum", s.split(s.axes("sum")[1], 7)[1])
    s.set_scope(parts, "stack")


def factor_then_fission(s: Schedule) -> None:
    s.rfactor("sum", s.split(s.axes("sum")[1], 7)[0])
    s.fission(s.axes("sum")[0])
    assert s.axes("sum")[0] is not s.axes("sum.parts")[0]
    s.bind(s.axes("sum.parts")[0], "block_x")


def fission_of_one_iteration(s: Schedule) -> None:
    """No stage depends on a variable that is always 0."""
    rows = s.axes("sum")[0]
    outer, inner = s.split(rows, rows.trips)
    s.rfactor("sum", s.split(s.axes("sum")[2], 7)[0])
    s.fission(inner)
    s.fission(outer)
    assert len(s.axes("sum")) == len(s.axes("sum.parts")) - 1


SCRIPTS: list[tuple[str, Script]] = [
    (MATMUL, split_evenly),
    (MATMUL, split_with_tail),
    (MATMUL, split_a_split),
    (MATMUL, fuse_loops),
    (CHAIN, fuse_then_split),
    (MATMUL, reorder_loops),
    (CONV, reorder_two_of_many),
    (MATMUL, tile_loops),
    (MATMUL, annotate),
    (CHAIN, inline_a_chain),
    (SOFTMAX, inline_into_two_readers),
    (SOFTMAX, compute_at_row),
    (CHAIN, compute_at_shrinks),
    (SOFTMAX, compute_at_for_readers_behind),
    (FAN, reverse_compute_at_beside_a_reader),
    (CONV, reverse_compute_at_tile),
    (CONV, cache_the_input),
    (CONV, cache_the_input_row_by_row),
    (MATMUL, cache_the_output),
    (MATMUL, register_tile),
    (MATMUL, decompose_at_outer_loop),
    (SOFTMAX, factor_a_sum),
    (SUM_2D, factor_fused_sum),
    (PLACES_2D, factor_fused_sum),
    (PLACES, factor_a_sum),
    (PLACES, factor_then_fission),
    (PLACES, fission_of_one_iteration),
    (SOFTMAX, factor_with_a_tail_twice),
    (MATMUL, factor_products),
    (SOFTMAX, factor_in_a_row),
]


@pytest.mark.parametrize(("text", "script"), SCRIPTS, ids=lambda v: getattr(v, "__name__", ""))
def test_primitives_keep_the_numbers_and_replay(text: str, script: Script):
    _, module, function = loops(text)
    plain = module.clone()
    schedule = Schedule(function)
    script(schedule)
    assert str(module) != str(plain)
    assert_right(module, text)
    replayed = replay(schedule.script, plain.body.block.first_op)
    assert str(plain) == str(module)
    assert str(replayed.script) == str(schedule.script)


@pytest.mark.parametrize("text", KERNELS.values(), ids=KERNELS)
def test_plain_loops_compute_the_kernel(text: str):
    _, module, _ = loops(text)
    assert_right(module, text)


def refused(text: str, script: Script) -> str:
    _, module, function = loops(text)
    before = str(module)
    with pytest.raises(PassFailedException) as error:
        script(Schedule(function))
    assert str(module) == before, "a refused primitive changes nothing"
    return str(error.value)


def vectorize_twice(s: Schedule) -> None:
    n = s.axes("matmul")[-1]
    s.vectorize(n)
    s.unroll(n)


REFUSALS: list[tuple[str, Script, str]] = [
    (PLACES, lambda s: s.fission(s.axes("sum")[1]), "%k is no independent axis of 'sum'"),
    (MATMUL, lambda s: s.split(s.axes("matmul")[1], 4, "exact"), "4 does not divide the 21"),
    (
        MATMUL,
        lambda s: s.split(s.axes("matmul")[1], 0),
        "split: the factor of %n is 0, expected at least 1",
    ),
    (MATMUL, lambda s: s.axes("conv"), "has no stage 'conv'"),
    (MATMUL, lambda s: s.fuse(s.axes("matmul")[0], s.axes("matmul")[2]), "%k is not all that %m"),
    (MATMUL, lambda s: s.reorder(*[s.axes("matmul")[0]] * 2), "named twice"),
    (
        SOFTMAX,
        lambda s: s.reorder(s.axes("max")[0], s.axes("sum")[0]),
        "reorder: %i and %i are not in one nest",
    ),
    (
        ORDERED,
        lambda s: s.reorder(*s.axes("sum")[:0:-1]),
        "reorder: stage 'sum' accumulates in the order of its axes",
    ),
    (ORDERED, lambda s: s.vectorize(s.axes("sum")[2]), "%k runs an ordered axis"),
    (MATMUL, lambda s: s.vectorize(s.axes("matmul")[0]), "%m is not innermost"),
    (MATMUL, lambda s: s.parallel(s.axes("matmul")[2]), "%k carries the reduction of 'matmul'"),
    (
        MATMUL,
        lambda s: s.bind(s.axes("matmul")[2], "block_x"),
        "bind: loop %k carries the reduction of 'matmul'",
    ),
    (ORDERED, lambda s: s.bind(s.axes("sum")[2], "thread_x"), "%k carries the reduction of 'sum'"),
    (
        MATMUL,
        lambda s: s.bind(s.axes("matmul")[0], "warp"),
        "bind: %m is bound to 'warp', expected one of block_x, block_y",
    ),
    (SOFTMAX, lambda s: s.inline("sum"), "inline: stage 'sum' accumulates its value"),
    (MATMUL, lambda s: s.inline("matmul"), "does not write one buffer of its own"),
    (SOFTMAX, lambda s: s.compute_at("exp", s.axes("div")[0]), "'sum' reads 'exp' outside %i"),
    (FAN, lambda s: s.compute_at("double", s.axes("exp")[0]), "reads 'double' outside %i"),
    (FAN, lambda s: s.compute_at("double", s.axes("first")[0]), "reads 'double' outside %i"),
    (FAN, lambda s: s.compute_at("double", s.axes("sum")[0]), "reads 'double' outside %i"),
    (FAN, lambda s: s.compute_at("join", s.axes("sum")[0]), "does not write one buffer of its own"),
    (
        SOFTMAX,
        lambda s: s.reverse_compute_at("div", s.axes("sum")[1]),
        "reverse_compute_at: loop %k reduces 'sum'",
    ),
    (FAN, lambda s: s.reverse_compute_at("sum", s.axes("exp")[1]), "%k cuts what 'sum' reduces"),
    (
        FAN,
        lambda s: s.reverse_compute_at("first", s.axes("exp")[1]),
        "'first' reads at 0, not at a plain",
    ),
    (
        SOFTMAX,
        lambda s: s.reverse_compute_at("max", s.axes("div")[0]),
        "nothing that 'max' reads is made in %i",
    ),
    (
        MATMUL,
        lambda s: s.cache_read("matmul", 2),
        "cache_read: stage 'matmul' reads 2 buffers, not 3",
    ),
    (MATMUL, lambda s: s.set_scope("matmul", "register"), "buffer of its own"),
    (
        SOFTMAX,
        lambda s: s.set_scope("exp", "moon"),
        "set_scope: the scope is 'moon', expected one of global, shared, stack, register",
    ),
    (SOFTMAX, lambda s: s.decompose_init("exp", s.axes("exp")[0]), "'exp' has no init"),
    (
        SOFTMAX,
        lambda s: s.decompose_init("sum", s.axes("max")[0]),
        "decompose_init: stage 'sum' is not inside %i",
    ),
    (CONV, lambda s: s.decompose_init("conv", s.axes("conv")[6]), "%co already reduces 'conv'"),
    (
        SOFTMAX,
        lambda s: s.rfactor("exp", s.axes("exp")[1]),
        "rfactor: stage 'exp' does not combine into one place",
    ),
    (SOFTMAX, lambda s: s.rfactor("sum", s.axes("sum")[0]), "%i is no `reduce fast` loop of 'sum'"),
    (ORDERED, lambda s: s.rfactor("sum", s.axes("sum")[2]), "%k is no `reduce fast` loop"),
]


@pytest.mark.parametrize(
    ("text", "script", "reason"), REFUSALS, ids=lambda v: v[:40] if isinstance(v, str) else ""
)
def test_refusal_names_loop_and_reason(text: str, script: Script, reason: str):
    message = refused(text, script)
    assert reason in message


def test_annotation_of_a_marked_loop_is_refused():
    _, _, function = loops(CHAIN)
    schedule = Schedule(function)
    loop = schedule.axes("neg")[-1]
    schedule.vectorize(loop)
    with pytest.raises(PassFailedException, match="already marked vector"):
        schedule.unroll(loop)


def test_loops_of_another_function_are_refused():
    _, _, function = loops(MATMUL)
    _, _, other = loops(CHAIN)
    (loop, *_) = Schedule(other).axes("mul")
    with pytest.raises(PassFailedException, match="%n is no loop of @matmul"):
        Schedule(function).unroll(loop)


def test_dead_handle_says_what_replaced_it():
    _, _, function = loops(MATMUL)
    schedule = Schedule(function)
    m = schedule.axes("matmul")[0]
    schedule.split(m, 2)
    with pytest.raises(
        PassFailedException, match=r"the handle %m is dead: sched\.split replaced its loop"
    ):
        schedule.unroll(m)


def test_register_tile_lives_inside_the_tile_loop():
    _, _, function = loops(MATMUL)
    register_tile(Schedule(function))
    allocs = [op for op in function.walk() if isinstance(op, AllocOp)]
    assert [memory_space(alloc.result) for alloc in allocs] == ["register"]
    assert [loop.index.name_hint for loop in loops_around(allocs[0])] == ["mo", "no"]


def test_guard_conditions_only_where_the_factor_does_not_divide():
    _, _, function = loops(MATMUL)
    schedule = Schedule(function)
    schedule.split(schedule.axes("matmul")[0], 3)
    assert not find_block(function, "matmul").conditions.data.results
    schedule.split(schedule.axes("matmul")[2], 8)
    assert len(find_block(function, "matmul").conditions.data.results) == 1


def test_parallel_marks_the_loop():
    _, _, function = loops(CHAIN)
    schedule = Schedule(function)
    loop = schedule.axes("neg")[0]
    schedule.parallel(loop)
    assert loop.how is ForKind.PARALLEL


def test_bind_makes_a_grid_of_threads():
    _, _, function = loops(MATMUL)
    schedule = Schedule(function)
    m, n, _ = schedule.axes("matmul")
    schedule.bind(m, "block_x")
    schedule.bind(n, "thread_x")
    assert [loop.how for loop in schedule.axes("matmul")] == ["block_x", "thread_x", "serial"]
    assert 'sched.bind %m to "block_x"' in str(schedule.script)


def test_bind_keeps_blocks_around_threads():
    _, _, function = loops(MATMUL)
    schedule = Schedule(function)
    m, n, _ = schedule.axes("matmul")
    schedule.bind(m, "thread_x")
    with pytest.raises(
        PassFailedException, match="bind: %n is inside %m, which is bound to thread"
    ):
        schedule.bind(n, "block_x")


def test_bind_refuses_blocks_that_write_the_same():
    _, _, function = loops(SOFTMAX)
    schedule = Schedule(function)
    schedule.compute_at("max", schedule.axes("exp")[1])
    message = "bind: all iterations of %k write the same of 'max'"
    with pytest.raises(PassFailedException, match=message):
        schedule.bind(schedule.axes("exp")[1], "block_y")


def test_fission_keeps_together_what_belongs_together():
    running = Schedule(loops(PLACES)[2])
    running.decompose_init("sum", running.axes("sum")[1])
    with pytest.raises(PassFailedException, match="'sum' writes what an earlier stage uses"):
        running.fission(running.axes("sum")[0])
    row = Schedule(loops(SOFTMAX)[2])
    row.compute_at("sum", row.axes("div")[0])
    row.set_scope("sum", "stack")
    with pytest.raises(PassFailedException, match=r"fission: %i holds a loop\.alloc"):
        row.fission(row.axes("div")[0])
