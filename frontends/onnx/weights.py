"""The arrays of a model's tensors: inline ones, and external files that are mapped read-only."""

from __future__ import annotations

import math
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, numpy_helper

from nn_opt.frontends.onnx.packed import BITS, bytes_of, entries_of, unpacked
from nn_opt.frontends.onnx.reader import Model

Array = NDArray[Any]

# The element types that the graph dialect has; others make a model unsupported.
ELEMENT_DTYPES: dict[int, np.dtype[Any]] = {
    TensorProto.FLOAT: np.dtype(np.float32),
    TensorProto.DOUBLE: np.dtype(np.float64),
    TensorProto.FLOAT16: np.dtype(np.float16),
    TensorProto.BFLOAT16: np.dtype(ml_dtypes.bfloat16),
    TensorProto.BOOL: np.dtype(np.bool_),
    TensorProto.INT8: np.dtype(np.int8),
    TensorProto.INT16: np.dtype(np.int16),
    TensorProto.INT32: np.dtype(np.int32),
    TensorProto.INT64: np.dtype(np.int64),
    TensorProto.UINT8: np.dtype(np.uint8),
    TensorProto.UINT16: np.dtype(np.uint16),
    TensorProto.UINT32: np.dtype(np.uint32),
    TensorProto.UINT64: np.dtype(np.uint64),
    TensorProto.FLOAT8E4M3FN: np.dtype(ml_dtypes.float8_e4m3fn),
    TensorProto.FLOAT8E4M3FNUZ: np.dtype(ml_dtypes.float8_e4m3fnuz),
    TensorProto.FLOAT8E5M2: np.dtype(ml_dtypes.float8_e5m2),
    TensorProto.FLOAT8E5M2FNUZ: np.dtype(ml_dtypes.float8_e5m2fnuz),
    TensorProto.FLOAT8E8M0: np.dtype(ml_dtypes.float8_e8m0fnu),
    TensorProto.FLOAT6E2M3: np.dtype(ml_dtypes.float6_e2m3fn),
    TensorProto.FLOAT6E3M2: np.dtype(ml_dtypes.float6_e3m2fn),
    TensorProto.FLOAT4E2M1: np.dtype(ml_dtypes.float4_e2m1fn),
    TensorProto.INT4: np.dtype(ml_dtypes.int4),
    TensorProto.UINT4: np.dtype(ml_dtypes.uint4),
    TensorProto.INT2: np.dtype(ml_dtypes.int2),
    TensorProto.UINT2: np.dtype(ml_dtypes.uint2),
}


MOST_DIGITS = 32  # of an offset or a length
MAX_SIZE = 2**48  # of an axis: what is longer is a mistake, even where another axis is empty


def type_name(data_type: int) -> str:
    """Return ONNX's word for an element type."""
    if data_type in TensorProto.DataType.values():
        return TensorProto.DataType.Name(data_type).lower()
    return f"type number {data_type}"


def array_of_tensor(tensor: TensorProto, model: Model) -> Array:
    """Return the tensor's elements, read-only.

    Raises: DiagnosticError if the sizes disagree, or an external file is missing, too short or
    outside the model's folder.
    """
    if tensor.data_type not in ELEMENT_DTYPES:
        raise model.error(
            f"tensor '{tensor.name}' has elements of {type_name(tensor.data_type)},"
            " which is not supported"
        )
    if any(dim < 0 for dim in tensor.dims):
        raise model.error(f"tensor '{tensor.name}' has a negative size: {list(tensor.dims)}")
    if math.prod(tensor.dims) == 0 and math.prod(dim for dim in tensor.dims if dim) > MAX_SIZE:
        raise model.error(f"tensor '{tensor.name}' has the absurd shape {list(tensor.dims)}")
    if tensor.data_location == TensorProto.EXTERNAL:
        return _external_array(tensor, model)
    return _inline_array(tensor, model)


