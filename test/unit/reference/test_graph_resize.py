"""Resizing in the interpreter of graph against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from against_onnx import F32, I64, U8, check, normal, ours, theirs, whole

from nn_opt.dialects import graph

COORDINATES = [
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "align_corners",
    "asymmetric",
]

IMAGE = normal(1, 2, 6, 7)


def resize(x: np.ndarray, scales: list[float], **options: Any) -> np.ndarray:
    sizes = [int(np.floor(n * np.float32(s))) for n, s in zip(x.shape, scales, strict=True)]
    return ours(lambda v: graph.ResizeOp(v, sizes, scales, **options), x)


@pytest.mark.parametrize("coordinate", COORDINATES)
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("scales", [[1, 1, 2.0, 1.5], [1, 1, 0.5, 0.65], [1, 1, 1.3, 3.0]])
def test_resize(coordinate: str, mode: str, scales: list[float]):
    actual = resize(IMAGE, scales, mode=mode, coordinate=coordinate)
    options = {"mode": mode, "coordinate_transformation_mode": coordinate}
    # The standard's corners are those of size * scale, onnxruntime's those of the rounded size.
    standard = coordinate == "align_corners"
    given = [IMAGE, None, np.array(scales, F32)]
    expected = theirs("Resize", given, reference=standard, **options)
    # onnxruntime computes coordinates in float32: about 1e-6 of a pixel.
    check(actual, expected, rtol=2e-5, atol=1e-5)


@pytest.mark.parametrize("nearest", ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
@pytest.mark.parametrize("coordinate", ["half_pixel", "asymmetric"])
def test_resize_nearest_modes(nearest: str, coordinate: str):
    scales = [1, 1, 2.5, 0.5]
    actual = resize(IMAGE, scales, nearest_mode=nearest, coordinate=coordinate)
    options = {"nearest_mode": nearest, "coordinate_transformation_mode": coordinate}
    check(actual, theirs("Resize", [IMAGE, None, np.array(scales, F32)], **options))


@pytest.mark.parametrize("scales", [[1, 1, 2.0, 1.5], [1, 1, 0.5, 0.65]])
def test_resize_cubic_without_what_lies_outside(scales: list[float]):
    actual = resize(IMAGE, scales, mode="cubic", cubic_coeff=-0.5, exclude_outside=True)
    options = {"mode": "cubic", "cubic_coeff_a": -0.5, "exclude_outside": 1}
    expected = theirs("Resize", [IMAGE, None, np.array(scales, F32)], **options)
    check(actual, expected, rtol=2e-5, atol=1e-5)


def test_resize_of_integers_reaches_a_whole_number():
    # 3 * (2 / 3) + 6 * (1 / 3) is 4, however the thirds are rounded.
    x = np.array([[[3, 6]]], U8)
    assert resize(x, [1, 1, 3.0], mode="linear").tolist() == [[[3, 3, 4, 5, 6, 6]]]


def test_resize_of_integers_truncates():
    x = whole(0, 255, 1, 1, 4, 5, dtype=U8)
    scales = [1, 1, 2.0, 4.0]  # weights of eighths: every sum is exact
    expected = theirs("Resize", [x, None, np.array(scales, F32)], mode="linear")
    check(resize(x, scales, mode="linear"), expected)


@pytest.mark.parametrize("exclude", [False, True])
@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_resize_with_antialias(mode: str, exclude: bool):
    scales = [1, 1, 0.6, 0.8]
    actual = resize(IMAGE, scales, mode=mode, exclude_outside=exclude, antialias=True)
    options = {"mode": mode, "antialias": 1, "exclude_outside": int(exclude)}
    inputs = [IMAGE, None, np.array(scales, F32)]
    check(actual, theirs("Resize", inputs, reference=True, **options).astype(F32))


@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_resize_crops_and_extrapolates(mode: str):
    roi = [0, 0, 0.4, -0.2, 1, 1, 0.9, 1.3]
    actual = ours(
        lambda v: graph.ResizeOp(
            v,
            [1, 2, 3, 5],
            [1, 1, 0.5, 5 / 7],
            mode=mode,
            coordinate="tf_crop_and_resize",
            extrapolation=10.0,
            roi=roi,
        ),
        IMAGE,
    )
    options = {
        "mode": mode,
        "coordinate_transformation_mode": "tf_crop_and_resize",
        "extrapolation_value": 10.0,
    }
    sizes = np.array([1, 2, 3, 5], I64)
    check(actual, theirs("Resize", [IMAGE, np.array(roi, F32), None, sizes], **options))
