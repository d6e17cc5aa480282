"""DLPack capsules through ctypes: arrays on devices, passed between libraries without a copy."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nn_opt.runtime.manifest import dtype_named

CPU, CUDA = 1, 2  # DLDeviceType
NAME, USED = b"dltensor", b"used_dltensor"
_CODES = {"i": 0, "u": 1, "f": 2, "b": 6}  # DLDataTypeCode by NumPy's kinds
# DLDataTypeCode of what NumPy knows through ml_dtypes.
_NAMED = {
    "bfloat16": 4,
    "float8_e4m3fn": 10,
    "float8_e4m3fnuz": 11,
    "float8_e5m2": 12,
    "float8_e5m2fnuz": 13,
    "float8_e8m0fnu": 14,
}


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Managed(ctypes.Structure):
    pass


_Deleter = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Managed))
_Managed._fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", _Deleter)]
_api = ctypes.pythonapi
_api.PyCapsule_New.restype = ctypes.py_object
_api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_api.PyCapsule_GetPointer.restype = ctypes.c_void_p
_api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_api.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
# The same of a capsule that is about to go, which no Python object can be made of.
_OfCapsule = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)
_is_named = _OfCapsule(("PyCapsule_IsValid", _api))
_content = _OfCapsule(("PyCapsule_GetPointer", _api))
_lent: dict[int, Any] = {}  # what others hold, by the address of its description


@_Deleter
def _give_back(managed: Any) -> None:
    _lent.pop(ctypes.addressof(managed.contents), None)


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def _drop(capsule: int) -> None:
    """Give back what a capsule holds that nobody took."""
    if _is_named(capsule, NAME):
        _lent.pop(_content(capsule, NAME), None)


@dataclass(frozen=True)
class Lent:
    """An array of another library: where it is, and what keeps it there."""

    pointer: int
    device: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    owner: object


def export(
    pointer: int, device: int, shape: Sequence[int], dtype: np.dtype[Any], owner: object
) -> Any:
    """Return a capsule of a row-major array; `owner` lives as long as somebody holds it.

    Raises: TypeError for a type that DLPack has no word for.
    """
    sizes = (ctypes.c_int64 * max(len(shape), 1))(*shape)
    code = _NAMED.get(dtype.name, _CODES.get(dtype.kind))
    if code is None:
        raise TypeError(f"DLPack has no type for {dtype.name}")
    tensor = _Tensor(pointer, device, 0, len(shape), code, 8 * dtype.itemsize, 1, sizes, None, 0)
    managed = _Managed(tensor, None, _give_back)
    _lent[ctypes.addressof(managed)] = (managed, sizes, owner)
    return _api.PyCapsule_New(ctypes.addressof(managed), NAME, ctypes.cast(_drop, ctypes.c_void_p))


def borrow(value: Any) -> Lent:
    """Return what an object with `__dlpack__` holds.

    Raises: TypeError if it is not row-major, or of a type that NumPy has no word for.
    """
    capsule = value.__dlpack__()
    managed = _Managed.from_address(_api.PyCapsule_GetPointer(capsule, NAME))
    tensor = managed.tensor
    shape = tuple(tensor.shape[k] for k in range(tensor.ndim))
    if tensor.strides and not _is_row_major(shape, [tensor.strides[k] for k in range(tensor.ndim)]):
        raise TypeError("an array on a device must be row-major")
    dtype = _dtype(tensor.code, tensor.bits, tensor.lanes)
    _api.PyCapsule_SetName(capsule, USED)
    owner = _Owner(managed)
    return Lent(tensor.data + tensor.byte_offset, tensor.device_type, shape, dtype, owner)


class _Owner:
    """Calls the deleter of what was borrowed when nobody uses it any more."""

    def __init__(self, managed: Any) -> None:
        self._managed = managed

    def __del__(self) -> None:
        if self._managed.deleter:
            self._managed.deleter(ctypes.byref(self._managed))


def _is_row_major(shape: Sequence[int], strides: Sequence[int]) -> bool:
    wanted = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    pairs = zip(shape, strides, wanted, strict=True)
    return all(size <= 1 or stride == want for size, stride, want in pairs)


def _dtype(code: int, bits: int, lanes: int) -> np.dtype[Any]:
    kinds = {number: kind for kind, number in _CODES.items()}
    for name, number in _NAMED.items():
        if code == number and bits == 8 * dtype_named(name).itemsize:
            return dtype_named(name)
    if lanes != 1 or code not in kinds:
        raise TypeError(f"an array of DLPack type {code} with {bits} bits is no input")
    return np.dtype(np.bool_) if kinds[code] == "b" else np.dtype(f"{kinds[code]}{bits // 8}")