def _inline_array(tensor: TensorProto, model: Model) -> Array:
    dtype, shape = ELEMENT_DTYPES[tensor.data_type], tuple(tensor.dims)
    if not tensor.HasField("raw_data"):
        return _listed_array(tensor, model)
    raw = model.weights.find(tensor.raw_data)
    expected = bytes_of(tensor.data_type, shape, dtype.itemsize)
    if len(raw) != expected:
        raise _wrong_size(model, tensor, f"it holds {len(raw)} bytes, expected {expected}")
    if tensor.data_type in BITS:
        return unpacked(np.frombuffer(raw, np.uint8), tensor.data_type, shape, dtype)
    return np.frombuffer(raw, dtype.newbyteorder("<")).reshape(shape)


def _listed_array(tensor: TensorProto, model: Model) -> Array:
    """Return the elements of a list of numbers, several in one if they are packed."""
    wrong = len(tensor.int32_data) != entries_of(tensor.data_type, tensor.dims)
    try:
        if tensor.data_type in BITS and wrong:
            raise ValueError
        return numpy_helper.to_array(tensor)
    except ValueError:
        raise _wrong_size(model, tensor, "its list of values has another length") from None


def _wrong_size(model: Model, tensor: TensorProto, what: str):
    return model.error(f"tensor '{tensor.name}' of shape {list(tensor.dims)}: {what}")


def _external_array(tensor: TensorProto, model: Model) -> Array:
    entries = {entry.key: entry.value for entry in tensor.external_data}
    path = _inside_folder(entries.get("location", ""), tensor, model)
    dtype, shape = ELEMENT_DTYPES[tensor.data_type], tuple(tensor.dims)
    expected = bytes_of(tensor.data_type, shape, dtype.itemsize)
    offset = _number(entries, "offset", 0, tensor, model)
    length = _number(entries, "length", expected, tensor, model)
    if length != expected:
        raise _wrong_size(model, tensor, f"its length is {length} bytes, expected {expected}")
    size = path.stat().st_size
    if offset + length > size:
        problem = f"it ends at byte {offset + length} of '{path.name}', which has {size}"
        raise _wrong_size(model, tensor, problem)
    if not expected:
        return np.zeros(shape, dtype)
    mapped = np.memmap(path, np.uint8, "r", offset, (length,))
    if tensor.data_type in BITS:
        return unpacked(mapped, tensor.data_type, shape, dtype)
    array = np.frombuffer(mapped, dtype.newbyteorder("<")).reshape(shape)
    return np.require(array, requirements="A")  # a copy if the file's offset is odd


def _number(
    entries: dict[str, str], key: str, default: int, tensor: TensorProto, model: Model
) -> int:
    text = entries.get(key)
    if text is None:
        return default
    if not (text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS):
        shown = text if len(text) <= MOST_DIGITS else f"{text[:MOST_DIGITS]}..."
        raise model.error(f"tensor '{tensor.name}': external {key} is {shown!r}, not a number")
    return int(text)


def _inside_folder(location: str, tensor: TensorProto, model: Model) -> Path:
    """Return the file, refusing any path that leads out of the folder, symbolic links included."""
    where = f"tensor '{tensor.name}': external file '{location}'"
    absolute = PurePosixPath(location).is_absolute() or PureWindowsPath(location).drive != ""
    parts = PureWindowsPath(location).parts  # divided by both kinds of slashes
    if not location or "\0" in location or absolute or ".." in parts:
        raise model.error(f"{where} is not a path inside the model's folder")
    if model.folder is None:
        raise model.error(
            f"{where} cannot be found: the model came without a folder",
            hint="pass the model's path instead of its bytes",
        )
    path = (model.folder / location).resolve()
    if not path.is_relative_to(model.folder.resolve()):
        raise model.error(f"{where} leads out of the model's folder, to '{path}'")
    if not _is_file(path):
        raise model.error(f"{where} is missing, or not a file")
    return path


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # its name is too long, say
        return False
