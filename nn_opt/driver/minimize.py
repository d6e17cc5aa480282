"""`nn-run --minimize`: the smallest part of a model in which two runtimes still differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, ValueInfoProto, helper, numpy_helper

from nn_opt.driver.models import fail
from nn_opt.driver.per_node import Arrays, Comparison, Subject, lone_node, made_values
from nn_opt.driver.reduce import reduce
from nn_opt.driver.reduce_onnx import Models

Array = NDArray[Any]


def minimize(subject: Subject, comparison: Comparison) -> ModelProto:
    """Return a model that differs, and none of whose parts does.

    It begins with the node that differs by itself, if there is one, else with the whole model.
    Raises: DiagnosticError if nothing differs.
    """
    judge = Judge(subject, {**_weights(subject.proto), **comparison.values})
    start = subject.proto
    if comparison.first is not None:
        nodes = {name: node for name, _, node in made_values(start)}
        start = lone_node(start, nodes[comparison.first.name], comparison.values)
    if not judge.accepts(start):
        hint = "--tolerance sets what counts"
        fail(
            "error: --minimize: no output differs by more than"
            f" {subject.tolerance:g} from {subject.peer}\n  hint: {hint}"
        )
    return reduce(start, judge, Models())


def _weights(proto: ModelProto) -> dict[str, Array]:
    """Return the weights, which become inputs while the model shrinks."""
    tensors = proto.graph.initializer
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in tensors}


@dataclass
class Judge:
    """Whether two runtimes differ in a model, on the values that the whole one had there."""

    subject: Subject
    values: Arrays
    runs: int = 0

    def accepts(self, proto: ModelProto) -> bool:
        """Return whether both run the model, and differ."""
        self.runs += 1
        weights = {tensor.name for tensor in proto.graph.initializer}
        given = [value for value in proto.graph.input if value.name not in weights]
        try:
            return self.subject.differs(proto, {v.name: self._array(v) for v in given})
        except Exception:  # one of them refuses what is left: no smaller case of the difference
            return False

    def _array(self, value: ValueInfoProto) -> Array:
        """Return an input's values: the corner of what the whole model had, as large as wanted."""
        tensor = value.type.tensor_type
        known = self.values.get(value.name)
        rank = len(tensor.shape.dim)
        if known is None or known.ndim != rank:
            raise ValueError(f"no values for {value.name}")
        sizes = [
            min(dim.dim_value, size) if dim.HasField("dim_value") else size
            for dim, size in zip(tensor.shape.dim, known.shape, strict=True)
        ]
        corner = known[tuple(map(slice, sizes))]
        return np.ascontiguousarray(corner, helper.tensor_dtype_to_np_dtype(tensor.elem_type))
