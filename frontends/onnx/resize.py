"""Converters of Resize and Upsample: where the sizes and scales come from, by opset."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from nn_opt.dialects import graph
from nn_opt.frontends.onnx.node import (
    BadNode,
    Node,
    Results,
    axes_in,
    constant,
    dtype_of,
    rank_of,
)
from nn_opt.frontends.onnx.table import converts
from nn_opt.ir.types import shape_of


@converts("Upsample")
def upsample(node: Node) -> Results:
    """Opset 7 has the scales as an attribute, opset 9 as an operand; coordinates are x / scale."""
    if node.version < 7:
        scales = [1.0, 1.0, *(node.attrs.float(f"{side}_scale") for side in ("height", "width"))]
    elif node.version < 9:
        scales = node.attrs.floats("scales")
    else:
        scales = _floats(node, 1)
    return _old_resize(node, scales)


@converts("Resize")
def resize(node: Node) -> Results:
    if node.version < 11:
        return _old_resize(node, _floats(node, 1))
    return _new_resize(node)


def _floats(node: Node, index: int) -> list[float] | None:
    array = node.known(index)
    return None if array is None or not array.size else [float(v) for v in array.reshape(-1)]


def _scaled(shape: Sequence[int], scales: Sequence[float]) -> list[int]:
    """Return the sizes as ONNX infers them: products of float32 numbers."""
    if not all(0 < scale < math.inf for scale in scales):
        raise BadNode(f"scales {list(scales)}, expected positive numbers")
    pairs = zip(shape, np.asarray(scales, np.float32), strict=True)
    return [math.floor(np.float32(size) * scale) for size, scale in pairs]


def _old_resize(node: Node, scales: list[float] | None) -> SSAValue:
    """Resize-10 and Upsample: asymmetric coordinates; the nearest below, above in axes that shrink.

    The standard leaves that open; onnxruntime is followed.
    """
    x = node[0]
    if scales is None or len(scales) != rank_of(x):
        raise BadNode(f"scales {scales} do not fit rank {rank_of(x)}")
    text = node.attrs.text("mode", "nearest")
    mode = {"bilinear": "linear"}.get(text, text)
    if mode != "nearest" or min(scales, default=1.0) >= 1:
        return _asymmetric(x, scales, mode, "floor")
    x = _asymmetric(x, [max(scale, 1.0) for scale in scales], mode, "floor")
    return _asymmetric(x, [min(scale, 1.0) for scale in scales], mode, "ceil")


def _asymmetric(x: SSAValue, scales: Sequence[float], mode: str, nearest: str) -> SSAValue:
    if all(scale == 1 for scale in scales):
        return x
    sizes = _scaled(shape_of(x), scales)
    return _resized(x, sizes, scales, mode=mode, coordinate="asymmetric", nearest_mode=nearest)


def _resized(x: SSAValue, sizes: Sequence[int], scales: Sequence[float], **how: Any) -> SSAValue:
    """Return x resized; where the result has no elements, x need not have any."""
    if min(sizes, default=0) < 0:
        raise BadNode(f"sizes {list(sizes)}, expected none of them negative")
    if 0 in sizes:
        return constant(np.zeros(sizes, dtype_of(x)))
    if 0 in shape_of(x):
        raise BadNode(f"sizes {list(sizes)} cannot be made of no elements, {list(shape_of(x))}")
    return graph.ResizeOp(x, sizes, scales, **how).result


def _new_resize(node: Node) -> SSAValue:
    """Resize-11 and later: operands are x, roi, scales, sizes; opset 18 names axes."""
    x = node[0]
    shape = shape_of(x)
    axes = node.attrs.ints("axes")
    axes = list(range(len(shape))) if axes is None else axes_in(axes, len(shape))
    sizes, scales = _sizes_and_scales(node, shape, axes)
    attrs = node.attrs
    return _resized(
        x,
        sizes,
        scales,
        mode=attrs.text("mode", "nearest"),
        coordinate=attrs.text("coordinate_transformation_mode", "half_pixel"),
        nearest_mode=attrs.text("nearest_mode", "round_prefer_floor"),
        roi=_roi(node, len(shape), axes),
        cubic_coeff=attrs.float("cubic_coeff_a", -0.75),
        exclude_outside=attrs.flag("exclude_outside"),
        extrapolation=attrs.float("extrapolation_value", 0.0),
        antialias=attrs.flag("antialias"),
    )


def _sizes_and_scales(
    node: Node, shape: Sequence[int], axes: Sequence[int]
) -> tuple[list[int], list[float]]:
    """Return result sizes and scales of all axes; axes that are not named keep their size."""
    scales = _floats(node, 2)
    if scales is not None:
        if len(scales) != len(axes):
            raise BadNode(f"scales {scales} do not fit axes {list(axes)}")
        full = [1.0] * len(shape)
        for axis, scale in zip(axes, scales, strict=True):
            full[axis] = scale
        return _scaled(shape, full), full
    wanted = node.known_ints(3)
    if not wanted or len(wanted) != len(axes):
        raise BadNode(f"sizes {wanted} do not fit axes {list(axes)}, and no scales are given")
    return _by_sizes(node, shape, axes, wanted)


def _by_sizes(
    node: Node, shape: Sequence[int], axes: Sequence[int], wanted: Sequence[int]
) -> tuple[list[int], list[float]]:
    sizes, scales = list(shape), [1.0] * len(shape)
    ratios = [want / (shape[axis] or 1) for axis, want in zip(axes, wanted, strict=True)]
    policy = node.attrs.text("keep_aspect_ratio_policy", "stretch")
    if policy != "stretch":
        ratio = min(ratios) if policy == "not_larger" else max(ratios)
        ratios = [ratio] * len(axes)
        wanted = [math.floor(ratio * shape[axis] + 0.5) for axis in axes]
    for axis, want, ratio in zip(axes, wanted, ratios, strict=True):
        sizes[axis], scales[axis] = want, ratio
    return sizes, scales


def _roi(node: Node, rank: int, axes: Sequence[int]) -> list[float]:
    """Return [begins, ends] of all axes for tf_crop_and_resize, else nothing."""
    if node.attrs.text("coordinate_transformation_mode") != "tf_crop_and_resize":
        return []
    given = _floats(node, 1) or []
    if len(given) != 2 * len(axes):
        raise BadNode(f"roi {given} does not fit axes {list(axes)}")
    full = [0.0] * rank + [1.0] * rank
    for index, axis in enumerate(axes):
        full[axis], full[axis + rank] = given[index], given[index + len(axes)]
    return full
