"""Tensors of strings whose elements are chosen, written, padded and told apart by their places."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from onnx import TensorProto, helper

from nn_opt.frontends.onnx.node import Attributes
from nn_opt.frontends.onnx.signature import STRING, TENSOR
from nn_opt.staged.host.strings import cast
from nn_opt.staged.host.table import Array, Call, HostFault, Kinds, host, tensor


@host("Unique", always=False)
def unique(call: Call) -> tuple[Array, ...]:
    """The elements, or slices along an axis, first places, which each became, counts; how many."""
    data = call.array(0)
    axis = call.attrs.int("axis") if "axis" in call.attrs else None
    slices = data.reshape(-1) if axis is None else np.moveaxis(data, axis, 0)
    rows = [tuple(entry.reshape(-1)) for entry in slices.reshape(len(slices), -1)]
    first: dict[tuple[str, ...], int] = {}
    for place, key in enumerate(rows):
        first.setdefault(key, place)
    order = sorted(first) if call.attrs.flag("sorted", True) else list(first)
    number = {key: place for place, key in enumerate(order)}
    inverse = np.asarray([number[key] for key in rows], np.int64)
    places = np.asarray([first[key] for key in order], np.int64)
    found = slices[places]
    found = found if axis is None else np.moveaxis(found, 0, axis)
    counts = np.bincount(inverse, minlength=len(order)).astype(np.int64)
    return found, places, inverse, counts, np.asarray([len(order)], np.int64)


@host("Compress", always=False)
def compress(call: Call) -> tuple[Array, Array]:
    data, condition = call.array(0), call.array(1).reshape(-1)
    axis = call.attrs.int("axis") if "axis" in call.attrs else None
    kept = data.compress(condition, axis)
    return kept, np.asarray([kept.shape[axis or 0]], np.int64)


@host("NonZero", kind=tensor, always=False)
def non_zero(call: Call) -> tuple[Array, Array]:
    """A string that is not empty counts."""
    data = call.array(0)
    places = np.asarray(np.nonzero(np.atleast_1d(data != "")), np.int64)[: data.ndim or 0]
    return places, np.asarray([places.shape[1]], np.int64)


@host("Cut", always=False)
def cut(call: Call) -> Array:
    """The first elements along an axis, of a result whose size is another result."""
    return call.array(0).take(range(call.integer(1)), call.attrs.int("axis"))


@host("GatherElements", always=False)
def gather_elements(call: Call) -> Array:
    data, axis = call.array(0), call.attrs.int("axis")
    return data[_grid(data, call.array(1), axis)]


@host("Scatter", "ScatterElements", always=False)
def scatter_elements(call: Call) -> Array:
    _only_writes(call)
    data, axis = call.array(0).copy(), call.attrs.int("axis")
    data[_grid(data, call.array(1), axis)] = call.array(2)
    return data


def _grid(data: Array, places: Array, axis: int) -> tuple[Array, ...]:
    """Return the index of each axis: that of the place itself, but along one."""
    if places.ndim != data.ndim:
        raise HostFault(f"indices have {places.ndim} axes, expected {data.ndim}")
    grid: list[Any] = list(np.indices(places.shape, sparse=True))
    grid[axis] = places
    return tuple(grid)


def _only_writes(call: Call) -> None:
    if call.attrs.text("reduction", "none") != "none":
        raise HostFault(f"reduction '{call.attrs.text('reduction')}' of strings, expected none")


@host("GatherND", always=False)
def gather_nd(call: Call) -> Array:
    data, places, batch = call.array(0), call.array(1), call.attrs.int("batch_dims")
    inner = [data[at][_columns(places[at])] for at in np.ndindex(data.shape[:batch])]
    shape = (*places.shape[:-1], *data.shape[batch + places.shape[-1] :])
    return np.concatenate([np.ravel(np.asarray(part, object)) for part in inner]).reshape(shape)


@host("ScatterND", always=False)
def scatter_nd(call: Call) -> Array:
    _only_writes(call)
    data = call.array(0).copy()
    data[_columns(call.array(1))] = call.array(2)
    return data


def _columns(places: Array) -> tuple[Array, ...]:
    return tuple(np.moveaxis(places, -1, 0))


@host("Split", always=False)
def split(call: Call) -> tuple[Array, ...]:
    """By sizes, an operand or an attribute; otherwise in parts of one size, the last one less."""
    data, axis = call.array(0), call.attrs.int("axis")
    given = call.get(1)
    sizes = call.attrs.ints("split") if given is None else [int(n) for n in given]
    if sizes is None:
        each = -(-data.shape[axis] // call.outputs)
        ends = [min(each * k, data.shape[axis]) for k in range(1, call.outputs + 1)]
    else:
        ends = list(itertools.accumulate(sizes))
    if not ends or ends[-1] != data.shape[axis]:
        raise HostFault(f"parts of {sizes} elements, expected {data.shape[axis]} in all")
    return tuple(np.split(data, ends[:-1], axis))


MODES = {"constant": "constant", "reflect": "reflect", "edge": "edge", "wrap": "wrap"}


@host("Pad", always=False)
def pad(call: Call) -> Array:
    """Pads may be negative; they are for all axes, or for those that are given."""
    data, pads = call.array(0), [int(n) for n in call.array(1)]
    axes = range(data.ndim) if call.get(3) is None else [int(a) for a in call.array(3)]
    width = [[0, 0] for _ in range(data.ndim)]
    for k, axis in enumerate(axes):
        width[axis] = [pads[k], pads[k + len(axes)]]
    ends = zip(width, data.shape, strict=True)
    kept = tuple(slice(max(-a, 0), size - max(-b, 0)) for (a, b), size in ends)
    width = [[max(a, 0), max(b, 0)] for a, b in width]
    mode: Any = call.attrs.choice("mode", "constant", MODES)
    if mode != "constant":
        return np.pad(data[kept], width, mode)
    value = "" if call.get(2) is None else call.array(2).reshape(-1)[0]
    return np.pad(data[kept], width, "constant", constant_values=value)


@host("ReverseSequence", always=False)
def reverse_sequence(call: Call) -> Array:
    """The first elements of each entry of the batch are backwards."""
    batch, time = call.attrs.int("batch_axis", 1), call.attrs.int("time_axis", 0)
    data = np.moveaxis(call.array(0), (batch, time), (0, 1)).copy()
    for entry, length in zip(data, call.array(1), strict=True):
        entry[: int(length)] = entry[: int(length)][::-1].copy()
    return np.moveaxis(data, (0, 1), (batch, time))


def _of_values(attrs: Attributes, kinds: Kinds) -> str:
    return kinds[2]


@host("OneHot", kind=_of_values, always=False)
def one_hot(call: Call) -> Array:
    """Operands: places, how many there are, what is off and what is on."""
    places, count = call.array(0), call.integer(1)
    off, on = call.array(2)
    axis = call.attrs.int("axis", -1)
    whole = np.expand_dims(places, axis)
    shape = [1] * whole.ndim
    shape[axis] = count
    numbers = np.arange(count).reshape(shape)
    hot = numbers == np.where(whole < 0, whole + count, whole)
    return np.where(hot, np.asarray(on, object), np.asarray(off, object))


def _like(attrs: Attributes, kinds: Kinds) -> str:
    return STRING if kinds[1] == STRING else TENSOR


@host("CastLike", kind=_like, always=False)
def cast_like(call: Call) -> Array:
    dtype = call.array(1).dtype
    kind = TensorProto.STRING if dtype.kind == "O" else helper.np_dtype_to_tensor_dtype(dtype)
    attrs = Attributes(helper.make_node("Cast", [], [], to=kind))
    return cast(Call(attrs, call.version, call.inputs[:1], 1, {}))
