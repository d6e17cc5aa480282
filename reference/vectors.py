"""vector: a vector is an array, a buffer is an array that is written in place."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from xdsl.dialects import vector
from xdsl.dialects.builtin import AnyFloat, BFloat16Type
from xdsl.interpreter import InterpreterFunctions, PythonValues
from xdsl.ir import Operation

from nn_opt.dialects.loop import DotOp
from nn_opt.ir.types import element_type, numpy_dtype, shape_of
from nn_opt.reference.scalars import as_type, fused_multiply_add
from nn_opt.reference.tables import functions_of

REDUCTIONS = {
    "add": np.add,
    "mul": np.multiply,
    "minsi": np.minimum,
    "maxsi": np.maximum,
    "minimumf": np.minimum,
    "maximumf": np.maximum,
    "minnumf": np.fmin,
    "maxnumf": np.fmax,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


def _broadcast(op: Operation, values: PythonValues) -> PythonValues:
    return (np.broadcast_to(values[0], shape_of(op.results[0])).copy(),)


def _fma(op: Operation, values: PythonValues) -> PythonValues:
    return (as_type(fused_multiply_add(*values), op.results[0].type),)


def _reduction(op: Operation, values: PythonValues) -> PythonValues:
    kind = cast(vector.ReductionOp, op).kind.data.value
    combine = REDUCTIONS[kind]
    with np.errstate(all="ignore"):
        total = combine.reduce(values[0])
        for start in values[1:]:
            total = combine(start, total)
    return (as_type(total, op.results[0].type),)


def _position(static: Any, dynamic: PythonValues) -> tuple[int, ...]:
    """Return a position of which some entries are operands, marked by the least i64."""
    rest = iter(dynamic)
    marked = (int(entry) for entry in static.iter_values())
    return tuple(int(next(rest)) if entry == -(2**63) else entry for entry in marked)


def _extract(op: Operation, values: PythonValues) -> PythonValues:
    source, *dynamic = values
    return (source[_position(cast(vector.ExtractOp, op).static_position, tuple(dynamic))],)


def _insert(op: Operation, values: PythonValues) -> PythonValues:
    value, target, *dynamic = values
    result = np.array(target)
    result[_position(cast(vector.InsertOp, op).static_position, tuple(dynamic))] = value
    return (result,)


def _window(buffer: Any, indices: PythonValues, lanes: int) -> Any:
    *outer, inner = (int(index) for index in indices)
    return buffer[(*outer, slice(inner, inner + lanes))]


def _load(op: Operation, values: PythonValues) -> PythonValues:
    buffer, *indices = values
    return (_window(buffer, tuple(indices), shape_of(op.results[0])[-1]).copy(),)


def _store(op: Operation, values: PythonValues) -> PythonValues:
    value, buffer, *indices = values
    _window(buffer, tuple(indices), value.shape[-1])[...] = value
    return ()


def _bitcast(op: Operation, values: PythonValues) -> PythonValues:
    return (values[0].view(numpy_dtype(element_type(op.results[0]))),)


def dot_of_pairs(acc: Any, a: Any, b: Any) -> Any:
    """Return acc + a[1] * b[1], rounded, + a[0] * b[0], rounded; denormal numbers are zeros.

    float64 holds a product and, wherever that decides how to round, its sum with a float32.
    """
    left = without_denormals(np.asarray(a, np.float32))
    right = without_denormals(np.asarray(b, np.float32))
    right = right.reshape(*right.shape[:-1], -1, left.shape[-1])
    total: Any = without_denormals(np.asarray(acc, np.float32))
    for k in reversed(range(left.shape[-1])):
        product = left[..., None, k].astype(np.float64) * right[..., k]
        total = without_denormals((total + product).astype(np.float32))
    return total


def without_denormals(x: Any) -> Any:
    """Return float32 numbers, zeros of the same sign for those too small to be normal."""
    result = np.array(x, np.float32)
    result[np.abs(result) < np.finfo(np.float32).tiny] *= 0
    return result


def dot(op: DotOp, acc: Any, a: Any, b: Any) -> Any:
    """Return acc plus each lane's group of products; the last axis is the lanes'."""
    if element_type(op.a) == BFloat16Type():
        return dot_of_pairs(acc, a, b)
    wide = np.float64 if isinstance(element_type(op.acc), AnyFloat) else np.int64
    left = np.asarray(a)
    left = left.view(np.uint8) if op.unsigned is not None else left
    right = np.asarray(b).reshape(*np.shape(b)[:-1], -1, op.group)
    total = (left[..., None, :].astype(wide) * right.astype(wide)).sum(-1)
    return as_type(np.asarray(acc).astype(wide) + total, op.acc.type)


FUNCTIONS: list[type[InterpreterFunctions]] = [
    functions_of(
        {
            vector.BroadcastOp: _broadcast,
            vector.FMAOp: _fma,
            vector.ReductionOp: _reduction,
            vector.ExtractOp: _extract,
            vector.InsertOp: _insert,
            vector.LoadOp: _load,
            vector.StoreOp: _store,
            vector.BitcastOp: _bitcast,
        }
    )
]
