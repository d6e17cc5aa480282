"""plan-memory: plans that are sound and small, and programs that still compute the same."""

import ctypes
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from machine import Machine
from xdsl.dialects.builtin import AffineMapAttr
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.utils.exceptions import PassFailedException, VerifyException

from nn_opt.dialects import loop
from nn_opt.ir.parsing import make_context, parse_module
from nn_opt.ir.remarks import collect_remarks
from nn_opt.passes.plan_memory import PlanMemoryPass
from nn_opt.passes.plan_memory_check import check_plan, function_named, placed_buffers
from nn_opt.passes.plan_memory_in_place import pairs_in_place
from nn_opt.passes.plan_memory_offsets import (
    Interval,
    aligned,
    arena_size,
    lower_bound,
    place,
    plan_of,
)

intervals = st.lists(
    st.builds(
        lambda size, first, length: Interval("b", size, first, first + length),
        st.integers(0, 5000),
        st.integers(0, 30),
        st.integers(0, 12),
    ),
    max_size=25,
)


@given(intervals)
def test_no_two_buffers_in_use_at_the_same_step_overlap(buffers: list[Interval]):
    offsets = place(buffers)
    for (a, at), (b, bt) in combinations(zip(buffers, offsets, strict=True), 2):
        if a.first <= b.last and b.first <= a.last:
            assert at + a.size <= bt or bt + b.size <= at or not a.size or not b.size
    assert all(offset % 64 == 0 and offset >= 0 for offset in offsets)


@given(intervals)
def test_an_arena_is_between_the_lower_bound_and_the_sum(buffers: list[Interval]):
    size = arena_size(buffers, place(buffers))
    busiest = max(
        (sum(aligned(b.size) for b in buffers if b.first <= t <= b.last) for t in range(50)),
        default=0,
    )
    assert lower_bound(buffers) == busiest
    assert busiest <= size <= sum(aligned(b.size) for b in buffers)


def test_a_chain_of_buffers_needs_two_places():
    chain = [Interval("b", 640, k, k + 1) for k in range(9)]
    assert arena_size(chain, place(chain)) == lower_bound(chain) == 1280


def test_what_ends_last_is_tried_first():
    # No order by size or time alone places these without a gap.
    sizes = [(256, 4, 5), (320, 3, 3), (128, 0, 1), (128, 4, 6), (128, 3, 5)]
    buffers = [Interval("b", *numbers) for numbers in sizes]
    assert arena_size(buffers, place(buffers)) == lower_bound(buffers)


def kernel(name: str, body: str, size: int = 4096) -> str:
    t = f"memref<{size}xf32>"
    return f"""
    func.func private @{name}(%x: {t}, %y: {t}) attributes {{kernel, num_outputs = 1 : i64}} {{
      {body}
      func.return
    }}"""


DOUBLE = """loop.for %i = 0 to 256 {
        %a = loop.load %x[16 * %i] : memref<4096xf32>, vector<16xf32>
        %b = arith.addf %a, %a : vector<16xf32>
        loop.store %b, %y[16 * %i] : memref<4096xf32>, vector<16xf32>
      }"""
REVERSE = """loop.for %i = 0 to 4096 {
        %a = loop.load %x[%i] : memref<4096xf32>
        loop.store %a, %y[4095 - %i] : memref<4096xf32>
      }"""
T = "memref<4096xf32>"
KERNELS = kernel("double", DOUBLE) + kernel("reverse", REVERSE)


def chain(*kernels: str) -> str:
    """A @main that runs kernels one after the other, from %x to %y."""
    lines, now = [], "%x"
    for k, name in enumerate(kernels):
        last = k == len(kernels) - 1
        after = "%y" if last else f"%t{k}"
        if not last:
            lines.append(f'{after} = loop.alloc "t{k}" : {T}')
        lines.append(f"func.call @{name}({now}, {after}) : ({T}, {T}) -> ()")
        now = after
    text = "\n      ".join(lines)
    return f"""
    func.func @main(%x: {T}, %y: {T}) attributes {{num_outputs = 1 : i64}} {{
      {text}
      func.return
    }}"""


