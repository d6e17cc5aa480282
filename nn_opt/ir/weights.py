"""Weights beside the text: a safetensors file that is keyed by resource and read where it lies."""

from __future__ import annotations

import json
import math
import mmap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr
from xdsl.ir import Attribute, Operation

from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.ir.files import write_atomically
from nn_opt.ir.resources import Array, Resource, ResourceAttr, dense_of
from nn_opt.ir.small_types import SMALL

# Source: the table of dtypes of the safetensors format.
_DTYPES: dict[str, np.dtype[Any]] = {
    "F64": np.dtype(np.float64),
    "F32": np.dtype(np.float32),
    "F16": np.dtype(np.float16),
    "BF16": np.dtype(ml_dtypes.bfloat16),
    "I64": np.dtype(np.int64),
    "I32": np.dtype(np.int32),
    "I16": np.dtype(np.int16),
    "I8": np.dtype(np.int8),
    "U64": np.dtype(np.uint64),
    "U32": np.dtype(np.uint32),
    "U16": np.dtype(np.uint16),
    "U8": np.dtype(np.uint8),
    "BOOL": np.dtype(np.bool_),
    "F8_E4M3": np.dtype(ml_dtypes.float8_e4m3fn),
    "F8_E5M2": np.dtype(ml_dtypes.float8_e5m2),
    "F8_E8M0": np.dtype(ml_dtypes.float8_e8m0fnu),
}
# What that table lacks is written as bytes, with the name in the header's metadata.
_NAMED = {name: np.dtype(getattr(ml_dtypes, name)) for name in SMALL}


class WeightsFile(Mapping[str, Array]):
    """The arrays of a safetensors file; each is a read-only view of the mapped file.

    Raises: DiagnosticError if the file cannot be read as one.
    """

    def __init__(self, path: str | Path):
        self.path = path
        try:
            with open(path, "rb") as file:
                self._bytes = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
            start = 8 + int.from_bytes(self._bytes[:8], "little")
            self._header: dict[str, dict[str, Any]] = json.loads(bytes(self._bytes[8:start]))
            self._names: dict[str, str] = self._header.pop("__metadata__", {})
        except (OSError, ValueError, AttributeError, TypeError, RecursionError) as error:
            problem = getattr(error, "strerror", None) or "this is no safetensors file"
            raise DiagnosticError(f"{path}: error: {problem}") from error
        self._data = self._bytes[start:]

    def __getitem__(self, key: str) -> Array:
        entry = self._header[key]
        try:
            dtype, shape = self._dtype(key, entry["dtype"]), entry["shape"]
            begin, end = entry["data_offsets"]
            whole = all(type(n) is int and n >= 0 for n in (*shape, begin, end))
        except (KeyError, TypeError, ValueError):
            raise self._fault(f"array '{key}' has no type, shape and place") from None
        wanted = math.prod(shape) * dtype.itemsize if dtype is not None and whole else -1
        if not whole or end - begin != wanted or end > len(self._data):
            word = self._names.get(key, entry["dtype"])
            raise self._fault(f"array '{key}' has a bad size or the unknown type {word}")
        return np.frombuffer(self._data[begin:end], dtype).reshape(shape)

    def _fault(self, problem: str) -> DiagnosticError:
        return DiagnosticError(f"{self.path}: error: {problem}")

    def _dtype(self, key: str, word: str) -> np.dtype[Any] | None:
        """Return the type of an array; None if there is no such, or it does not fit the bytes."""
        name = self._names.get(key)
        if name is None:
            return _DTYPES.get(word)
        return _NAMED.get(name) if word == "U8" else None

    def __iter__(self) -> Iterator[str]:
        return iter(self._header)

    def __len__(self) -> int:
        return len(self._header)


def resources(root: Operation) -> Iterator[ResourceAttr]:
    """Yield each resource of `root`, also those in lists and dictionaries."""
    for op in root.walk():
        for holder in (op.properties, op.attributes):
            for value in holder.values():
                yield from resources_in(value)


def resources_in(attribute: Attribute) -> Iterator[ResourceAttr]:
    """Yield the resources that an attribute is or holds."""
    match attribute:
        case ResourceAttr():
            yield attribute
        case ArrayAttr(data=parts):
            for part in parts:
                yield from resources_in(part)
        case DictionaryAttr(data=entries):
            for part in entries.values():
                yield from resources_in(part)
        case _:
            pass


def arrays_of(root: Operation) -> dict[str, Array]:
    """Return the arrays of all resources by key.

    Raises: DiagnosticError if the text was read without its weights.
    """
    arrays: dict[str, Array] = {}
    for attribute in resources(root):
        array = attribute.data.array
        if array is None:
            raise DiagnosticError(
                f"error: the weights of resource {attribute.data.key!r} are not here\n"
                "  hint: pass the file that was written beside the text: --weights=FILE"
            )
        arrays[attribute.data.key] = array
    return arrays


def save_weights(root: Operation, path: str | Path) -> None:
    """Write every resource of `root` to a safetensors file."""
    from safetensors.numpy import save_file  # pyright: ignore[reportUnknownVariableType]

    arrays = {key: np.ascontiguousarray(array) for key, array in arrays_of(root).items()}
    names = {key: a.dtype.name for key, a in arrays.items() if a.dtype.name in SMALL}
    arrays |= {key: arrays[key].view(np.uint8) for key in names}
    write_atomically(path, lambda temporary: save_file(arrays, temporary, names or None))


def inline_weights(root: Operation) -> None:
    """Replace every resource of `root` by dense text, so that the printed module is whole."""
    arrays_of(root)
    for op in root.walk():
        for holder in (op.properties, op.attributes):
            for name, value in list(holder.items()):
                if any(resources_in(value)):
                    holder[name] = _inlined(value)


def _inlined(attribute: Attribute) -> Attribute:
    match attribute:
        case ResourceAttr(data=Resource(array=array)):
            assert array is not None, "checked before"
            return dense_of(array)
        case ArrayAttr(data=parts):
            return ArrayAttr([_inlined(part) for part in parts])
        case DictionaryAttr(data=entries):
            return DictionaryAttr({name: _inlined(part) for name, part in entries.items()})
        case _:
            return attribute
