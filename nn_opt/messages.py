"""Messages between processes: JSON, with bytes and arrays behind it; nothing in one is executed."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

import ml_dtypes
import numpy as np
from xdsl.utils.exceptions import PassFailedException, VerifyException

from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.ir.resources import Array

FAULTS = (DiagnosticError, PassFailedException, VerifyException)  # for the user, worded finally
_SIZES = struct.Struct("<QQ")  # bytes of the JSON, bytes behind it


def send(stream: BinaryIO, value: object, arrays: Mapping[str, Array] | None = None) -> None:
    """Write a message: a value that JSON can say, and arrays by name."""
    places = [(name, a.dtype.name, a.shape) for name, a in (arrays or {}).items()]
    parts = [np.ascontiguousarray(array) for array in (arrays or {}).values()]
    _write(stream, {"value": value, "arrays": places}, [_bytes(part) for part in parts])


def send_bytes(stream: BinaryIO, data: bytes) -> None:
    """Write a message that is nothing but bytes."""
    _write(stream, {"bytes": True}, [memoryview(data)])


def send_fault(stream: BinaryIO, fault: Exception) -> None:
    """Write one of `FAULTS`, which the receiver will raise."""
    kind = next(k for k, known in enumerate(FAULTS) if isinstance(fault, known))
    _write(stream, {"fault": kind, "text": str(fault)}, [])


def receive(stream: BinaryIO) -> tuple[Any, dict[str, Array]]:
    """Return the value of the next message, or its bytes, and its arrays, which are read-only.

    Raises: EOFError if there is no whole message; the fault, if one was sent.
    """
    text_size, data_size = _SIZES.unpack(_read(stream, _SIZES.size))
    header = json.loads(_read(stream, text_size))
    data = _read(stream, data_size)
    if "bytes" in header:
        return data, {}
    if "fault" in header:
        raise FAULTS[header["fault"]](header["text"])
    return header["value"], _arrays(data, header["arrays"])


def _bytes(array: Array) -> memoryview:
    flat: Any = array.reshape(-1).view(np.uint8)
    return memoryview(flat)


def _write(stream: BinaryIO, header: object, parts: Sequence[memoryview]) -> None:
    text = json.dumps(header).encode()
    stream.write(_SIZES.pack(len(text), sum(part.nbytes for part in parts)) + text)
    for part in parts:
        stream.write(part)
    stream.flush()


def _read(stream: BinaryIO, size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise EOFError("the message ends too early")
    return data


def _arrays(data: bytes, places: Sequence[tuple[str, str, Sequence[int]]]) -> dict[str, Array]:
    """Return views of the bytes, one after the other."""
    arrays: dict[str, Array] = {}
    start = 0
    for name, dtype, shape in places:
        arrays[name] = np.ndarray(
            tuple(shape), np.dtype(getattr(ml_dtypes, dtype, dtype)), data, start
        )
        start += arrays[name].nbytes
    return arrays
