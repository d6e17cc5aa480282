"""`nn_opt.build`: shorter ways that have to give the same code."""

from __future__ import annotations

import pytest

from bench.models import build_small
from nn_opt.frontends.onnx import import_model
from nn_opt.ir.parsing import make_context
from nn_opt.ir.printing import print_module
from nn_opt.pipelines import expand, run_passes, scheduling_at_once


@pytest.mark.parametrize("name", ["resnet18", "mobilenet_v2", "bert_tiny"])
def test_schedules_applied_as_they_are_found_are_those_of_their_scripts(name):
    passes = [*expand("optimize-graph"), *expand("lower-to-loops")]
    one, two = import_model(build_small(name)), import_model(build_small(name))
    run_passes(make_context(), one, scheduling_at_once(passes))
    run_passes(make_context(), two, passes)
    assert print_module(one) == print_module(two)


def test_a_script_that_is_looked_at_is_written():
    passes = expand("lower-to-loops")
    first = passes[:-1]
    assert scheduling_at_once(first) == first
    assert scheduling_at_once(passes) != passes
