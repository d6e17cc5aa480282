"""Sequences: Python lists of tensors, which no node changes in place."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from onnx import TensorProto

from nn_opt.frontends.onnx.node import Attributes
from nn_opt.frontends.onnx.signature import SEQUENCE, STRING, TENSOR
from nn_opt.staged.host.table import (
    Array,
    Call,
    HostFault,
    Kinds,
    host,
    same,
    tensor,
)


def _sequence_of(attrs: Attributes, kinds: Kinds) -> str:
    return SEQUENCE + same(attrs, kinds)


def _element(attrs: Attributes, kinds: Kinds) -> str:
    return same(attrs, kinds).removeprefix(SEQUENCE)


def _declared(attrs: Attributes, kinds: Kinds) -> str:
    return SEQUENCE + (STRING if attrs.int("dtype") == TensorProto.STRING else TENSOR)


@host("SequenceEmpty", kind=_declared)
def sequence_empty(call: Call) -> list[Any]:
    return []


@host("SequenceConstruct", kind=_sequence_of)
def sequence_construct(call: Call) -> list[Any]:
    return [call.array(index) for index in range(len(call.inputs))]


@host("SequenceAt", kind=_element)
def sequence_at(call: Call) -> Any:
    items = call.sequence(0)
    return items[_place(call.integer(1), len(items) - 1)]


@host("SequenceInsert")
def sequence_insert(call: Call) -> list[Any]:
    """The position counts from the end if it is negative; left out, it is the end."""
    items = call.sequence(0)
    at = count = len(items)
    if call.get(2) is not None and call.integer(2) != count:
        at = _place(call.integer(2), count - 1)
    return [*items[:at], call.array(1), *items[at:]]


@host("SequenceErase")
def sequence_erase(call: Call) -> list[Any]:
    items = call.sequence(0)
    last = len(items) - 1
    at = last if call.get(1) is None else _place(call.integer(1), last)
    if not items:
        raise HostFault("the sequence is empty")
    return items[:at] + items[at + 1 :]


@host("SequenceLength", kind=tensor)
def sequence_length(call: Call) -> Array:
    return np.asarray(len(call.sequence(0)), np.int64)


def _place(index: int, last: int) -> int:
    """Return a position counted from the front; `last` is the greatest one."""
    least = -(last + 1)
    if not least <= index <= last:
        raise HostFault(f"position {index} is not in a sequence of {last + 1} tensors")
    return index + last + 1 if index < 0 else index


@host("SplitToSequence", kind=_sequence_of)
def split_to_sequence(call: Call) -> list[Array]:
    """Chunks of the sizes given, or of one size, the last one being shorter; else single slices."""
    data, split = call.array(0), call.get(1)
    axis = _axis(call.attrs.int("axis"), data.ndim)
    size = data.shape[axis]
    if split is None:
        chunks = [data.take([k], axis) for k in range(size)]
        keep = call.attrs.flag("keepdims", True)
        return chunks if keep else [chunk.squeeze(axis) for chunk in chunks]
    sizes = [int(entry) for entry in split.reshape(-1)]
    if not split.ndim:
        (step,) = sizes
        if step < 1:
            raise HostFault(f"split is {step}, expected 1 or more")
        sizes = [min(step, size - start) for start in range(0, size, step)]
    if sum(sizes) != size or min(sizes, default=0) < 0:
        raise HostFault(f"split is {sizes}, expected sizes whose sum is {size}")
    ends = np.cumsum([0, *sizes])
    return [data.take(range(a, b), axis) for a, b in pairwise(ends)]


def _axis(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise HostFault(f"axis {axis} is out of range for rank {rank}")
    return axis % rank


@host("ConcatFromSequence", kind=_element)
def concat_from_sequence(call: Call) -> Array:
    items, axis = call.sequence(0), call.attrs.int("axis")
    if not items:
        raise HostFault("the sequence is empty")
    stacked = call.attrs.flag("new_axis")
    axis = _axis(axis, items[0].ndim + stacked)
    try:
        return np.stack(items, axis) if stacked else np.concatenate(items, axis)
    except ValueError:
        shapes = [list(item.shape) for item in items]
        raise HostFault(f"tensors of shapes {shapes} do not fit together") from None


@host("SequenceMap", kind=_sequence_of)
def sequence_map(call: Call) -> tuple[list[Any], ...]:
    """Run the body for each element; further inputs are sequences as long, or stay the same."""
    first = call.sequence(0)
    sequences = {k: call.sequence(k) for k, v in enumerate(call.inputs) if isinstance(v, list)}
    if any(len(entry) != len(first) for entry in sequences.values()):
        raise HostFault(f"expected sequences of {len(first)} tensors each")
    results: list[list[Any]] = [[] for _ in range(call.outputs)]
    for place in range(len(first)):
        inputs = [sequences[k][place] if k in sequences else v for k, v in enumerate(call.inputs)]
        for collected, value in zip(results, call.bodies["body"](*inputs), strict=True):
            collected.append(value)
    return tuple(results)
