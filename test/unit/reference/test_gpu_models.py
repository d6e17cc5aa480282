"""Models as kernels: no thread disturbs another one, the numbers are those of the whole tensors.

What is checked of kernels is checked by taking away what they need, too.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import InterpretationError

from bench import models
from nn_opt.check import seeded_inputs
from nn_opt.dialects import gpu
from nn_opt.frontends.onnx import import_model
from nn_opt.ir.parsing import make_context, parse_module
from nn_opt.ir.printing import print_module
from nn_opt.ir.target import set_target
from nn_opt.pipelines import run_passes
from nn_opt.plans import parse_pipeline
from nn_opt.reference import run

TO_GPU = "optimize-graph,lower-to-loops,lower-to-gpu"


def as_kernels(module: ModuleOp, target: str) -> ModuleOp:
    set_target(module, target)
    run_passes(make_context(), module, parse_pipeline(TO_GPU))
    return module


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("resnet18", "cuda"),  # reductions by subgroups
        ("bert_tiny", "webgpu"),
        ("lstm", "opencl"),
    ],
)
def test_models_have_no_races(name: str, target: str):
    module = import_model(models.build_small(name))
    inputs = seeded_inputs(module)
    expected = run(module, inputs)
    actual = run(as_kernels(module, target), inputs)
    assert any(isinstance(op, gpu.LaunchFuncOp) for op in module.walk())
    for a, b in zip(actual, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


MATMUL = """
  func.func @main(%x: tensor<33x40xf32>, %w: tensor<40x34xf32>) -> tensor<33x34xf32> {
    %y = graph.matmul %x, %w : (tensor<33x40xf32>, tensor<40x34xf32>) -> tensor<33x34xf32>
    %z = graph.softmax %y axis 1 : tensor<33x34xf32>
    func.return %z : tensor<33x34xf32>
  }"""


@pytest.mark.parametrize("target", ["opencl", "cuda"])
def test_each_barrier_is_needed(target: str):
    """A kernel without one of its barriers has a race, with both places."""
    module = as_kernels(parse_module(make_context(), MATMUL, "m.mlir"), target)
    inputs = seeded_inputs(module)
    run(module, inputs)
    text = print_module(module)
    assert "gpu.barrier" in text
    for barrier in re.finditer("gpu.barrier", text):
        faulty = parse_module(
            make_context(), text[: barrier.start()] + text[barrier.end() :], "k.mlir"
        )
        with pytest.raises(InterpretationError, match=r"k\.mlir:\d+:\d+: error: .*data race"):
            run(faulty, inputs)


def test_each_test_of_bounds_is_needed():
    """A kernel that tests no index against the ends of buffers gets outside of one."""
    module = as_kernels(parse_module(make_context(), MATMUL, "m.mlir"), "opencl")
    text = re.sub(r"loop\.if \([^{]*\) \{", "loop.if (0 >= 0) {", print_module(module))
    faulty = parse_module(make_context(), text, "k.mlir")
    with pytest.raises(InterpretationError, match=r"k\.mlir:\d+:\d+: error: .* reaches \["):
        run(faulty, seeded_inputs(module))
