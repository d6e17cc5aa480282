"""Convolutions, poolings, samples of images."""

from __future__ import annotations

from typing import Any

from fuzz.graphs.graph import Graph, recipe, schema_types
from fuzz.graphs.numbers import FLOATS
from fuzz.graphs.recipes.reductions import tame

MOST = 1e4  # what windows may hold, where the oracles treat NaN and the like as paddings


def image(g: Graph, types: tuple[str, ...], most: int = 3) -> str:
    """Return a value that is a batch of signals, images or volumes."""
    return tame(g, types, rank=g.whole(3, 2 + most))


def frame(g: Graph, x: str, kernel: list[int], dilations: bool = True) -> dict[str, Any]:
    """Draw strides, paddings and dilations that leave something of an image."""
    rank = len(kernel)
    given: dict[str, Any] = {"strides": g.pick([None, [g.whole(1, 2) for _ in range(rank)]])}
    auto = g.pick([None, None, "SAME_UPPER", "SAME_LOWER", "VALID", "pads"])
    if auto == "pads":
        given["pads"] = [g.whole(0, k - 1) for k in kernel * 2]
    elif auto:
        given["auto_pad"] = auto
        if given["strides"]:  # else the reference pads by less than nothing
            given["strides"] = [min(s, k) for s, k in zip(given["strides"], kernel, strict=True)]
    if dilations and not auto:
        room = [s // max(k - 1, 1) for s, k in zip(g.shape(x)[2:], kernel, strict=True)]
        given["dilations"] = [g.whole(1, 2) if r > 2 else 1 for r in room]
    return given


def kernel_of(g: Graph, x: str) -> list[int]:
    """Draw the sizes of a window that fits."""
    return [g.whole(1, max(1, min(3, size))) for size in g.shape(x)[2:]]


@recipe("Conv")
def conv(g: Graph, op: str) -> None:
    x = image(g, schema_types(op))
    _, channels, *_ = g.shape(x)
    group = g.pick([d for d in range(1, channels + 1) if channels % d == 0] or [1])
    kernel = kernel_of(g, x)
    features = group * g.pick([1, 2, 5, 16])
    w = g.operand(g.dtype(x), (features, channels // group, *kernel), "normal")
    b = [g.operand(g.dtype(x), (features,), "normal")] if g.flag() else []
    g.add(op, [x, w, *b], "mixing", group=group, **frame(g, x, kernel))


@recipe("ConvTranspose")
def conv_transpose(g: Graph, op: str) -> None:
    x = image(g, schema_types(op))
    _, channels, *sizes = g.shape(x)
    group = g.pick([d for d in range(1, channels + 1) if channels % d == 0] or [1])
    kernel = [g.whole(1, 3) for _ in sizes]
    w = g.operand(g.dtype(x), (channels, g.whole(1, 3), *kernel), "normal")
    strides = [g.whole(1, 2) for _ in sizes]
    given: dict[str, Any] = {"strides": strides, "pads": g.pick([None, [0] * 2 * len(sizes)])}
    if g.flag():
        given["pads"] = [g.whole(0, (k - 1) // 2) for k in kernel * 2]
    given["dilations"] = g.pick([None, [g.whole(1, 2) for _ in sizes]])
    given["output_padding"] = g.pick([None, [g.whole(0, s - 1) for s in strides]])
    b = [g.operand(g.dtype(x), (g.shape(w)[1] * group,), "normal")] if g.flag() else []
    # NaN reaches some pixels between those of its window: taps of 0 make filters of one size.
    g.add(op, [x, w, *b], "mixing", most=MOST, group=group, **given)


@recipe("MaxPool", "AveragePool", "LpPool")
def pool(g: Graph, op: str) -> None:
    x = image(g, schema_types(op))
    kernel = kernel_of(g, x)
    given = frame(g, x, kernel) | {"kernel_shape": kernel, "ceil_mode": g.pick([None, 0, 1])}
    if op == "AveragePool":
        given["count_include_pad"] = g.pick([None, 0, 1])
    if op == "LpPool":
        given["p"] = g.pick([None, 1, 2, 3])
    outputs = g.whole(1, 2) if op == "MaxPool" else 1
    if outputs == 2:
        given["storage_order"] = g.pick([None, 0])
    how = "exact" if op == "MaxPool" else "mixing"  # what NaN becomes is open
    g.add(op, [x], how, outputs=outputs, most=MOST, **given)


@recipe("GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool")
def global_pool(g: Graph, op: str) -> None:
    x = image(g, schema_types(op))
    p = g.pick([None, 1, 3]) if op == "GlobalLpPool" else None
    g.add(op, [x], "exact" if "Max" in op else "mixing", most=MOST, p=p)


@recipe("Resize")
def resize(g: Graph, op: str) -> None:
    mode = g.pick(["nearest", "linear", "cubic"])
    rank = g.whole(1, 4) if mode != "cubic" else 4
    types = [t for t in schema_types(op, "T1") if t in g.types]
    if mode != "nearest":  # how integers round is open
        types = [t for t in types if t in FLOATS]
    shape = [g.whole(1, 5) for _ in range(rank)]
    if mode == "cubic":
        shape[:2] = [1, 2]
    kind = "normal" if g.flag() else "whole"
    x = g.operand(g.pick(types), tuple(shape), kind)
    given: dict[str, Any] = {"mode": mode}
    coordinates = ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"]
    given["coordinate_transformation_mode"] = g.pick([None, *coordinates, "half_pixel_symmetric"])
    if mode == "nearest":
        nearest = ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]
        given["nearest_mode"] = g.pick([None, *nearest])
    moved = range(2, rank) if mode == "cubic" else range(rank)
    if g.flag():
        scales = [g.pick([0.5, 1.0, 2.0, 1.5]) if k in moved else 1.0 for k in range(rank)]
        operands = [x, "", g.known(scales, "float32")]
    else:
        sizes = [g.whole(1, 8) if k in moved else shape[k] for k in range(rank)]
        operands = [x, "", "", g.known(sizes)]
    if mode != "nearest" and g.whole(0, 2) == 2:
        given["antialias"] = 1
    if mode == "cubic":
        given["exclude_outside"] = g.pick([None, 1])
        given["cubic_coeff_a"] = g.pick([None, -0.5])
    g.add(op, operands, "exact" if mode == "nearest" else "mixing", **given)


@recipe("GridSample")
def grid_sample(g: Graph, op: str) -> None:
    rank = g.whole(2, 3)
    types = [t for t in schema_types(op, "T1") if t in g.types and "int" not in t]
    sizes = [g.whole(1, 5) for _ in range(rank)]
    x = g.operand(g.pick(types or ["float32"]), (g.whole(1, 2), g.whole(1, 2), *sizes), "normal")
    out = [g.whole(1, 4) for _ in range(rank)]
    grid = g.operand("float32", (g.shape(x)[0], *out, rank), "between:-1.3:1.3")
    given: dict[str, Any] = {"mode": g.pick([None, "linear", "nearest", "cubic"][: 6 - rank])}
    given["padding_mode"] = g.pick([None, "zeros", "border", "reflection"])
    given["align_corners"] = g.pick([None, 0, 1])
    g.add(op, [x, grid], "mixing", **given)


@recipe("AffineGrid")
def affine_grid(g: Graph, op: str) -> None:
    rank, batch = g.whole(2, 3), g.whole(1, 2)
    dtype = g.pick([t for t in schema_types(op, "T1") if t in g.types])
    theta = g.operand(dtype, (batch, rank, rank + 1), "normal")
    corners = g.pick([None, 0, 1])
    least = 2 if corners else 1  # where the only corner lies is open
    size = g.known([batch, 2, *(g.whole(least, 5) for _ in range(rank))])
    g.add(op, [theta, size], "mixing", align_corners=corners)


@recipe("RoiAlign")
def roi_align(g: Graph, op: str) -> None:
    dtype = g.pick([t for t in schema_types(op, "T1") if t in g.types])
    x = g.operand(dtype, (g.whole(1, 2), g.whole(1, 2), g.whole(2, 6), g.whole(2, 6)), "normal")
    count = g.whole(1, 3)
    rois = g.operand(dtype, (count, 4), "between:0:5")
    index = g.operand("int64", (count,), f"between:0:{g.shape(x)[0]}")
    given: dict[str, Any] = {"mode": g.pick([None, "avg", "max"])}
    given["coordinate_transformation_mode"] = g.pick([None, "half_pixel", "output_half_pixel"])
    given |= {"output_height": g.whole(1, 3), "output_width": g.whole(1, 3)}
    given["sampling_ratio"] = g.pick([None, 0, 2])
    g.add(op, [x, rois, index], "mixing", **given)


@recipe("DeformConv")
def deform(g: Graph, op: str) -> None:
    types = [t for t in schema_types(op) if t in g.types]
    n, c, h, w = 1, g.whole(1, 2), g.whole(3, 5), g.whole(3, 5)
    dtype = g.pick(types)
    x = g.operand(dtype, (n, c, h, w), "normal")
    weight = g.operand(dtype, (g.whole(1, 2), c, 2, 2), "normal")
    offset = g.operand(dtype, (n, 8, h - 1, w - 1), "between:-1:1")
    bias = g.operand(dtype, (g.shape(weight)[0],), "normal")
    g.add(op, [x, weight, offset, bias], "mixing", kernel_shape=[2, 2])


@recipe("MaxUnpool")
def unpool(g: Graph, op: str) -> None:
    types = tuple(t for t in schema_types(op, "T1") if t in g.types)
    shape = (1, g.whole(1, 2), 2 * g.whole(1, 3), 2 * g.whole(1, 3))
    x = g.operand(g.pick(types), shape, "distinct")
    given = {"kernel_shape": [2, 2], "strides": [2, 2]}
    made = g.add("MaxPool", [x], "exact", outputs=2, **given)
    if made:
        g.add(op, made, "exact", **given)
