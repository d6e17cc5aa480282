"""Which input elements, with which weights, make an element of a resized axis."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROUNDING = 1e-3  # in elements; what a scale in f32 tells of a size
Reals = NDArray[Any]
Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Axis:
    """One axis to resample: result size / input size is about `scale`, and `roi` part of it."""

    size: int
    result_size: int
    scale: float
    roi: tuple[float, float] = (0.0, 1.0)


@dataclass(frozen=True)
class Taps:
    """Result element i is the sum over k of weights[i, k] * x[indices[i, k]].

    Where `outside[i]`, it is the extrapolation value instead.
    """

    indices: Indices
    weights: Reals
    outside: NDArray[np.bool_] = field(repr=False)


def _half_pixel(axis: Axis, i: Reals) -> Reals:
    return (i + 0.5) / axis.scale - 0.5


def _half_pixel_symmetric(axis: Axis, i: Reals) -> Reals:
    """Its terms cancel where an element lies in the middle of two: float32 would miss that."""
    scale = float(axis.scale)
    adjustment = axis.result_size / (scale * axis.size)
    wide = axis.size / 2 * (1 - adjustment) + (i.astype(np.float64) + 0.5) / scale - 0.5
    return wide.astype(i.dtype)


def _tf_half_pixel_for_nn(axis: Axis, i: Reals) -> Reals:
    return (i + 0.5) / axis.scale


def _pytorch_half_pixel(axis: Axis, i: Reals) -> Reals:
    return _half_pixel(axis, i) if axis.result_size > 1 else 0 * i


def _align_corners(axis: Axis, i: Reals) -> Reals:
    """The last element is that of size * scale, which may lie behind the result's own last one."""
    last = axis.scale * axis.size - 1
    if abs(last - (axis.result_size - 1)) < ROUNDING:
        last = axis.result_size - 1
    return i * (axis.size - 1) / last if axis.result_size > 1 else 0 * i


def _asymmetric(axis: Axis, i: Reals) -> Reals:
    return i / axis.scale


def _tf_crop_and_resize(axis: Axis, i: Reals) -> Reals:
    start, end = axis.roi
    if axis.result_size == 1:
        return 0 * i + 0.5 * (start + end) * (axis.size - 1)
    step = (end - start) * (axis.size - 1) / (axis.result_size - 1)
    return start * (axis.size - 1) + i * step


# Source: ONNX Resize-11 and Resize-19, attribute coordinate_transformation_mode.
COORDINATE: dict[str, Callable[[Axis, Reals], Reals]] = {
    "half_pixel": _half_pixel,
    "half_pixel_symmetric": _half_pixel_symmetric,
    "pytorch_half_pixel": _pytorch_half_pixel,
    "tf_half_pixel_for_nn": _tf_half_pixel_for_nn,
    "align_corners": _align_corners,
    "asymmetric": _asymmetric,
    "tf_crop_and_resize": _tf_crop_and_resize,
}

NEAREST: dict[str, Callable[[Reals], Reals]] = {
    "round_prefer_floor": lambda x: np.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: np.floor(x + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}


def source_coordinates(axis: Axis, coordinate: str, dtype: type[np.floating[Any]]) -> Reals:
    """Return where in the input every result element lies, computed in the given type."""
    rounded = replace(axis, scale=dtype(axis.scale))
    return COORDINATE[coordinate](rounded, np.arange(axis.result_size, dtype=dtype))


def _linear(distance: Reals, cubic_coeff: float) -> Reals:
    return np.clip(1 - np.abs(distance), 0, 1)


def _cubic(distance: Reals, cubic_coeff: float) -> Reals:
    a, x = cubic_coeff, np.abs(distance)
    near = (a + 2) * x**3 - (a + 3) * x**2 + 1
    far = a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a
    return np.where(x <= 1, near, np.where(x < 2, far, 0))


# The filter's kernel and its half width, in input elements.
FILTERS: dict[str, tuple[Callable[[Reals, float], Reals], int]] = {
    "linear": (_linear, 1),
    "cubic": (_cubic, 2),
}


def axis_taps(
    axis: Axis,
    *,
    mode: str,
    coordinate: str,
    nearest_mode: str = "round_prefer_floor",
    cubic_coeff: float = -0.75,
    exclude_outside: bool = False,
    antialias: bool = False,
) -> Taps:
    """Return the taps of every element of a resized axis.

    What is decided by a coordinate, the nearest element and being outside, is decided in float32
    as onnxruntime does: with scale 1.3, element 6 lies at 4.5 and not at 4.5000002.
    Source: ONNX Resize-19.
    """
    single = source_coordinates(axis, coordinate, np.float32)
    beyond = (single < 0) | (single > axis.size - 1)
    outside = beyond & (coordinate == "tf_crop_and_resize")
    if mode == "nearest":
        indices = NEAREST[nearest_mode](single)[:, None]
        weights = np.ones(indices.shape)
    else:
        x = source_coordinates(axis, coordinate, np.float64)
        kernel, half = FILTERS[mode]
        shrink = min(axis.scale, 1.0) if antialias else 1.0
        first = int(np.floor(-half / shrink)) + 1
        indices = np.ceil(x)[:, None] - 1 + np.arange(first, 2 - first)
        weights = kernel((indices - x[:, None]) * shrink, cubic_coeff)
        weights = _normalised(indices, weights, axis.size, exclude_outside)
    return Taps(np.clip(indices, 0, axis.size - 1).astype(np.int64), weights, outside)


def _normalised(indices: Reals, weights: Reals, size: int, exclude_outside: bool) -> Reals:
    if exclude_outside:
        weights = np.where((indices >= 0) & (indices < size), weights, 0)
    return weights / weights.sum(axis=1, keepdims=True)


def resample(x: NDArray[Any], axis_index: int, taps: Taps) -> NDArray[Any]:
    """Return x resampled along one axis, in x's own element type."""
    moved = np.moveaxis(x, axis_index, -1)
    return np.moveaxis((moved[..., taps.indices] * taps.weights).sum(axis=-1), -1, axis_index)