def planned(text: str):
    module = parse_module(make_context(), text, "test.mlir")
    module.verify()
    PlanMemoryPass().apply(make_context(), module)
    module.verify()
    return module


def run_main(text: str, x: np.ndarray, y: np.ndarray) -> None:
    """Run a @main of one input and one output, without weights."""
    size = planned(text).attributes["nn.arena_bytes"].value.data
    machine = Machine(text, [PlanMemoryPass()])
    arena = np.full(size + 64, 0xFF, np.uint8)
    inputs, outputs = (ctypes.c_void_p * 1)(x.ctypes.data), (ctypes.c_void_p * 1)(y.ctypes.data)
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(machine.code.address("nn_main"))
    start = arena.ctypes.data + -arena.ctypes.data % 64
    function(ctypes.addressof(inputs), ctypes.addressof(outputs), None, start)


def test_elementwise_results_take_the_place_of_inputs_that_die():
    text = kernel("double", DOUBLE) + chain(*["double"] * 5)
    module = planned(text)
    plan = plan_of(module)
    assert [row.buffer for row in plan.rows] == ["t0", "t1", "t2", "t3"]
    assert {row.offset for row in plan.rows} == {0}
    assert plan.size == plan.lower_bound == 4096 * 4
    assert module.attributes["nn.arena_bytes"].value.data == plan.size
    x, y = np.arange(4096, dtype="f"), np.zeros(4096, "f")
    run_main(text, x, y)
    np.testing.assert_array_equal(y, x * 32)


def test_a_result_takes_the_place_of_one_input_of_two_that_die():
    text = (
        kernel("double", DOUBLE)
        + f"""
    func.func private @add(%a: {T}, %b: {T}, %y: {T})
        attributes {{kernel, num_outputs = 1 : i64}} {{
      loop.for %i = 0 to 4096 {{
        %p = loop.load %a[%i] : {T}
        %q = loop.load %b[%i] : {T}
        %r = arith.addf %p, %q : f32
        loop.store %r, %y[%i] : {T}
      }}
      func.return
    }}
    func.func @main(%x: {T}, %y: {T}) attributes {{num_outputs = 1 : i64}} {{
      %t0 = loop.alloc "t0" : {T}
      func.call @double(%x, %t0) : ({T}, {T}) -> ()
      %t1 = loop.alloc "t1" : {T}
      func.call @double(%x, %t1) : ({T}, {T}) -> ()
      %t2 = loop.alloc "t2" : {T}
      func.call @add(%t0, %t1, %t2) : ({T}, {T}, {T}) -> ()
      func.call @double(%t2, %y) : ({T}, {T}) -> ()
      func.return
    }}"""
    )
    offsets = {row.buffer: row.offset for row in plan_of(planned(text)).rows}
    assert offsets["t0"] != offsets["t1"]
    assert offsets["t2"] in (offsets["t0"], offsets["t1"])


def test_what_was_decided_is_remarked():
    with collect_remarks() as remarks:
        planned(KERNELS + chain("double", "double", "reverse", "double"))
    texts = [remark.text for remark in remarks]
    assert texts == [
        "in place: 't1' overwrites 't0', which dies here",
        "32768 bytes for 3 buffers of 49152 in all; 32768 are in use at the busiest step",
    ]


def test_a_kernel_that_moves_elements_gets_another_place():
    text = (
        kernel("double", DOUBLE) + kernel("reverse", REVERSE) + chain("double", "reverse", "double")
    )
    plan = plan_of(planned(text))
    assert plan.size == 2 * 4096 * 4
    x, y = np.arange(4096, dtype="f"), np.zeros(4096, "f")
    run_main(text, x, y)
    np.testing.assert_array_equal(y, x[::-1] * 4)


