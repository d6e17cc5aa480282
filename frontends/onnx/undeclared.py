"""Outputs without a type, as tools write that name values to be seen: ONNX infers what they are."""

from __future__ import annotations

from dataclasses import replace

import onnx
from onnx import ModelProto, TypeProto

from nn_opt.frontends.onnx.reader import Model, is_declared, skeleton


def with_declared_outputs(model: Model) -> Model:
    """Return the model with types of all outputs; those that cannot be inferred stay out."""
    graph = model.proto.graph
    types = {v.name: v.type for v in (*graph.value_info, *graph.input) if is_declared(v)}
    if not all(v.name in types for v in graph.output if not is_declared(v)):
        types = _inferred(skeleton(model)) | types
    proto = ModelProto()
    proto.CopyFrom(model.proto)
    for value in proto.graph.output:
        if not is_declared(value) and value.name in types:
            value.type.CopyFrom(types[value.name])
    return replace(model, proto=proto)


def _inferred(bare: ModelProto) -> dict[str, TypeProto]:
    for value in bare.graph.output:
        value.ClearField("type")
    try:
        outputs = onnx.shape_inference.infer_shapes(bare).graph.output
    except (onnx.shape_inference.InferenceError, RuntimeError, ValueError):
        return {}  # broken, which the checks of the model will say
    return {value.name: value.type for value in outputs if is_declared(value)}
