"""Whole models on an OpenCL device, at full size: one stream of kernels, onnxruntime's numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import tools
from xdsl.dialects.builtin import IntegerAttr, ModuleOp

from bench import models, real_models
from nn_opt.frontends.onnx import import_model
from nn_opt.ir.parsing import make_context
from nn_opt.ir.target import set_target
from nn_opt.pipelines import expand, run_passes, scheduling_at_once

TOLERANCE = 1e-4
# At most so many launches: one for each of 21 or 53 layers, two where a long sum is cut in parts.
FULL = {"resnet18": 36, "mobilenet_v2": 62, "bert_tiny": 28}
PIPELINES = ("optimize-graph", "lower-to-loops", "lower-to-gpu")
TRAINED = "magika"
Feeds = Mapping[str, np.ndarray[Any, Any]]


def lowered(model: onnx.ModelProto, feeds: Feeds) -> ModuleOp:
    module = import_model(model, shapes={name: array.shape for name, array in feeds.items()})
    set_target(module, "opencl")
    passes = [step for name in PIPELINES for step in expand(name)]
    run_passes(make_context(), module, scheduling_at_once(passes))
    return module


def launches_of(module: ModuleOp) -> int:
    count = module.attributes["nn.launches"]
    assert isinstance(count, IntegerAttr)
    return count.value.data


def agree(module: ModuleOp, model: onnx.ModelProto, feeds: Feeds) -> None:
    from opencl import run_opencl

    session = onnxruntime.InferenceSession(model.SerializeToString())
    names = [value.name for value in session.get_inputs()]
    results = run_opencl(module, [feeds[name] for name in names])
    for got, want in zip(results, session.run(None, dict(feeds)), strict=True):
        assert np.std(want) > 1e-3, "the comparison would be vacuous"
        np.testing.assert_allclose(got, want, rtol=0, atol=TOLERANCE)
        assert got.argmax() == want.argmax()


@tools.needs("opencl")
@pytest.mark.parametrize("name", FULL)
def test_a_full_model_is_a_short_stream_of_kernels_and_right(name: str) -> None:
    model = models.build(name)
    feeds = models.sample_inputs(model)
    module = lowered(model, feeds)
    assert launches_of(module) <= FULL[name]
    agree(module, model, feeds)


@tools.needs("opencl")
def test_a_trained_model_is_right() -> None:
    path = real_models.find(TRAINED)
    if path is None:
        tools.lacking(f"needs {TRAINED}: run `python -m bench.real_models`")
    model, feeds = onnx.load(path), real_models.sample_inputs(TRAINED)
    agree(lowered(model, feeds), model, feeds)
