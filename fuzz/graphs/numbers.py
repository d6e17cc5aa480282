"""Arrays that a text describes: element type, sizes, kind of numbers, seed."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

FLOATS = ("float32", "float64", "float16", "bfloat16")
FLOAT8 = ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz")
FEW_BITS = ("int4", "uint4", "int2", "uint2", "float4_e2m1fn", "float8_e8m0fnu")
SIGNED = ("int32", "int64", "int8", "int16")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
DTYPES = (*FLOATS, *SIGNED, *UNSIGNED, "bool", *FLOAT8, *FEW_BITS)
KINDS = ("normal", "normal", "whole", "whole", "special", "extreme")


def dtype_of(name: str) -> np.dtype[Any]:
    """Return the NumPy type of a name."""
    return np.dtype(getattr(ml_dtypes, name, None) or name)


def is_float(dtype: np.dtype[Any]) -> bool:
    """Return whether a type holds floats of any number of bits."""
    return dtype.kind == "f" or "float" in dtype.name


def described(text: str) -> Array:
    """Return the array of a text such as `float32 2,3 normal 7`."""
    name, sizes, kind, seed = text.split(" ")
    shape = tuple(int(size) for size in sizes.split(",") if size)
    return make(name, shape, kind, int(seed))


def describe(name: str, shape: tuple[int, ...], kind: str, seed: int) -> str:
    """Return the text of an array."""
    return f"{name} {','.join(map(str, shape))} {kind} {seed}"


def make(name: str, shape: tuple[int, ...], kind: str, seed: int) -> Array:
    """Return an array; kinds are KINDS, `between:LOW:HIGH`, `list:1,2`, `distinct`, `positive`."""
    rng, dtype = np.random.default_rng(seed), dtype_of(name)
    count = int(np.prod(shape))
    if kind.startswith("list:"):
        drawn = np.resize([int(n) for n in kind[5:].split(",") if n], count)
    elif kind.startswith("between:"):
        low, high = (float(bound) for bound in kind.split(":")[1:])
        drawn = rng.uniform(low, high, count) if is_float(dtype) else rng.integers(low, high, count)
    elif kind == "distinct":
        drawn = rng.permutation(count) - (count // 2 if name in (*FLOATS, *SIGNED) else 0)
    elif kind == "zero":
        drawn = np.zeros(count)
    elif kind == "positive":
        drawn = rng.uniform(0.25, 3, count) if is_float(dtype) else rng.integers(1, 3, count)
    else:
        drawn = _numbers(dtype, kind, count, rng)
    with np.errstate(all="ignore"):
        return np.asarray(drawn).astype(dtype).reshape(shape)


def _numbers(dtype: np.dtype[Any], kind: str, count: int, rng: np.random.Generator) -> Array:
    if dtype == np.bool_:
        return rng.integers(0, 2, count) == 1
    if not is_float(dtype):
        return _integers(dtype, kind, count, rng)
    drawn = rng.normal(0, 1.5, count)
    if kind == "whole":
        return rng.integers(-4, 5, count).astype(np.float64)
    if kind in ("special", "extreme"):
        strange = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 1.0, -1.0])
        if kind == "extreme":
            info: Any = ml_dtypes.finfo(dtype)
            large, small = float(info.max), float(info.smallest_subnormal)
            strange = np.array([large, -large, small, -small, large / 3, 0.5, -1.5, 2.5, -0.0])
        drawn = np.where(rng.random(count) < 0.4, rng.choice(strange, count), drawn)
    return drawn


def _integers(dtype: np.dtype[Any], kind: str, count: int, rng: np.random.Generator) -> Array:
    info: Any = ml_dtypes.iinfo(dtype)
    low, high = int(info.min), int(info.max)
    if kind in ("special", "extreme"):
        ends = [low, low + 1, high, high - 1, high // 2, 0, 1]
        wide = np.array([e if e >= 0 else e + (1 << 64) for e in ends], np.uint64)
        drawn = rng.choice(wide, count)
        return drawn if low >= 0 else drawn.view(np.int64)
    return rng.integers(max(low, -4), min(high, 5) + 1, count)
