"""Numbers as floats of few bits, rounded once: what `graph.cast` means of them, by their values."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from nn_opt.ir.small_types import SMALL_FLOATS, SMALL_INTEGERS

Array = NDArray[Any]
BFLOAT = np.dtype(ml_dtypes.bfloat16)
E8M0 = np.dtype(ml_dtypes.float8_e8m0fnu)


def is_integer(dtype: np.dtype[Any]) -> bool:
    """Return whether elements are integers, those of 4 and 2 bits included."""
    return np.issubdtype(dtype, np.integer) or dtype.name in SMALL_INTEGERS


def narrowed(x: Array, dtype: np.dtype[Any], saturate: bool = True, mode: str = "up") -> Array:
    """Return numbers as a float type that rounding to f32 before would spoil."""
    wide = x.astype(np.longdouble if x.dtype.kind in "iu" else np.float64)
    if dtype == BFLOAT:
        return _rounded_to_odd(wide).astype(dtype)
    if dtype == E8M0:
        return _powers(wide, saturate, mode).view(dtype)
    return _nearest(wide, dtype, saturate)


def _rounded_to_odd(x: Array) -> Array:
    """Return floats of which the last bit tells that something was cut off."""
    single = x.astype(np.float32)
    toward = np.where(np.abs(single) > np.abs(x), np.float32(0), single)
    below = np.where(toward == single, single, np.nextafter(single, np.float32(0)))
    odd = (below.view(np.uint32) | np.uint32(1)).view(np.float32)
    return np.where(np.isnan(x) | (single == x), single, odd)


def _powers(x: Array, saturate: bool, mode: str) -> Array:
    """Return the exponents of powers of two, 127 more, beside the sizes of numbers."""
    fraction, exponent = np.frexp(np.abs(x))  # fraction in [0.5, 1)
    limit = {"up": 0.5, "nearest": 0.75, "down": 1.0}[mode]
    more = fraction > limit if mode == "up" else fraction >= limit
    code = np.where(x == 0, 0, exponent - 1 + 127 + more)
    code = np.where(np.isinf(x), 255, code)
    if saturate:
        code = np.clip(code, 0, 254)
    else:
        code = np.where((np.abs(x) < 2.0**-127) | (code > 254), 255, code)
    return np.where(np.isnan(x), 255, code).astype(np.uint8)


def _nearest(x: Array, dtype: np.dtype[Any], saturate: bool) -> Array:
    """Return the nearest numbers of a type, of two the one with the even code."""
    sign = 1 << (SMALL_FLOATS[dtype.name].SEMANTICS.bitwidth - 1)
    values = np.arange(sign).astype(np.uint8).view(dtype).astype(np.float64)
    values = values[np.isfinite(values)]  # in the order of their codes
    beyond = 2 * values[-1] - values[-2]
    middles = (values + np.append(values[1:], beyond)) / 2
    below, above = (np.searchsorted(middles, np.abs(x), side) for side in ("left", "right"))
    code = np.where(below % 2 == 0, below, above)
    rounded = values[np.minimum(code, len(values) - 1)]
    if not saturate:
        rounded = np.where(code < len(values), rounded, np.inf)
    with np.errstate(all="ignore"):
        return np.where(np.isnan(x), x, np.copysign(rounded, x)).astype(dtype)
