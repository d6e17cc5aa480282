"""What the orders of graph mean, in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Operation

from nn_opt.dialects import graph
from nn_opt.reference.graph_elementwise import Meaning, is_float

Array = NDArray[Any]


def argsort(op: graph.ArgSortOp, x: Array) -> Array:
    """Sort the ranks, which have a sign for a descending order."""
    values = x.astype(np.float64) if is_float(x) else x
    _, ranks = np.unique(values, return_inverse=True)
    ranks = ranks.reshape(x.shape).astype(np.int64)
    axis = op.axis.value.data
    order = np.argsort(-ranks if op.descending is not None else ranks, axis=axis, kind="stable")
    return np.take(order, np.arange(op.count.value.data), axis)


def search_sorted(op: graph.SearchSortedOp, numbers: Array, values: Array) -> Array:
    side = "left" if op.right is None else "right"
    rows = numbers.reshape(-1, numbers.shape[-1]) if numbers.size else numbers
    if not numbers.size:
        return np.zeros(values.shape, np.int64)
    wanted = values.reshape(len(rows), values.shape[-1])
    found = [np.searchsorted(row, v, side) for row, v in zip(rows, wanted, strict=True)]
    return np.asarray(found, np.int64).reshape(values.shape)


MEANING: dict[type[Operation], Meaning] = {
    graph.ArgSortOp: argsort,
    graph.SearchSortedOp: search_sorted,
}
