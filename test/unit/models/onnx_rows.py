"""One ONNX node, or a few, as a row of a table; judged by onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from onnx import helper
from onnx_text import Array, at_graph_level, in_onnxruntime, parse

NOTHING: Mapping[str, Array] = {}
TYPE_NAMES = {"float32": "float", "float64": "double"}


@dataclass(frozen=True)
class Row:
    """Nodes in ONNX's text syntax, their run-time inputs and compile-time operands by name.

    Results are called y (or y, z, ...); `results` declares them with their element types.
    """

    nodes: str
    inputs: Mapping[str, Array]
    known: Mapping[str, Array] = field(default_factory=dict[str, Array])
    opset: int = 17
    results: str = "float[] y"
    domains: Mapping[str, int] = field(default_factory=dict[str, int])

    def __str__(self) -> str:
        return f"{self.opset}:{self.nodes}"

    def check(self, rtol: float = 1e-5, atol: float = 1e-6) -> None:
        """Assert that the imported graph computes what onnxruntime does."""
        model = self.model()
        expected = in_onnxruntime(model, self.inputs)
        for got, want in zip(at_graph_level(model, self.inputs), expected, strict=True):
            assert (got.shape, got.dtype) == (want.shape, want.dtype)
            np.testing.assert_allclose(got, want, rtol=rtol, atol=atol)

    def model(self):
        """Return the row as a model."""
        declared = ", ".join(f"{_type(a)} {name}" for name, a in self.inputs.items())
        text = f"g ({declared}) => ({self.results}) {{ {self.nodes} }}"
        return parse(text, self.opset, self.known, self.domains)


def _type(array: Array) -> str:
    sizes = ",".join(str(size) for size in array.shape)
    name = TYPE_NAMES.get(array.dtype.name, array.dtype.name)
    assert helper.np_dtype_to_tensor_dtype(array.dtype)
    return f"{name}[{sizes}]" if array.shape else name


def noise(*shape: int, seed: int = 0) -> Array:
    """Return normal float32 numbers."""
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


def ints(*values: int) -> Array:
    """Return a vector of int64."""
    return np.asarray(values, np.int64)


def reals(*values: float) -> Array:
    """Return a vector of float32."""
    return np.asarray(values, np.float32)
