"""Parts of a model: some of its values become constants, or only some nodes are kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from onnx import GraphProto, ModelProto, TensorProto, numpy_helper

from nn_opt.frontends.onnx.reader import Model
from nn_opt.frontends.onnx.signature import InputSpec, describe_inputs

Array = NDArray[Any]


def weight_of(name: str, value: Array) -> TensorProto:
    """Return a weight that holds an array."""
    return numpy_helper.from_array(value, name)


def baked(model: Model, values: Mapping[str, ArrayLike]) -> Model:
    """Return the model with some values as constants: inputs, or what nodes compute.

    Raises: DiagnosticError for a name that the model does not have.
    """
    graph = model.proto.graph
    inputs = _inputs(model)
    computed = {name for node in graph.node for name in node.output}
    for name in values:
        if name not in inputs and name not in computed:
            have = ", ".join(f"'{known}'" for known in inputs) or "none"
            raise model.error(f"the model has no value '{name}'; its inputs are {have}")
    arrays = {name: _array(model, inputs.get(name), value) for name, value in values.items()}
    return with_constants(model, arrays)


def of_inputs(model: Model, values: Mapping[str, ArrayLike]) -> dict[str, Array]:
    """Return what inputs among the names hold, as `baked` makes it constant."""
    inputs = _inputs(model)
    return {n: _array(model, inputs[n], value) for n, value in values.items() if n in inputs}


def _inputs(model: Model) -> dict[str, InputSpec]:
    return {spec.name: spec for spec in describe_inputs(model, host=True)}


def _array(model: Model, spec: InputSpec | None, value: ArrayLike) -> Array:
    """Return a value as its input is declared: of its type, and a single number of any rank."""
    array = np.asarray(value, None if spec is None else spec.dtype)
    if spec is None or spec.shape is None or len(spec.shape) == array.ndim:
        return array
    if array.size != 1:
        shape = ["?" if size is None else size for size in spec.shape]
        raise model.error(f"input '{spec.name}' has shape {shape}, given {list(array.shape)}")
    return array.reshape([1] * len(spec.shape))


def with_constants(model: Model, arrays: Mapping[str, Array]) -> Model:
    """Return the model with some values as constants, its weights shared, not copied."""
    graph = model.proto.graph
    part = GraphProto(name=graph.name)
    part.input.extend(value for value in graph.input if value.name not in arrays)
    part.output.extend(graph.output)
    part.node.extend(graph.node)
    for node in part.node:
        for place, name in enumerate(node.output):
            if name in arrays:
                node.output[place] = ""
    weights = {name: weight_of(name, array) for name, array in arrays.items()}
    return with_graph(model, part, weights)


def with_graph(model: Model, part: GraphProto, weights: Mapping[str, TensorProto]) -> Model:
    """Return a model of another graph, which may read the model's weights and further ones."""
    proto = ModelProto(ir_version=model.proto.ir_version)
    proto.opset_import.extend(model.proto.opset_import)
    proto.graph.CopyFrom(part)
    shared = {**model.initializers, **weights}
    return Model(proto, model.label, model.folder, model.weights, (), shared)
