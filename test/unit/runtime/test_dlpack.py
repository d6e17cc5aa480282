"""Arrays of devices as DLPack capsules."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from nn_opt.runtime import dlpack


class OnHost:
    """An array of the host as a device would offer it."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __dlpack_device__(self) -> tuple[int, int]:
        return dlpack.CPU, 0

    def __dlpack__(self, **_: object) -> Any:
        a = self.array
        return dlpack.export(a.ctypes.data, dlpack.CPU, a.shape, a.dtype, a)


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i8", "i4", "i1", "u1", "?"])
def test_numpy_reads_what_is_exported(dtype: str):
    array = np.arange(12).reshape(3, 4).astype(dtype)
    seen = np.from_dlpack(OnHost(array))
    np.testing.assert_array_equal(seen, array)
    assert seen.dtype == array.dtype
    assert np.shares_memory(seen, array)


@pytest.mark.parametrize("dtype", ["f4", "i8", "?"])
def test_what_numpy_exports_is_borrowed(dtype: str):
    array = np.arange(6).reshape(2, 3).astype(dtype)
    lent = dlpack.borrow(array)
    assert (lent.pointer, lent.device) == (array.ctypes.data, dlpack.CPU)
    assert (lent.shape, lent.dtype) == ((2, 3), array.dtype)


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu"])
def test_floats_of_ml_dtypes_go_both_ways(name: str):
    array = np.ones((2, 2), getattr(ml_dtypes, name))
    lent = dlpack.borrow(OnHost(array))
    assert (lent.pointer, lent.dtype) == (array.ctypes.data, array.dtype)


def test_types_without_a_word():
    with pytest.raises(TypeError, match="DLPack has no type for int4"):
        dlpack.export(64, dlpack.CPU, (1,), np.dtype(ml_dtypes.int4), None)


class Owner:
    pass


class Offer:
    def __init__(self, owner: Owner) -> None:
        self.owner = owner

    def __dlpack__(self) -> Any:
        return dlpack.export(64, dlpack.CUDA, (1,), np.dtype("f4"), self.owner)


def test_owners_live_as_long_as_capsules_and_borrowers():
    owner = Owner()
    gone = weakref.ref(owner)
    offer = Offer(owner)
    capsule = offer.__dlpack__()
    lent = dlpack.borrow(offer)
    del owner, offer
    gc.collect()
    assert gone() is not None
    del capsule  # that nobody took
    gc.collect()
    assert gone() is not None
    del lent
    gc.collect()
    assert gone() is None


def test_what_is_no_input():
    with pytest.raises(TypeError, match="an array on a device must be row-major"):
        dlpack.borrow(np.zeros((3, 4), np.float32).T)
    with pytest.raises(TypeError, match="an array of DLPack type 5 with 64 bits is no input"):
        dlpack.borrow(np.zeros(3, np.complex64))
