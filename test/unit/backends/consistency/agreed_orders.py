"""Programs of orders, and of images read at places that are data."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from agreed_values import DTYPES, FLOATS, NUMBERS, Program, noise, one

from nn_opt.dialects import graph

REGIONS = np.array([[0, 0, 3, 4], [1, 1, 9, 2]], np.float32)
IMAGES = np.array([1, 0], np.int64)
PLACES = noise("f32", 1, 3, 2, 2)


def orders() -> Iterator[Program]:
    """Yield all programs."""
    random = lambda x: graph.BitwiseXorOp(x, graph.RandomBitsOp([3, 5], 7).result)  # noqa: E731
    yield one("ui32", "random_bits", random, noise("ui32", 3, 5))
    for dtype in DTYPES:
        x = noise(dtype, 2, 20)
        yield one(dtype, "argsort", lambda x: graph.ArgSortOp(x, 1, 12, descending=True), x)
        yield one(dtype, "argsort", graph.ArgSortOp, noise(dtype, 1, 300))  # by digits
        image = noise(dtype, 1, 2, 4, 5)
        yield one(
            dtype,
            "grid_sample:nearest",
            lambda x, g: graph.GridSampleOp(x, g, "nearest", "reflection"),
            image,
            PLACES,
        )
    for dtype in NUMBERS:
        rows = np.sort(noise(dtype, 2, 9), axis=1)
        values = noise(dtype, 2, 5)
        yield one(dtype, "search_sorted", graph.SearchSortedOp, rows, values)
    for dtype in FLOATS:
        image = noise(dtype, 1, 2, 4, 5)
        for mode, padding in (("linear", "zeros"), ("cubic", "border")):
            yield one(
                dtype,
                f"grid_sample:{mode}",
                lambda x, g, m=mode, p=padding: graph.GridSampleOp(x, g, m, p),
                image,
                PLACES,
            )
        yield one(
            dtype,
            "roi_align",
            lambda x, r, b: graph.RoiAlignOp(x, r, b, [2, 2], samples=2),
            noise(dtype, 2, 2, 5, 6),
            REGIONS,
            IMAGES,
        )
