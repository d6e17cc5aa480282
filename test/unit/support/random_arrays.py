"""Arrays of seeded random numbers, and short names of their types."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

F32, F64, F16, BF16 = np.float32, np.float64, np.float16, ml_dtypes.bfloat16

I32, I64, U8 = np.int32, np.int64, np.uint8


def normal(*shape: int, dtype: Any = F32, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def whole(low: int, high: int, *shape: int, dtype: Any = I64, seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(low, high, shape).astype(dtype)
