"""Counters count for whoever asks, and for nobody else."""

from __future__ import annotations

import pytest

from nn_opt.instruments.statistics import declared
from nn_opt.ir.statistics import Statistic, collect_statistics, is_counting
from nn_opt.registry import PASSES, load_pass

EXAMPLE = Statistic("example", "things-done", "things that were done")


def test_counters_add_up_while_somebody_collects():
    EXAMPLE.add()
    assert not is_counting()
    with collect_statistics() as counts:
        assert is_counting()
        EXAMPLE.add()
        EXAMPLE.add(3)
        with collect_statistics() as inner:
            EXAMPLE.add()
    EXAMPLE.add()
    assert counts == {EXAMPLE: 5}
    assert inner == {EXAMPLE: 1}


@pytest.mark.parametrize("name", PASSES)
def test_counters_belong_to_the_pass_that_declares_them(name: str):
    counters = declared(load_pass(name))
    assert all(counter.pass_name == name for counter in counters)
    assert len({counter.name for counter in counters}) == len(counters)
