"""What programs that all backends must agree on are made of: element types, numbers, builders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
from numpy.typing import NDArray
from xdsl.ir import SSAValue

from nn_opt.dialects import graph

Array: TypeAlias = NDArray[Any]
Build: TypeAlias = Callable[..., SSAValue]
DTYPES: dict[str, Any] = {
    "f32": np.float32,
    "f64": np.float64,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "ui8": np.uint8,
    "ui16": np.uint16,
    "ui32": np.uint32,
    "ui64": np.uint64,
    "i1": np.bool_,
}
FLOATS = [name for name in DTYPES if "f" in name]
INTEGERS = [name for name in DTYPES if "f" not in name and name != "i1"]
NUMBERS = FLOATS + INTEGERS
# Half of a unit in the last place of results about 1, times the roundings of a few operations.
TOLERANCES = {"f32": 2e-5, "f64": 1e-12, "f16": 4e-3, "bf16": 3e-2}


@dataclass(frozen=True)
class Program:
    """A function of arrays: the operators that it is about, and their element type.

    An operator of several kinds is called `reduce:sum`. With more than one, row k of the result
    is that of the k-th operator.
    """

    ops: tuple[str, ...]
    dtype: str
    inputs: tuple[Array, ...]
    build: Build


def noise(dtype: str, *shape: int, low: float = -2, high: float = 2) -> Array:
    """Return seeded numbers; integers from 0 to 5, or from -5 if they have a sign."""
    rng = np.random.default_rng(len(shape) + 7 * sum(shape))
    if dtype == "i1":
        return rng.integers(0, 2, shape).astype(np.bool_)
    if dtype in INTEGERS:
        least = 0 if dtype[0] == "u" or low >= 0 else -5
        return rng.integers(least, 6, shape).astype(DTYPES[dtype])
    return rng.uniform(low, high, shape).astype(DTYPES[dtype])


def number(value: float, dtype: str) -> SSAValue:
    """Return a constant without dimensions."""
    return graph.ConstantOp(np.array(value, DTYPES[dtype])).result


def in_rows(ops: Sequence[Build]) -> Build:
    """Return a builder of row k of the k-th operator's result."""

    def build(rows: SSAValue, *operands: SSAValue) -> SSAValue:
        result = ops[0](*operands)
        for k, op in enumerate(ops[1:], 1):
            mine = graph.EqualOp(rows, number(k, "i32")).result
            result = graph.WhereOp(mine, op(*operands), result).result
        return result

    return build


def row_numbers(count: int, dimensions: int) -> Array:
    """Return 0, 1, ..., along the first of some dimensions."""
    return np.arange(count, dtype=np.int32).reshape(count, *[1] * (dimensions - 1))


def one(dtype: str, ops: str, build: Build, *inputs: Array) -> Program:
    """Return a program of a builder that returns an op."""
    return Program(tuple(ops.split()), dtype, inputs, lambda *x: build(*x).results[0])
