"""Models written in ONNX's own text syntax, and what they compute at graph level and elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import onnxruntime
from numpy.typing import NDArray
from onnx import ModelProto, numpy_helper

from nn_opt.frontends.onnx import describe_inputs, import_model
from nn_opt.reference.running import run

Array = NDArray[Any]
IR_VERSION = 10


def parse(
    text: str,
    opset: int = 17,
    weights: Mapping[str, Array] | None = None,
    domains: Mapping[str, int] | None = None,
) -> ModelProto:
    """Return the model of `g (inputs) => (outputs) { nodes }`; weights are initialisers."""
    versions = {"": opset, **(domains or {})}
    imports = ", ".join(f'"{domain}" : {version}' for domain, version in versions.items())
    head = f"<ir_version: {IR_VERSION}, opset_import: [{imports}]>\n"
    model = onnx.parser.parse_model(head + text)
    for name, array in (weights or {}).items():
        model.graph.initializer.append(numpy_helper.from_array(np.asarray(array), name))
    return model


def at_graph_level(source: ModelProto | Path, inputs: Mapping[str, Array]) -> list[Array]:
    """Return what the imported graph computes, interpreted."""
    names = [spec.name for spec in describe_inputs(source)]
    shapes = {name: np.shape(inputs[name]) for name in names}
    module = import_model(source, shapes=shapes)
    module.verify()
    return [np.asarray(array) for array in run(module, [inputs[name] for name in names])]


def in_onnxruntime(source: ModelProto | Path, inputs: Mapping[str, Array]) -> list[Array]:
    """Return what onnxruntime computes without optimising the graph."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    content = source.SerializeToString() if isinstance(source, ModelProto) else str(source)
    return onnxruntime.InferenceSession(content, options).run(None, dict(inputs))


def relative_error(actual: Array, expected: Array) -> float:
    """Return the norm of the difference over the norm of the expected array."""
    wide = expected.astype(np.float64)
    size = float(np.linalg.norm(wide))
    return float(np.linalg.norm(actual.astype(np.float64) - wide)) / (size or 1.0)
