"""`nn_opt.build`: shorter ways that have to give the same code."""

from __future__ import annotations

import gc
import weakref

import pytest

from bench.models import build_small
from nn_opt.build import lower
from nn_opt.frontends.onnx import import_model
from nn_opt.ir.parsing import make_context
from nn_opt.ir.printing import print_module
from nn_opt.ir.weights import resources
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


def test_weights_are_freed_once_they_are_packed():
    """Whatever still holds one is garbage that only a search would find."""
    module = import_model(build_small("resnet18"))
    arrays = [r.data.array for r in resources(module)]
    watched = [weakref.ref(array) for array in arrays if array is not None]
    assert len(watched) > 5
    del arrays
    gc.disable()
    try:
        lowered = lower(module, "cpu")
        made = [weakref.ref(array) for array in lowered.arrays]
        del lowered
        alive = [ref() for ref in (*watched, *made) if ref() is not None]
    finally:
        gc.enable()
    assert sum(array.nbytes for array in alive if array is not None) < 1 << 14
