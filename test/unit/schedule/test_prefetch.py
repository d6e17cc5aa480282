"""prefetch: a hint on loads that lasts down to vectors, and changes no number."""

from __future__ import annotations

import pytest
from kernels import CONV, assert_right, loops
from xdsl.utils.exceptions import PassFailedException

from nn_opt.dialects.loop import LoadOp
from nn_opt.ir.types import lanes_of, shape_of
from nn_opt.registry import load_pass
from nn_opt.schedule.schedule import Schedule
from nn_opt.schedule.script import replay


def test_hint_is_on_the_vector_load_and_the_numbers_stay():
    ctx, module, function = loops(CONV)
    schedule = Schedule(function)
    schedule.prefetch("conv", 1, 288)
    loops_of = schedule.axes("conv")
    schedule.reorder(*loops_of[:4], *loops_of[5:], loops_of[4])
    schedule.vectorize(loops_of[4])
    for name in ("lower-blocks", "flatten-accesses", "vectorize-loops"):
        load_pass(name)().apply(ctx, module)
    hinted = [op for op in module.walk() if "prefetch" in op.attributes]
    assert [type(op) for op in hinted] == [LoadOp]
    assert lanes_of(hinted[0].results[0].type) == 4
    assert shape_of(hinted[0].operands[0]) == (3, 2, 3, 3, 4, 4)
    assert_right(module, CONV)


def test_script_repeats_the_hint():
    _, _, function = loops(CONV)
    schedule = Schedule(function)
    schedule.prefetch("conv", 1, 288)
    _, again, other = loops(CONV)
    replay(schedule.script, other)
    assert sum("prefetch" in op.attributes for op in again.walk()) == 1


def test_an_operand_that_is_not_there_is_refused():
    _, _, function = loops(CONV)
    with pytest.raises(PassFailedException, match="prefetch: stage 'conv' reads 2 buffers, not 3"):
        Schedule(function).prefetch("conv", 2, 64)
