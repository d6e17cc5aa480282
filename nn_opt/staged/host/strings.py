"""Tensors of strings, NumPy arrays of objects: they are moved and compared, cast and measured."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import TensorProto

from nn_opt.frontends.onnx.node import Attributes
from nn_opt.frontends.onnx.signature import STRING, TENSOR
from nn_opt.frontends.onnx.weights import ELEMENT_DTYPES
from nn_opt.staged.host.table import (
    Array,
    Call,
    HostFault,
    Kinds,
    host,
    string,
    tensor,
)

MOST_STRINGS = 2**28  # of one tensor


@host("Identity", always=False)
def identity(call: Call) -> Any:
    return call.get(0)


@host("Constant", kind=string, always=False)
def constant(call: Call) -> Array:
    value = call.attrs.tensor("value")
    if value is not None:
        return strings_of(value)
    if "value_string" in call.attrs:
        return np.asarray(call.attrs.text("value_string"), object)
    return np.asarray(call.attrs.texts("value_strings") or [], object)


def strings_of(value: TensorProto) -> Array:
    """Return the array of a tensor of strings."""
    texts = [data.decode("utf-8", "replace") for data in value.string_data]
    if len(texts) != np.prod(tuple(value.dims), dtype=int):
        raise HostFault(f"'{value.name}' of shape {list(value.dims)} has {len(texts)} strings")
    return np.asarray(texts, object).reshape(tuple(value.dims))


@host("Reshape", always=False)
def reshape(call: Call) -> Array:
    data, shape = call.array(0), [int(size) for size in call.array(1).reshape(-1)]
    if not call.attrs.flag("allowzero"):
        rank = data.ndim
        shape = [data.shape[k] if not s and k < rank else s for k, s in enumerate(shape)]
    return data.reshape(shape)


@host("Flatten", always=False)
def flatten(call: Call) -> Array:
    data, axis = call.array(0), call.attrs.int("axis", 1)
    rows = int(np.prod(data.shape[:axis], dtype=int))
    return data.reshape(rows, data.size // rows if rows else 0)


def _axes(call: Call) -> tuple[int, ...] | None:
    """Return axes, which newer operator sets give as an input."""
    axes = call.get(1)
    found = call.attrs.ints("axes") if axes is None else [int(axis) for axis in axes.reshape(-1)]
    return None if found is None else tuple(found)


@host("Squeeze", always=False)
def squeeze(call: Call) -> Array:
    return call.array(0).squeeze(_axes(call))


@host("Unsqueeze", always=False)
def unsqueeze(call: Call) -> Array:
    return np.expand_dims(call.array(0), _axes(call) or ())


@host("Transpose", always=False)
def transpose(call: Call) -> Array:
    return call.array(0).transpose(call.attrs.ints("perm"))


@host("Concat", always=False)
def concat(call: Call) -> Array:
    arrays = [call.array(index) for index in range(len(call.inputs))]
    return np.concatenate(arrays, call.attrs.int("axis"))


@host("Gather", always=False)
def gather(call: Call) -> Array:
    return call.array(0).take(call.array(1), call.attrs.int("axis"))


@host("Slice", always=False)
def slice_(call: Call) -> Array:
    data = call.array(0)
    starts, ends = (call.array(index).reshape(-1) for index in (1, 2))
    axes, steps = call.get(3), call.get(4)
    places = [slice(None)] * data.ndim
    for k, (start, end) in enumerate(zip(starts, ends, strict=True)):
        axis = k if axes is None else int(axes.reshape(-1)[k])
        step = 1 if steps is None else int(steps.reshape(-1)[k])
        places[axis] = _slice(int(start), int(end), step, data.shape[axis])
    return data[tuple(places)]


def _slice(start: int, end: int, step: int, size: int) -> slice:
    """Return a slice of ONNX: a start before the axis is its first element, backwards too.

    An end of a backwards one that is before the first element is below -size.
    """
    start = max(start + size if start < 0 else start, 0)
    if step < 0 and end < -size:
        return slice(start, None, step)
    return slice(start, end, step)


@host("Expand", always=False)
def expand(call: Call) -> Array:
    data, shape = call.array(0), tuple(int(size) for size in call.array(1).reshape(-1))
    shape = np.broadcast_shapes(data.shape, shape)
    return np.broadcast_to(data, _checked(shape))


@host("Tile", always=False)
def tile(call: Call) -> Array:
    data, repeats = call.array(0), call.array(1).reshape(-1)
    if data.ndim == len(repeats):
        _checked([size * int(count) for size, count in zip(data.shape, repeats, strict=True)])
    return np.tile(data, repeats)


def _checked(shape: Sequence[int]) -> Sequence[int]:
    """Return a shape; HostFault if it is of more strings than a program should hold."""
    if (count := math.prod(shape)) > MOST_STRINGS:
        raise HostFault(f"the result has {count} strings, more than {MOST_STRINGS}")
    return shape


def _chosen(attrs: Attributes, kinds: Kinds) -> str:
    return kinds[1]


@host("Where", kind=_chosen, always=False)
def where(call: Call) -> Array:
    return np.where(call.array(0), call.array(1), call.array(2))


@host("Equal", kind=tensor, always=False)
def equal(call: Call) -> Array:
    return np.asarray(call.array(0) == call.array(1), bool)


@host("Shape", kind=tensor, always=False)
def shape_(call: Call) -> Array:
    end = call.attrs.int("end") if "end" in call.attrs else None
    return np.asarray(call.array(0).shape[call.attrs.int("start") : end], np.int64)


@host("Size", kind=tensor, always=False)
def size_(call: Call) -> Array:
    return np.asarray(call.array(0).size, np.int64)


def _cast_kind(attrs: Attributes, kinds: Kinds) -> str:
    return STRING if attrs.int("to") == TensorProto.STRING else TENSOR


@host("Cast", kind=_cast_kind, always=False)
def cast(call: Call) -> Array:
    data, kind = call.array(0), call.attrs.int("to")
    if kind == TensorProto.STRING:
        texts = [str(item) for item in data.reshape(-1)]
        return np.asarray(texts, object).reshape(data.shape)
    dtype = ELEMENT_DTYPES.get(kind)
    if dtype is None:
        raise HostFault("no number of that type can be read from a string")
    try:
        numbers = [_number(text, dtype) for text in data.reshape(-1)]
    except ValueError as error:
        raise HostFault(str(error)) from None
    return np.asarray(numbers).astype(dtype).reshape(data.shape)


def _number(text: str, dtype: np.dtype[Any]) -> float | int:
    return int(text) if dtype.kind in "iu" else float(text)
