"""Converters of operators that make tensors from sizes, attributes and compile-time values."""

from __future__ import annotations

import math

import numpy as np
from onnx import TensorProto

from nn_opt.dialects import graph
from nn_opt.frontends.onnx.node import (
    I64,
    Array,
    BadNode,
    Node,
    Results,
    axis_in,
    cast,
    check_count,
    constant,
    dtype_of,
    int64s,
    reshaped,
    scalar_like,
)
from nn_opt.frontends.onnx.sparse import dense
from nn_opt.frontends.onnx.table import Request, converts
from nn_opt.frontends.onnx.weights import ELEMENT_DTYPES, type_name
from nn_opt.ir.types import shape_of


@converts("Shape")
def shape(node: Node) -> Results:
    """Opset 15 has a range of axes, clamped as Python's slices are."""
    sizes = shape_of(node[0])
    end = node.attrs.int("end") if "end" in node.attrs else None
    return int64s(sizes[node.attrs.int("start", 0) : end])


@converts("Size")
def size(node: Node) -> Results:
    return constant(np.asarray(math.prod(shape_of(node[0])), np.int64))


def _constant_refusal(request: Request) -> str:
    for name in ("value_string", "value_strings"):
        if name in request.attrs:
            return f"constant given by {name}"
    return ""


@converts("Constant", refusal=_constant_refusal)
def constant_node(node: Node) -> Results:
    tensor = node.attrs.tensor("value")
    if tensor is not None:
        return constant(node.read_tensor(tensor))
    sparse = node.attrs.sparse("sparse_value")
    if sparse is not None:
        values, indices = node.read_tensor(sparse.values), node.read_tensor(sparse.indices)
        return constant(dense(values, indices, sparse.dims))
    for name, value in (
        ("value_float", np.float32(node.attrs.float("value_float"))),
        ("value_int", np.int64(node.attrs.int("value_int"))),
        ("value_floats", np.asarray(node.attrs.floats("value_floats") or (), np.float32)),
        ("value_ints", np.asarray(node.attrs.ints("value_ints") or (), np.int64)),
    ):
        if name in node.attrs:
            return constant(np.asarray(value))
    raise BadNode("no value is given")


@converts("ConstantOfShape")
def constant_of_shape(node: Node) -> Results:
    """A rank-0 constant expanded, so that no array of the whole size exists."""
    tensor = node.attrs.tensor("value")
    value = np.zeros((), np.float32) if tensor is None else node.read_tensor(tensor).reshape(())
    sizes = node.known_ints(0) or []
    if not sizes:
        return constant(value)
    if min(sizes) < 0:
        raise BadNode(f"sizes {sizes}, expected none of them negative")
    return graph.ExpandOp(constant(value), sizes).result


@converts("Range")
def range_(node: Node) -> Results:
    """ceil((limit - start) / delta) elements start + i * delta, in the operands' type."""
    start, limit, delta = (node.known(index) for index in range(3))
    assert start is not None
    assert limit is not None
    assert delta is not None
    if not delta.reshape(-1)[0]:
        raise BadNode("delta is zero")
    dtype = start.dtype
    first, last, step = (value.reshape(()).item() for value in (start, limit, delta))
    if dtype.kind in "iu":  # exact in Python's integers
        check_count(len(range(first, last, step)))
        return constant(np.asarray(range(first, last, step), dtype))
    count = max(0, math.ceil((last - first) / step))
    check_count(count)
    return constant((np.arange(count) * step + first).astype(dtype))


def _dtype_refusal(request: Request) -> str:
    kind = request.attrs.int("dtype", TensorProto.FLOAT)
    return "" if kind in ELEMENT_DTYPES else f"result of {type_name(kind)}"


@converts("EyeLike", refusal=_dtype_refusal)
def eye_like(node: Node) -> Results:
    rows, columns = shape_of(node[0])
    check_count(rows * columns)
    dtype = node.attrs.dtype("dtype", 0) if "dtype" in node.attrs else dtype_of(node[0])
    return constant(np.eye(rows, columns, node.attrs.int("k")).astype(dtype))


@converts("OneHot")
def one_hot(node: Node) -> Results:
    """Compare with 0..depth-1 along the new axis; indices outside [-depth, depth) match nothing."""
    depth = (node.known_ints(1) or [0])[0]
    check_count(depth)
    shape_in = list(shape_of(node[0]))
    axis = axis_in(node.attrs.int("axis", -1), len(shape_in) + 1)
    indices = cast(node[0], I64)
    negative = graph.LessOp(indices, scalar_like(0, indices)).result
    wrapped = graph.AddOp(indices, scalar_like(depth, indices)).result
    indices = graph.WhereOp(negative, wrapped, indices).result
    column = reshaped(indices, [*shape_in[:axis], 1, *shape_in[axis:]])
    places = [1] * (len(shape_in) + 1)
    places[axis] = depth
    hot = graph.EqualOp(column, constant(np.arange(depth).reshape(places))).result
    off, on = (reshaped(_element(node, index), []) for index in range(2))
    return graph.WhereOp(hot, on, off).result


def _element(node: Node, index: int):
    return graph.SliceOp(node[2], [index], [1], [1]).result


def _window(node: Node, weights: tuple[float, ...]) -> Array:
    """Return a sum of cosines, sum of (-1)^k * w_k * cos(2 pi k n / N)."""
    length = (node.known_ints(0) or [0])[0]
    check_count(length)
    period = length if node.attrs.flag("periodic", True) else length - 1
    with np.errstate(invalid="ignore"):  # a window of one sample that is symmetric has no period
        angle = 2 * np.pi * np.arange(length) / period
    terms = [w * (-1) ** k * np.cos(k * angle) for k, w in enumerate(weights)]
    dtype = node.attrs.dtype("output_datatype", TensorProto.FLOAT)
    return np.asarray(sum(terms)).astype(dtype)


WINDOWS = {
    "HannWindow": (0.5, 0.5),
    "HammingWindow": (25 / 46, 21 / 46),
    "BlackmanWindow": (0.42, 0.5, 0.08),
}


@converts(*WINDOWS)
def window(node: Node) -> Results:
    return constant(_window(node, WINDOWS[node.proto.op_type]))