@pytest.mark.parametrize(
    ("body", "in_place"),
    [
        (DOUBLE, True),
        (REVERSE, False),
        # Two nests of one range each: the tail is apart from the rest.
        (
            """loop.for %i = 0 to 255 {
              %a = loop.load %x[16 * %i] : memref<4096xf32>, vector<16xf32>
              loop.store %a, %y[16 * %i] : memref<4096xf32>, vector<16xf32>
            }
            loop.for %i = 0 to 16 {
              %a = loop.load %x[%i + 4080] : memref<4096xf32>
              loop.store %a, %y[%i + 4080] : memref<4096xf32>
            }""",
            True,
        ),
        # The tail computes some elements a second time, from what is overwritten.
        (
            """loop.for %i = 0 to 255 {
              %a = loop.load %x[16 * %i] : memref<4096xf32>, vector<16xf32>
              loop.store %a, %y[16 * %i] : memref<4096xf32>, vector<16xf32>
            }
            loop.for %i = 0 to 20 {
              %a = loop.load %x[%i + 4076] : memref<4096xf32>
              loop.store %a, %y[%i + 4076] : memref<4096xf32>
            }""",
            False,
        ),
        # Each element is computed twice.
        (
            """loop.for %k = 0 to 2 {
              loop.for %i = 0 to 4096 {
                %a = loop.load %x[%i] : memref<4096xf32>
                %b = arith.addf %a, %a : f32
                loop.store %b, %y[%i] : memref<4096xf32>
              }
            }""",
            False,
        ),
        # Iterations overlap: 64 * i + 32 * j + ...
        (
            """loop.for %i = 0 to 63 {
              loop.for %j = 0 to 3 {
                %a = loop.load %x[64 * %i + 32 * %j] : memref<4096xf32>, vector<16xf32>
                loop.store %a, %y[64 * %i + 32 * %j] : memref<4096xf32>, vector<16xf32>
              }
            }""",
            False,
        ),
        # A read after the write.
        (
            """loop.for %i = 0 to 4096 {
              %a = loop.load %x[%i] : memref<4096xf32>
              loop.store %a, %y[%i] : memref<4096xf32>
              %b = loop.load %x[%i] : memref<4096xf32>
              loop.store %b, %y[%i] : memref<4096xf32>
            }""",
            False,
        ),
        # A sum over all elements.
        (
            """loop.for %i = 0 to 4096 {
              %a = loop.load %x[%i] : memref<4096xf32>
              %b = loop.load %x[0] : memref<4096xf32>
              %c = arith.addf %a, %b : f32
              loop.store %c, %y[%i] : memref<4096xf32>
            }""",
            False,
        ),
        ("loop.copy %x to %y : memref<4096xf32> to memref<4096xf32>", False),
    ],
)
def test_only_a_kernel_that_reads_where_it_writes_runs_in_place(body: str, in_place: bool):
    module = parse_module(make_context(), kernel("k", body), "test.mlir")
    function = function_named(module, "k")
    assert function is not None
    assert pairs_in_place(function) == ([(0, 1)] if in_place else [])


SCAN = f"""
    func.func @main(%x: {T}, %y: {T}) attributes {{num_outputs = 1 : i64}} {{
      %state = loop.alloc "state" : {T}
      %other = loop.alloc "other" : {T}
      func.call @double(%x, %state) : ({T}, {T}) -> ()
      func.call @double(%x, %other) : ({T}, {T}) -> ()
      loop.for %t = 0 to 3 {{
        %tmp = loop.alloc "tmp" : {T}
        func.call @reverse(%state, %tmp) : ({T}, {T}) -> ()
        loop.copy %tmp to %state : {T} to {T}
      }}
      func.call @reverse(%state, %y) : ({T}, {T}) -> ()
      func.call @use(%other, %x, %y) : ({T}, {T}, {T}) -> ()
      func.return
    }}
    func.func private @use(%a: {T}, %b: {T}, %y: {T}) attributes {{num_outputs = 1 : i64}} {{
      loop.for %i = 0 to 4096 {{
        %a0 = loop.load %a[%i] : {T}
        %b0 = loop.load %y[%i] : {T}
        %c0 = arith.addf %a0, %b0 : f32
        loop.store %c0, %y[%i] : {T}
      }}
      func.return
    }}"""


