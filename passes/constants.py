"""Reading and making graph.constant, and the per-channel view of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import AnyFloat
from xdsl.ir import SSAValue

from nn_opt.dialects import graph
from nn_opt.ir.resources import INLINE_ELEMENTS, Array, array_of
from nn_opt.ir.types import element_type, numpy_dtype, shape_of

Float64Array = NDArray[np.float64]


def constant_array(value: SSAValue) -> Array | None:
    """Return the array of a value that a graph.constant makes, else None."""
    if isinstance(value.owner, graph.ConstantOp):
        return array_of(value.owner.value, value.type)
    return None


def splat_of(value: SSAValue) -> Any:
    """Return the one number that a constant of few elements repeats, else None."""
    array = constant_array(value)
    if array is None or array.size == 0 or array.size > INLINE_ELEMENTS:
        return None
    first = array.reshape(-1)[0]
    return first if bool((array == first).all()) else None


def is_float(value: SSAValue) -> bool:
    """Return whether a tensor holds floating-point numbers."""
    return isinstance(element_type(value), AnyFloat)


def per_channel(value: SSAValue, shape: Sequence[int], axis: int) -> Float64Array | None:
    """Return a constant as one float64 a channel, if it varies along `axis` of `shape` alone.

    The constant broadcasts to `shape` as NumPy would; a scalar is the same for every channel.
    """
    array = constant_array(value)
    if array is None or array.ndim > len(shape):
        return None
    full = (1,) * (len(shape) - array.ndim) + array.shape
    channels = shape[axis]
    if any(size != 1 for index, size in enumerate(full) if index != axis):
        return None
    if full[axis] not in (1, channels):
        return None
    return np.broadcast_to(array.reshape(-1).astype(np.float64), (channels,))


def rounded(array: Float64Array, like: SSAValue) -> Array | None:
    """Return the array in the element type of `like`; None if a finite number became infinite."""
    with np.errstate(over="ignore"):
        result = array.astype(numpy_dtype(element_type(like)))
    lost = np.isfinite(array) & ~np.isfinite(result)
    return None if bool(lost.any()) else result


def scaled(array: Array, factor: Float64Array, like: SSAValue) -> Array | None:
    """Return array * factor, multiplied in float64 and rounded once, as `rounded` does.

    NumPy works through both in pieces that fit the cache, so no copy in float64 is made.
    """
    shape = np.broadcast_shapes(array.shape, factor.shape)
    result = np.empty(shape, numpy_dtype(element_type(like)))
    with np.errstate(over="ignore"):
        np.multiply(array, factor, out=result, dtype=np.float64, casting="unsafe")
    finite = np.isfinite(result)
    if bool(finite.all()):
        return result
    lost = np.isfinite(array) & np.isfinite(factor) & ~finite
    return None if bool(lost.any()) else result


def rank_of(value: SSAValue) -> int:
    """Return the number of axes of a tensor."""
    return len(shape_of(value))
