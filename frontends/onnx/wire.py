"""Large weights cut out of a serialised model, so that parsing it copies none of them.

In the wire format of protobuf, a message is a sequence of fields: a key (number * 8 + kind), then a
number (kind 0), 8 bytes (1), or a length and so many bytes (2), or 4 bytes (5).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field

LARGE = 4096  # bytes of a weight from which cutting it out is worth it
GRAPH, INITIALIZER, RAW_DATA = 7, 5, 9  # the fields ModelProto.graph, .initializer, .raw_data
_NUMBER, _EIGHT, _BYTES, _FOUR = 0, 1, 2, 5


class Malformed(Exception):
    """Bytes that are no message, or one of a kind that ONNX does not use."""


@dataclass
class Weights:
    """What was cut out; in its place each tensor holds a mark, which no model can know."""

    _salt: bytes = field(default_factory=lambda: os.urandom(16))
    _cut: list[memoryview] = field(default_factory=list[memoryview])

    def keep(self, data: memoryview) -> bytes:
        """Keep bytes; return their mark."""
        self._cut.append(data)
        return self._salt + len(self._cut).to_bytes(8, "little")

    def find(self, raw: bytes) -> bytes | memoryview:
        """Return the bytes that a mark stands for; any others are themselves."""
        if len(raw) != len(self._salt) + 8 or not raw.startswith(self._salt):
            return raw
        return self._cut[int.from_bytes(raw[-8:], "little") - 1]


def cut_weights(data: memoryview, weights: Weights) -> bytes:
    """Return a serialised model without its large weights, which are kept.

    Raises: Malformed.
    """
    return _rebuilt(data, (GRAPH, INITIALIZER, RAW_DATA), weights)


def _rebuilt(data: memoryview, path: tuple[int, ...], weights: Weights) -> bytes:
    """Return a message with the large field at the end of the path replaced by a mark."""
    parts: list[bytes | memoryview] = []
    number, inner = path[0], path[1:]
    kept = 0  # up to here, `data` is in `parts`
    for key, start, begin, end in _fields(data):
        if key != number << 3 | _BYTES or end - begin < LARGE:
            continue
        body = _rebuilt(data[begin:end], inner, weights) if inner else weights.keep(data[begin:end])
        parts += [data[kept:start], _varint(key), _varint(len(body)), body]
        kept = end
    return b"".join([*parts, data[kept:]])


def _fields(data: memoryview) -> Iterator[tuple[int, int, int, int]]:
    """Yield each field: its key, where it starts, and where its content begins and ends."""
    at = 0
    while at < len(data):
        start = at
        key, at = _read_varint(data, at)
        kind = key & 7
        if kind == _NUMBER:
            begin, (_, at) = at, _read_varint(data, at)
        elif kind == _BYTES:
            size, begin = _read_varint(data, at)
            at = begin + size
        elif kind in (_EIGHT, _FOUR):
            begin, at = at, at + (8 if kind == _EIGHT else 4)
        else:
            raise Malformed(f"a field of kind {kind}")
        if at > len(data):
            raise Malformed("a field reaches beyond the end")
        yield key, start, begin, at


def _read_varint(data: memoryview, at: int) -> tuple[int, int]:
    """Return a number of seven bits a byte, lowest first, and where it ends."""
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise Malformed("a number does not end")
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)
