"""ONNX models as kernels of a GPU, whose threads the interpreter runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto

import nn_opt
from nn_opt.build import signature_of
from nn_opt.frontends.onnx import describe_inputs, import_model
from nn_opt.ir.target import set_target
from nn_opt.reference import run

Array: TypeAlias = NDArray[Any]
PIPELINE = "optimize-graph,lower-to-loops,lower-to-gpu"


def on_threads(
    source: ModelProto | Path, inputs: Mapping[str, Array], target: str = "opencl"
) -> list[Array]:
    """Return what the threads of a model's kernels compute; races are errors."""
    names = [spec.name for spec in describe_inputs(source)]
    module = import_model(source, shapes={name: np.shape(inputs[name]) for name in names})
    set_target(module, target)
    lowered = nn_opt.Pipeline(PIPELINE).run(module)
    with np.errstate(all="ignore"):
        results = run(lowered, [inputs[name] for name in names])
    outputs = signature_of(lowered).outputs
    pairs = zip(results, outputs, strict=True)
    return [np.asarray(result).view(output.dtype) for result, output in pairs]
