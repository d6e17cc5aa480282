"""The benchmark models' small variants down to formulas in kernels, against onnxruntime."""

from __future__ import annotations

import numpy as np
import pytest
from onnx_text import in_onnxruntime, relative_error

from bench import models
from nn_opt.frontends.onnx import describe_inputs, import_model
from nn_opt.ir.parsing import make_context
from nn_opt.pipelines import OPTIMIZE_GRAPH, run_passes
from nn_opt.plans import parse_pipeline
from nn_opt.reference import run

PASSES = ",".join([*OPTIMIZE_GRAPH, "outline-kernels", "convert-graph-to-tensor"])
TOLERANCE = 1e-5  # float32 sums in another order over a few dozen layers


@pytest.mark.parametrize("name", models.SMALL)
def test_formulas_agree_with_onnxruntime(name: str) -> None:
    model = models.build_small(name)
    inputs = models.sample_inputs(model)
    names = [spec.name for spec in describe_inputs(model)]
    module = import_model(model, shapes={name: np.shape(inputs[name]) for name in names})
    run_passes(make_context(), module, parse_pipeline(PASSES))
    module.verify()
    results = run(module, [inputs[name] for name in names])
    for got, want in zip(results, in_onnxruntime(model, inputs), strict=True):
        assert relative_error(got, want) < TOLERANCE
