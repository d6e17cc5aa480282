"""What programs that all backends must agree on are made of: element types, numbers, builders."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
from numpy.typing import NDArray
from xdsl.ir import SSAValue

from nn_opt.dialects import graph
from nn_opt.ir.types import shape_of

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
    is that of the k-th operator; nobody asks for that of one without a name.
    """

    ops: tuple[str, ...]
    dtype: str
    inputs: tuple[Array, ...]
    build: Build

    def without(self, refused: Collection[str]) -> Program | None:
        """Return this program but for some operators, in whose rows are others'; None if all are.

        They are called `op`, `dtype`, or `op dtype`.
        """
        left = [k for k, op in enumerate(self.ops) if not _called(op, self.dtype) & {*refused}]
        if len(left) == len(self.ops):
            return self
        if not left or not isinstance(self.build, InRows):
            return None
        ops = tuple(op if k in left else "" for k, op in enumerate(self.ops))
        rows = [self.build.ops[k if k in left else left[0]] for k in range(len(ops))]
        return replace(self, ops=ops, build=InRows(rows))

    def only(self, name: str) -> Program:
        """Return this program of one of its operators."""
        return self.without([op for op in self.ops if op != name]) or self


def _called(op: str, dtype: str) -> set[str]:
    return {op, dtype, f"{op} {dtype}"}


@dataclass(frozen=True)
class InRows:
    """A builder of row k of the k-th operator's result."""

    ops: Sequence[Build]

    def __call__(self, rows: SSAValue, *operands: SSAValue) -> SSAValue:
        """Return the result; an operator that has several rows is computed once."""
        made = {op: op(*operands) for op in dict.fromkeys(self.ops)}
        result = made[self.ops[0]]
        for k, op in enumerate(self.ops[1:], 1):
            if op is not self.ops[0]:
                mine = graph.EqualOp(rows, number(k, "i32")).result
                result = graph.WhereOp(mine, made[op], result).result
        shape = np.broadcast_shapes(shape_of(rows), shape_of(result))
        return result if shape == shape_of(result) else graph.ExpandOp(result, shape).result


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


def row_numbers(count: int, dimensions: int) -> Array:
    """Return 0, 1, ..., along the first of some dimensions."""
    return np.arange(count, dtype=np.int32).reshape(count, *[1] * (dimensions - 1))


def one(dtype: str, ops: str, build: Build, *inputs: Array) -> Program:
    """Return a program of a builder that returns an op."""
    return Program(tuple(ops.split()), dtype, inputs, lambda *x: build(*x).results[0])
