"""All passes of the graph level, in their order, on whole networks."""

from __future__ import annotations

import onnxruntime
import pytest
import tools
from onnx_text import in_onnxruntime, relative_error
from programs import apply
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, ReturnOp

from bench import models, real_models
from nn_opt.dialects import graph
from nn_opt.frontends.onnx import import_model
from nn_opt.pipelines import OPTIMIZE_GRAPH
from nn_opt.reference import entry_function, run
from nn_opt.registry import load_pass

TOLERANCE = 1e-5  # float32 sums in another order, weights scaled and rounded once
PASSES = (*OPTIMIZE_GRAPH, "outline-kernels")
# No kernel of their own: reshapes are views, parts of a concatenation are written in place.
IN_PLACE = graph.ConcatOp | graph.ConstantOp | graph.ReshapeOp
OUTSIDE_KERNELS = CallOp | IN_PLACE | graph.ScanOp | graph.YieldOp


def optimize(module: ModuleOp) -> None:
    apply(module, *(load_pass(name)() for name in PASSES))
    main = entry_function(module)
    left = [op.name for op in main.walk() if not isinstance(op, OUTSIDE_KERNELS | ReturnOp)]
    assert left == ["func.func"]


@pytest.mark.parametrize("name", models.SMALL)
def test_small_variant_agrees_with_onnxruntime(name: str):
    model = models.build_small(name)
    inputs = models.sample_inputs(model)
    module = import_model(model)
    optimize(module)
    results = run(module, list(inputs.values()))
    for got, want in zip(results, in_onnxruntime(model, inputs), strict=True):
        assert relative_error(got, want) < TOLERANCE


@pytest.mark.parametrize("name", real_models.MODELS)
def test_real_model_agrees_with_onnxruntime(name: str):
    path = real_models.find(name)
    if path is None:
        tools.lacking(f"needs {name}: run `python -m bench.real_models`")
    inputs = real_models.sample_inputs(name)
    shapes = {key: array.shape for key, array in inputs.items()}
    module = import_model(path, shapes=shapes)
    optimize(module)
    order = [value.name for value in onnxruntime.InferenceSession(str(path)).get_inputs()]
    results = run(module, [inputs[key] for key in order])
    for got, want in zip(results, in_onnxruntime(path, inputs), strict=True):
        assert relative_error(got, want) < real_models.MODELS[name].tolerance
