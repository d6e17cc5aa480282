"""Winograd's matrices filter exactly, and the verifier knows where they may be used."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import f32
from xdsl.dialects.test import TestOp
from xdsl.ir import SSAValue

from nn_opt.dialects import graph
from nn_opt.dialects.graph.winograd import ALGORITHMS
from nn_opt.ir.types import shape_of, tensor_type


def value(*shape: int) -> SSAValue:
    return TestOp(result_types=[tensor_type(shape, f32)]).results[0]


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_tile_is_the_filtered_patch(name: str):
    algorithm = ALGORITHMS[name]
    inputs, weights, outputs = map(
        np.array, (algorithm.inputs, algorithm.weights, algorithm.outputs)
    )
    rng = np.random.default_rng(0)
    patch = rng.standard_normal((algorithm.points, algorithm.points))
    taps = rng.standard_normal((3, 3))
    product = (weights @ taps @ weights.T) * (inputs @ patch @ inputs.T)
    windows = np.lib.stride_tricks.sliding_window_view(patch, (3, 3))
    direct = np.einsum("pqrs,rs->pq", windows, taps)
    np.testing.assert_allclose(outputs @ product @ outputs.T, direct, rtol=0, atol=1e-13)


@pytest.mark.parametrize(("tile", "points"), [(2, 4), (4, 6)])
def test_weights_lie_point_by_point(tile: int, points: int):
    op = graph.WinogradWeightsOp(value(4, 2, 3, 3, 8, 8), tile=tile)
    assert shape_of(op.result) == (points, points, 4, 2, 8, 8)


def conv(weights: SSAValue, **changed: object) -> graph.ConvOp:
    fields = {
        "strides": [1, 1],
        "pads": [1, 1, 1, 1],
        "dilations": [1, 1],
        "group": 1,
        "layout": "NCHW8c",
        "weight_layout": "OIHW8i8o",
        "algorithm": "winograd4",
    }
    return graph.ConvOp(value(1, 2, 9, 7, 8), weights, **fields | changed)  # pyright: ignore[reportArgumentType]


def test_result_has_the_shape_of_a_plain_convolution():
    assert shape_of(conv(value(6, 6, 4, 2, 8, 8)).result) == (1, 4, 9, 7, 8)


@pytest.mark.parametrize(
    ("weights", "changed", "message"),
    [
        ((6, 6, 4, 2, 8, 8), {"algorithm": "winograd3"}, "algorithm is 'winograd3'"),
        ((6, 6, 4, 2, 8, 8), {"algorithm": "winograd2"}, r"expected \[4, 4, F, C"),
        ((4, 2, 3, 3, 8, 8), {}, r"expected \[6, 6, F, C"),
        ((6, 6, 4, 2, 8, 8), {"strides": [2, 2]}, r"strides \[2, 2\]"),
        ((6, 6, 4, 2, 8, 8), {"dilations": [2, 2]}, r"dilations \[2, 2\]"),
        ((6, 6, 4, 2, 8, 8), {"layout": "", "weight_layout": ""}, "expected a blocked"),
    ],
)
def test_misfits(weights: tuple[int, ...], changed: dict[str, object], message: str):
    with pytest.raises(ValueError, match=message):
        conv(value(*weights), **changed)


def test_other_tiles_and_filters_have_no_weights():
    with pytest.raises(ValueError, match="tile is 3, expected one of 2, 4"):
        graph.WinogradWeightsOp(value(4, 2, 3, 3), tile=3)
    with pytest.raises(ValueError, match=r"expected \[F, C, 3, 3"):
        graph.WinogradWeightsOp(value(4, 2, 5, 5), tile=4)
