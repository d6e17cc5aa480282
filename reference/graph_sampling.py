"""What samples of images and random numbers mean, in NumPy; in float64 throughout."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Operation

from nn_opt.dialects import graph
from nn_opt.dialects.graph.random import philox
from nn_opt.ir.types import shape_of
from nn_opt.reference.graph_elementwise import Meaning

Array = NDArray[Any]
CUBIC = -0.75  # the kernel's parameter, as everywhere


def _pixels(op: graph.GridSampleOp, grid: Array, axis: int, size: int) -> Array:
    """Return where along an axis each sample lies, in elements."""
    place = grid[..., -1 - axis].astype(np.float64)
    if op.pixels is not None:
        return place
    if op.align_corners is not None:
        return (place + 1) / 2 * (size - 1)
    return ((place + 1) * size - 1) / 2


def _weights(place: Array, mode: str) -> tuple[Array, list[Array]]:
    """Return the first element that a sample needs, and the weights of it and its neighbours."""
    if mode == "nearest":
        return np.rint(place), [np.ones_like(place)]
    low = np.floor(place)
    part = place - low
    if mode == "linear":
        return low, [1 - part, part]
    distances = [part + 1, part, 1 - part, 2 - part]
    return low - 1, [_kernel(distance) for distance in distances]


def _kernel(x: Array) -> Array:
    near = ((CUBIC + 2) * x - (CUBIC + 3)) * x * x + 1
    far = ((CUBIC * x - 5 * CUBIC) * x + 8 * CUBIC) * x - 4 * CUBIC
    return np.where(x <= 1, near, far)


def _inside(index: Array, size: int, op: graph.GridSampleOp) -> tuple[Array, Array]:
    """Return valid indices, and whether what they name counts."""
    index = np.clip(index, -(2.0**30), 2.0**30).astype(np.int64)
    counts = np.ones(index.shape, np.bool_)
    if op.padding.data == "zeros":
        counts = (index >= 0) & (index < size)
    elif op.padding.data == "reflection" and op.align_corners is not None:
        phase = index % max(2 * (size - 1), 1)
        index = np.minimum(phase, 2 * (size - 1) - phase)
    elif op.padding.data == "reflection":
        phase = index % (2 * size)
        index = np.minimum(phase, 2 * size - 1 - phase)
    return np.clip(index, 0, size - 1), counts


def grid_sample(op: graph.GridSampleOp, x: Array, grid: Array) -> Array:
    spatial = x.shape[2:]
    taps: list[list[tuple[Array, Array]]] = []
    for axis, size in enumerate(spatial):
        first, weights = _weights(_pixels(op, grid, axis, size), op.mode.data)
        found = [_inside(first + k, size, op) for k in range(len(weights))]
        taps.append([(at, np.where(ok, w, 0)) for (at, ok), w in zip(found, weights, strict=True)])
    result = np.zeros(shape_of(op.result), np.float64)
    images: Array = np.arange(len(x), dtype=np.int64)
    images = np.expand_dims(images, list(range(1, 1 + len(spatial))))
    for corner in product(*taps):
        values = np.moveaxis(x[(images, slice(None), *(at for at, _ in corner))], -1, 1)
        weight = np.prod([w for _, w in corner], axis=0)
        result += values.astype(np.float64) * weight[:, None]
    return result


def roi_align(op: graph.RoiAlignOp, x: Array, rois: Array, batch: Array) -> Array:
    result = np.zeros(shape_of(op.result), np.float64)
    for at in np.ndindex(len(rois), *result.shape[2:]):
        result[at[0], :, at[1], at[2]] = _bin(op, x[batch[at[0]]], rois[at[0]], at[1:])
    return result


def _bin(op: graph.RoiAlignOp, x: Array, roi: Array, at: tuple[int, ...]) -> Array:
    """Return one bin of all channels."""
    sizes, image = op.sizes.get_values(), x.astype(np.float64)
    box = roi.astype(np.float64) * op.scale.value.data - (0.5 if op.half_pixel is not None else 0)
    places: list[list[float]] = []
    for axis in (0, 1):
        start, end = box[1 - axis], box[3 - axis]
        extent = end - start if op.half_pixel is not None else max(end - start, 1.0)
        size = extent / sizes[axis]
        most = op.samples.value.data
        count = min(max(int(np.ceil(size)), 0), most) if op.adaptive is not None else most
        places.append([start + (at[axis] + (k + 0.5) / count) * size for k in range(count)])
    terms = [_corners(image, y, x_) for y in places[0] for x_ in places[1]]
    if not terms:
        return np.zeros(len(x))
    if op.mode.data == "max":
        return np.max([np.max(corners, axis=0) for corners in terms], axis=0)
    return np.sum([np.sum(corners, axis=0) for corners in terms], axis=0) / len(terms)


def _corners(image: Array, y: float, x: float) -> list[Array]:
    """Return the four neighbours of a place, times their weights."""
    pairs: list[list[tuple[int, float]]] = []
    for place, size in zip((y, x), image.shape[1:], strict=True):
        if not -1 <= place <= size:
            return [np.zeros(len(image))]
        place = min(max(place, 0.0), size - 1.0)
        low = int(place)
        pairs.append([(low, 1 - (place - low)), (min(low + 1, size - 1), place - low)])
    return [image[:, j, i] * (wy * wx) for j, wy in pairs[0] for i, wx in pairs[1]]


def random_bits(op: graph.RandomBitsOp) -> Array:
    shape = shape_of(op.result)
    return philox(np.arange(prod(shape), dtype=np.uint64), op.key.value.data).reshape(shape)


MEANING: dict[type[Operation], Meaning] = {
    graph.GridSampleOp: grid_sample,
    graph.RoiAlignOp: roi_align,
    graph.RandomBitsOp: random_bits,
}
