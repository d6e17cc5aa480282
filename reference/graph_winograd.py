"""What Winograd convolutions mean, in NumPy: the formulas of `graph.ALGORITHMS` in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Operation

from nn_opt.dialects import graph
from nn_opt.dialects.graph.winograd import ALGORITHMS, Winograd
from nn_opt.reference.graph_elementwise import Meaning
from nn_opt.reference.graph_reduction import widened

Array = NDArray[Any]


def winograd_weights(op: graph.WinogradWeightsOp, w: Array) -> Array:
    """Return G g G^T of every filter, computed in float64 and rounded once.

    Shapes: w [F, C, 3, 3, ...], result [a, a, F, C, ...]. One filter a time, as networks have
    hundreds of MB of them, and large products would start threads that wait for memory.
    """
    matrix = np.array(op.algorithm.weights)
    both = np.kron(matrix, matrix)  # [a * a, 3 * 3]
    filters, channels, _, _, *rest = w.shape
    points = len(matrix)
    result = np.empty((filters, channels, points * points, int(np.prod(rest))), w.dtype)
    for given, made in zip(w, result, strict=True):
        made[...] = both @ given.reshape(channels, both.shape[1], -1).astype(np.float64)
    return np.moveaxis(result.reshape(filters, channels, points, points, *rest), (2, 3), (0, 1))


def winograd_conv(op: graph.ConvOp, x: Array, w: Array) -> Array:
    """Return A^T [sum over channels of w * (B^T d B)] A of every tile, cut to the result's shape.

    Shapes: x [N, C/c, H, W, c], w [a, a, F/c, C/c, c, c] or [a, a, F/c, C/c, c/g, c, g]. Patches
    are transformed in float64 and rounded to the type of x.
    """
    assert op.algorithm is not None, "only a convolution with an algorithm has such weights"
    algorithm = ALGORITHMS[op.algorithm.data]
    rows, columns = (
        x.shape[2 + k] + op.pads.get_values()[k] + op.pads.get_values()[2 + k] - 2 for k in (0, 1)
    )
    patches = patches_of(widened(x), algorithm, op.pads.get_values(), rows, columns)
    inputs, outputs = np.array(algorithm.inputs), np.array(algorithm.outputs)
    v = np.einsum("ai,nkpqcij,bj->abnkpqc", inputs, patches, inputs, optimize=True)
    v = v.astype(x.dtype).astype(np.float64)
    m = np.einsum("abnkpqc,abfkcd->abnfpqd", v, widened(ungrouped(w)), optimize=True)
    tiles = np.einsum("ua,abnfpqd,vb->nfpuqvd", outputs, m, outputs, optimize=True)
    n, f, p, u, q, t, d = tiles.shape
    return tiles.reshape(n, f, p * u, q * t, d)[:, :, :rows, :columns]


def ungrouped(w: Array) -> Array:
    """Return weights [.., c, c] of weights [.., c/g, c, g], which lie in groups of channels."""
    if w.ndim <= len("abfkcd"):
        return w
    *outer, groups, lanes, group = w.shape
    return w.swapaxes(-1, -2).reshape(*outer, groups * group, lanes)


def patches_of(
    x: Array, algorithm: Winograd, pads: tuple[int, ...], rows: int, columns: int
) -> Array:
    """Return the overlapping patches [N, C/c, P, Q, c, a, a] that the tiles of the result need."""
    step, points = algorithm.tile, algorithm.points
    spans = [-(-size // step) * step + 2 for size in (rows, columns)]
    ends = [span - x.shape[2 + k] - pads[k] for k, span in enumerate(spans)]
    widths = [(0, 0), (0, 0), *((pads[k], max(ends[k], 0)) for k in (0, 1)), (0, 0)]
    padded = np.pad(x, widths)[:, :, : spans[0], : spans[1]]
    windows = np.lib.stride_tricks.sliding_window_view(padded, (points, points), axis=(2, 3))  # pyright: ignore[reportCallIssue,reportArgumentType]
    return windows[:, :, ::step, ::step]


MEANING: dict[type[Operation], Meaning] = {graph.WinogradWeightsOp: winograd_weights}
