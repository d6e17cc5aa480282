"""Converters of sizes and made tensors against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import SparseTensorProto, helper, numpy_helper
from onnx_rows import Row, ints, noise, reals
from onnx_text import Array, at_graph_level, parse

from nn_opt.frontends.onnx.node import BadNode
from nn_opt.frontends.onnx.sparse import dense

x = noise(2, 3, 4)
INT64 = "int64[] y"

ROWS = [
    Row("y = Shape(x)", {"x": x}, opset=7, results=INT64),
    Row("y = Shape<start = -2>(x)", {"x": x}, opset=15, results=INT64),
    Row("y = Shape<start = 1, end = -1>(x)", {"x": x}, opset=15, results=INT64),
    Row("y = Size(x)", {"x": x}, results="int64 y"),
    Row("c = Constant<value = float[2] {1.5, 2.5}>() y = Add(x, c)", {"x": noise(2)}, opset=9),
    Row("c = Constant<value_ints = [1, 2]>() y = Add(x, c)", {"x": ints(3)}, results=INT64),
    Row("c = Constant<value_float = 2.0>() y = Mul(x, c)", {"x": x}),
    Row("c = ConstantOfShape(s) y = Add(x, c)", {"x": x}, {"s": ints(3, 4)}),
    Row("c = ConstantOfShape<value = float[1] {7.0}>(s) y = Add(x, c)", {"x": x}, {"s": ints()}),
    Row(
        "n = Size(x) r = Range(zero, n, two) y = Add(r, x)",
        {"x": ints(9)},
        {"zero": np.int64(0), "two": np.int64(2)},
        results=INT64,
    ),
    Row(
        "r = Range(a, b, c) y = Add(r, x)",
        {"x": noise(1)},
        {"a": np.float32(1), "b": np.float32(-0.7), "c": np.float32(-0.5)},
    ),
    Row("y = EyeLike<k = -1>(x)", {"x": noise(3, 4)}),
    Row("y = EyeLike<k = 1, dtype = 7>(x)", {"x": noise(3, 4)}, results=INT64),
    *(
        Row(
            f"y = OneHot<axis = {axis}>(i, d, v)",
            {"i": ints(0, 2, -1, 5, -9), "v": noise(2)},
            {"d": ints(3)},
        )
        for axis in (0, -1)
    ),
    Row(
        "s = Shape(x) n = NonZero(s) y = Add(n, k)",
        {"x": noise(2, 0, 3), "k": ints(0)},
        results=INT64,
    ),
    *(
        Row(
            f"w = {kind}Window<periodic = {p}>(n) y = Mul(w, x)",
            {"x": noise(1)},
            {"n": np.int64(9)},
        )
        for kind in ("Hann", "Hamming", "Blackman")
        for p in (0, 1)
    ),
    # What exporters write to flatten all but the first axis.
    Row(
        "s = Shape(x) b = Gather(s, zero) u = Unsqueeze(b, axis) t = Concat<axis = 0>(u, rest)"
        " y = Reshape(x, t)",
        {"x": x},
        {"zero": np.int64(0), "axis": ints(0), "rest": ints(-1)},
    ),
    Row(
        "s = Shape(x) f = Cast<to = 1>(s) h = Mul(f, half) g = Floor(h) t = Cast<to = 7>(g)"
        " y = Slice(x, from, t)",
        {"x": x},
        {"half": np.float32(0.5), "from": ints(0, 0, 0)},
    ),
]


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_agrees_with_onnxruntime(row: Row) -> None:
    row.check()


@pytest.mark.parametrize("places", [[1, 5], [[0, 1], [1, 2]]])
def test_sparse_constants(places: list[Any]):
    values = numpy_helper.from_array(reals(2, -3), "values")
    indices = numpy_helper.from_array(np.asarray(places, np.int64), "indices")
    got = constant_of(helper.make_sparse_tensor(values, indices, [2, 3]))
    assert got.tolist() == [[0, 2, 0], [0, 0, -3]]


@pytest.mark.parametrize(
    ("places", "complaint"),
    [
        ([1, 6], "an index lies outside of the shape [2, 3]"),
        ([1], "values of shape [2] at indices of shape [1]"),
    ],
)
def test_sparse_constants_that_do_not_fit(places: list[int], complaint: str):
    with pytest.raises(BadNode) as error:
        dense(reals(2, -3), ints(*places), [2, 3])
    assert str(error.value) == complaint


def constant_of(sparse: SparseTensorProto) -> Array:
    """Return what zeros and the constant make together."""
    model = parse("g (float[2,3] x) => (float[] y) { y = Add(x, c) }")
    model.graph.node.insert(0, helper.make_node("Constant", [], ["c"], sparse_value=sparse))
    return at_graph_level(model, {"x": np.zeros((2, 3), np.float32)})[0]
