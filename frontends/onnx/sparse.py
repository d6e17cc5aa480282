"""Sparse tensors as dense arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nn_opt.frontends.onnx.node import BadNode, check_count

Array = NDArray[Any]


def dense(values: Array, indices: Array, shape: Sequence[int]) -> Array:
    """Return zeros with values at places, one number each or one for each axis.

    Raises: BadNode for places that do not fit the values or lie outside of the shape.
    """
    count = math.prod(shape)
    check_count(count)
    if indices.shape not in ((len(values),), (len(values), len(shape))):
        have, places = list(values.shape), list(indices.shape)
        raise BadNode(f"values of shape {have} at indices of shape {places}")
    limits = np.asarray(shape if indices.ndim == 2 else [count], np.int64)
    if ((indices < 0) | (indices >= limits)).any():
        raise BadNode(f"an index lies outside of the shape {list(shape)}")
    made = np.zeros(shape, values.dtype)
    if indices.ndim == 1:
        made.reshape(-1)[indices] = values
    else:
        made[tuple(indices.T)] = values
    return made
