"""Sparse tensors as dense arrays, and initializers that are sparse as ordinary ones."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import GraphProto, ModelProto, NodeProto, SparseTensorProto, TensorProto, numpy_helper

from nn_opt.frontends.onnx.node import BadNode, check_count
from nn_opt.frontends.onnx.packed import BITS
from nn_opt.frontends.onnx.reader import Model
from nn_opt.frontends.onnx.weights import array_of_tensor

Array = NDArray[Any]


def dense(values: Array, indices: Array, shape: Sequence[int]) -> Array:
    """Return zeros with values at places, one number each or one for each axis.

    Raises: BadNode for places that do not fit the values or lie outside of the shape.
    """
    count = math.prod(shape)
    check_count(count)
    if indices.shape not in ((len(values),), (len(values), len(shape))):
        have, places = list(values.shape), list(indices.shape)
        raise BadNode(f"values of shape {have} at indices of shape {places}")
    limits = np.asarray(shape if indices.ndim == 2 else [count], np.int64)
    if ((indices < 0) | (indices >= limits)).any():
        raise BadNode(f"an index lies outside of the shape {list(shape)}")
    made = np.zeros(shape, values.dtype)
    if indices.ndim == 1:
        made.reshape(-1)[indices] = values
    else:
        made[tuple(indices.T)] = values
    return made


def with_dense(model: Model) -> Model:
    """Return the model with its sparse initializers, those of inner graphs too, as dense ones.

    Raises: DiagnosticError for one that does not fit its shape.
    """
    proto = ModelProto()
    proto.CopyFrom(model.proto)
    for graph in _graphs(proto):
        for sparse in graph.sparse_initializer:
            graph.initializer.append(_dense_weight(model, sparse))
        graph.ClearField("sparse_initializer")
    return replace(model, proto=proto)


def _graphs(proto: ModelProto) -> Iterator[GraphProto]:
    yield proto.graph
    bodies = [function.node for function in proto.functions]
    pending: list[Iterable[NodeProto]] = [proto.graph.node, *bodies]
    for nodes in pending:  # it grows by the nodes of inner graphs
        for node in nodes:
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    yield attribute.g
                    pending.append(attribute.g.node)


def _dense_weight(model: Model, sparse: SparseTensorProto) -> TensorProto:
    """Return the same tensor as a dense one, whose elements lie beside the model."""
    name = sparse.values.name
    try:
        array = _checked(model, sparse)
    except BadNode as error:
        raise model.error(f"sparse initializer '{name}': {error}") from None
    if sparse.values.data_type in BITS:
        return numpy_helper.from_array(array, name)
    made = TensorProto(name=name, data_type=sparse.values.data_type, dims=sparse.dims)
    for part in (sparse.values, sparse.indices):  # so that their files are known as the model's
        made.external_data.extend(part.external_data)
    made.raw_data = model.weights.keep(array.reshape(-1).view(np.uint8).data)
    return made


def _checked(model: Model, sparse: SparseTensorProto) -> Array:
    """Return the elements; BadNode for what the standard excludes."""
    shape = tuple(sparse.dims)
    if any(size <= 0 for size in shape):
        raise BadNode(f"shape {list(shape)}, expected positive sizes")
    check_count(math.prod(shape))
    if sparse.indices.data_type != TensorProto.INT64:
        raise BadNode("expected indices of int64")
    values = array_of_tensor(sparse.values, model)
    if values.ndim != 1:
        raise BadNode(f"values of shape {list(values.shape)}, expected one axis")
    indices = array_of_tensor(sparse.indices, model)
    made = dense(values, indices, shape)
    flat = indices if indices.ndim == 1 else np.ravel_multi_index(tuple(indices.T), shape)
    if (np.diff(flat) <= 0).any():
        raise BadNode("expected indices in ascending order, each of them once")
    return made
