"""What the reductions of graph mean, in NumPy; sums of floats are taken in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Operation

from nn_opt.dialects import graph
from nn_opt.reference.graph_elementwise import Meaning, is_float, truncating_div

Array = NDArray[Any]
Axes = tuple[int, ...]


def widened(x: Array) -> Array:
    """Return floats as float64; integers as they are, since they wrap."""
    return x.astype(np.float64) if is_float(x) else x


def lowest(dtype: np.dtype[Any]) -> Any:
    """Return the identity of max."""
    if dtype == np.bool_:
        return False
    return np.iinfo(dtype).min if np.issubdtype(dtype, np.integer) else -np.inf


def highest(dtype: np.dtype[Any]) -> Any:
    """Return the identity of min."""
    if dtype == np.bool_:
        return True
    return np.iinfo(dtype).max if np.issubdtype(dtype, np.integer) else np.inf


def _sum(x: Array, axes: Axes) -> Array:
    return x.sum(axis=axes, keepdims=True, dtype=x.dtype)


def _mean(x: Array, axes: Axes) -> Array:
    count = np.asarray(np.prod([x.shape[axis] for axis in axes], dtype=np.int64))
    if is_float(x):
        return _sum(x, axes) / count
    return truncating_div(x.sum(axis=axes, keepdims=True, dtype=np.int64), count)


def _log_sum_exp(values: Array, axes: Axes) -> Array:
    x = values.astype(np.float64)
    peak = x.max(axis=axes, keepdims=True, initial=-np.inf)
    peak = np.where(np.isfinite(peak), peak, 0)
    return np.log(np.exp(x - peak).sum(axis=axes, keepdims=True)) + peak


REDUCE: dict[str, Callable[[Array, Axes], Array]] = {
    "sum": _sum,
    "mean": _mean,
    "max": lambda x, axes: x.max(axis=axes, keepdims=True, initial=lowest(x.dtype)),
    "min": lambda x, axes: x.min(axis=axes, keepdims=True, initial=highest(x.dtype)),
    "prod": lambda x, axes: x.prod(axis=axes, keepdims=True, dtype=x.dtype),
    "l1": lambda x, axes: _sum(np.abs(x), axes),
    "l2": lambda x, axes: np.sqrt(_sum(x * x, axes)),
    "log_sum": lambda x, axes: np.log(_sum(x, axes)),
    "log_sum_exp": _log_sum_exp,
    "sum_square": lambda x, axes: _sum(x * x, axes),
}


def reduce(op: graph.ReduceOp, x: Array) -> Array:
    axes = tuple(axis % x.ndim for axis in op.axes.get_values())
    result = REDUCE[op.kind.data](widened(x), axes)
    return result if op.keepdims is not None else np.squeeze(result, axes)


def arg_reduce(op: graph.ArgReduceOp, x: Array) -> Array:
    axis = op.axis.value.data
    keepdims = op.keepdims is not None
    ordered = x if op.select_last is None else np.flip(x, axis)
    find = np.argmax if op.kind.data == "max" else np.argmin
    found = np.asarray(find(ordered, axis, keepdims=keepdims))
    return found if op.select_last is None else x.shape[axis] - 1 - found


def softmax(op: graph.SoftmaxOp, x: Array) -> Array:
    return np.exp(log_softmax(op, x))


def log_softmax(op: graph.LogSoftmaxOp | graph.SoftmaxOp, x: Array) -> Array:
    axis = op.axis.value.data
    wide = x.astype(np.float64)
    shifted = wide - wide.max(axis=axis, keepdims=True, initial=-np.inf)
    return shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))


MEANING: dict[type[Operation], Meaning] = {
    graph.ReduceOp: reduce,
    graph.ArgReduceOp: arg_reduce,
    graph.SoftmaxOp: softmax,
    graph.LogSoftmaxOp: log_softmax,
}
