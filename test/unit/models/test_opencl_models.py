"""The four models on an OpenCL device, at full size: one stream of kernels, the right numbers."""

from __future__ import annotations

import pytest
import tools
from four_models import FOUR, Case, full_case
from xdsl.dialects.builtin import IntegerAttr, ModuleOp

from nn_opt.frontends.onnx import import_model
from nn_opt.ir.parsing import make_context
from nn_opt.ir.target import set_target
from nn_opt.pipelines import expand, run_passes, scheduling_at_once

# At most so many launches: one for each of 21 or 53 layers, two where a long sum is cut in parts.
LAUNCHES = {"resnet18": 36, "mobilenet_v2": 62, "bert_tiny": 28, "voice_window": 17}
PIPELINES = ("optimize-graph", "lower-to-loops", "lower-to-gpu")


def lowered(wanted: Case) -> ModuleOp:
    module = import_model(wanted.model, shapes=wanted.shapes)
    set_target(module, "opencl")
    passes = [step for name in PIPELINES for step in expand(name)]
    run_passes(make_context(), module, scheduling_at_once(passes))
    return module


def launches_of(module: ModuleOp) -> int:
    count = module.attributes["nn.launches"]
    assert isinstance(count, IntegerAttr)
    return count.value.data


@tools.needs("opencl")
@pytest.mark.parametrize("name", FOUR)
def test_a_full_model_is_a_short_stream_of_kernels_and_right(name: str) -> None:
    from opencl import run_opencl

    wanted = full_case(name)
    module = lowered(wanted)
    assert launches_of(module) <= LAUNCHES[name]
    wanted.assert_computed(run_opencl(module, wanted.inputs))
