"""NumPy's name of each element type; apart from `ir.types`, as importing NumPy takes 0.1 s."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
)
from xdsl.ir import Attribute

from nn_opt.ir.small_types import SMALL
from nn_opt.ir.types import UNSIGNED

# Signless integers are signed; bool is i1 and takes one byte an element in memory.
DTYPES: dict[Attribute, np.dtype[Any]] = {
    Float32Type(): np.dtype(np.float32),
    Float64Type(): np.dtype(np.float64),
    Float16Type(): np.dtype(np.float16),
    BFloat16Type(): np.dtype(ml_dtypes.bfloat16),
    IntegerType(1): np.dtype(np.bool_),
    IntegerType(8): np.dtype(np.int8),
    IntegerType(16): np.dtype(np.int16),
    IntegerType(32): np.dtype(np.int32),
    IntegerType(64): np.dtype(np.int64),
    UNSIGNED[8]: np.dtype(np.uint8),
    UNSIGNED[16]: np.dtype(np.uint16),
    UNSIGNED[32]: np.dtype(np.uint32),
    UNSIGNED[64]: np.dtype(np.uint64),
    **{type_: np.dtype(getattr(ml_dtypes, name)) for name, type_ in SMALL.items()},
    IndexType(): np.dtype(np.int64),
}
MLIR_TYPES: dict[np.dtype[Any], Attribute] = {
    dtype: type_ for type_, dtype in DTYPES.items() if not isinstance(type_, IndexType)
}