def test_a_state_lives_throughout_its_loop():
    text = KERNELS + SCAN
    plan = plan_of(planned(text))
    rows = {row.buffer: row for row in plan.rows}
    assert len({row.offset for row in rows.values()}) == 3
    assert rows["state"].first < rows["tmp"].first
    assert rows["tmp"].last < rows["state"].last
    x, y = np.arange(4096, dtype="f"), np.zeros(4096, "f")
    run_main(text, x, y)
    np.testing.assert_array_equal(y, x * 4)


def test_large_temporaries_of_a_kernel_become_arguments_and_small_ones_go_on_the_stack():
    body = f"""%t = loop.alloc "big" : {T}
      %s = loop.alloc "small" : memref<8xf32>
      loop.for %i = 0 to 4096 {{
        %a = loop.load %x[%i] : {T}
        loop.store %a, %t[4095 - %i] : {T}
        loop.store %a, %s[%i mod 8] : memref<8xf32>
      }}
      loop.for %i = 0 to 4096 {{
        %a = loop.load %t[%i] : {T}
        %b = loop.load %s[7] : memref<8xf32>
        %c = arith.addf %a, %b : f32
        loop.store %c, %y[%i] : {T}
      }}"""
    text = kernel("k", body) + chain("k", "k")
    module = planned(text)
    assert sorted(row.buffer for row in plan_of(module).rows) == ["k.big", "k.big", "t0"]
    assert plan_of(module).size == 2 * 4096 * 4  # both calls use the same temporary
    spaces = {str(op.result.type) for op in module.walk() if isinstance(op, loop.AllocOp)}
    assert spaces == {'memref<8xf32, "stack">'}
    x, y = np.arange(4096, dtype="f"), np.zeros(4096, "f")
    run_main(text, x, y)
    first = x[::-1] + x[-1]
    np.testing.assert_array_equal(y, first[::-1] + first[-1])


@pytest.mark.parametrize(("size", "fits"), [(16384, True), (16385, False)])
def test_a_temporary_of_one_thread_must_fit_its_stack(size: int, fits: bool):
    body = f"""loop.for %i = 0 to 4 parallel {{
        %t = loop.alloc "tile" : memref<{size}xf32>
        %z = arith.constant 0.0 : f32
        loop.store %z, %t[0] : memref<{size}xf32>
      }}"""
    text = kernel("k", body)
    if fits:
        assert f'memref<{size}xf32, "stack">' in str(planned(text))
        return
    with pytest.raises(PassFailedException, match="buffer 'tile' of 65540 bytes"):
        planned(text)


def test_the_check_finds_two_buffers_at_one_place():
    text = (
        kernel("double", DOUBLE) + kernel("reverse", REVERSE) + chain("double", "reverse", "double")
    )
    module = planned(text)
    check_plan(module)
    main = function_named(module, "main")
    assert main is not None
    first, second = placed_buffers(main)
    assert first.start != second.start
    here = AffineMapAttr(AffineMap(0, 0, (AffineExpr.constant(min(first.start, second.start)),)))
    first.view.offset = second.view.offset = here
    with pytest.raises(VerifyException, match="overlap those of another buffer"):
        check_plan(module)


def test_a_buffer_that_nobody_uses_takes_no_place():
    text = f"""
    func.func @main(%x: {T}, %y: {T}) attributes {{num_outputs = 1 : i64}} {{
      %t = loop.alloc "unused" : {T}
      loop.copy %x to %y : {T} to {T}
      func.return
    }}"""
    module = planned(text)
    assert plan_of(module).rows == ()
    assert "loop.alloc" not in str(module)


def test_temporaries_of_kernels_reach_them_through_any_function():
    body = f"""%t = loop.alloc "big" : {T}
      loop.copy %x to %t : {T} to {T}
      loop.for %i = 0 to 4096 {{
        %a = loop.load %t[4095 - %i] : {T}
        %b = arith.addf %a, %a : f32
        loop.store %b, %y[%i] : {T}
      }}"""
    net = chain("k", "k", "k").replace("@main", "@net")
    text = net + chain("net", "k") + kernel("k", body)
    x, y = np.arange(4096, dtype="f"), np.zeros(4096, "f")
    run_main(text, x, y)
    np.testing.assert_array_equal(y, x * 16)
