"""Elements of fewer than eight bits, which ONNX packs, the first at the low end of its byte."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto

Bytes = NDArray[np.uint8]

BITS: dict[int, int] = {
    TensorProto.UINT4: 4,
    TensorProto.INT4: 4,
    TensorProto.FLOAT4E2M1: 4,
    TensorProto.UINT2: 2,
    TensorProto.INT2: 2,
    TensorProto.FLOAT6E2M3: 6,
    TensorProto.FLOAT6E3M2: 6,
}
WORDS = (4, 2)  # bits of elements that are packed in `int32_data`, too


def bytes_of(data_type: int, shape: Sequence[int], itemsize: int) -> int:
    """Return how many bytes the elements of a tensor take in a file."""
    bits = BITS.get(data_type, 8 * itemsize)
    return -(-math.prod(shape) * bits // 8)


def entries_of(data_type: int, shape: Sequence[int]) -> int:
    """Return how many entries `int32_data` has for the elements of a tensor."""
    bits = BITS.get(data_type)
    return bytes_of(data_type, shape, 1) if bits in WORDS else math.prod(shape)


def unpacked(data: Bytes, data_type: int, shape: Sequence[int], dtype: np.dtype[Any]):
    """Return packed elements as one a byte."""
    bits, count = BITS[data_type], math.prod(shape)
    if bits == 6:
        return _sixes(data, count).view(dtype).reshape(shape)
    each = 8 // bits
    places = np.empty((len(data), each), np.uint8)
    for place in range(each):
        places[:, place] = data >> (bits * place)
    places &= (1 << bits) - 1
    return places.reshape(-1)[:count].view(dtype).reshape(shape)


def _sixes(data: Bytes, count: int) -> Bytes:
    """Return the groups of six bits: byte and bit in which each starts, and the byte after it."""
    starts = np.arange(count) * 6
    padded = np.append(data, np.uint8(0)).astype(np.uint16)
    first, shift = starts // 8, starts % 8
    pair = padded[first] | padded[first + 1] << 8
    return ((pair >> shift) & 63).astype(np.uint8)
