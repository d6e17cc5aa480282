"""Poolings, samples of images and transforms as older versions of ai.onnx have them."""

from __future__ import annotations

from typing import Any

from fuzz.graphs.graph import Graph, old
from fuzz.graphs.recipes.windows import MOST, frame, image, kernel_of

PLACES = ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel")
OLD_PLACES = (*PLACES, "tf_half_pixel_for_nn", "tf_crop_and_resize")
NEAREST = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")


@old("MaxPool", "AveragePool", "LpPool")
def pool(g: Graph, op: str) -> None:
    x = image(g, ("float32", "float64"))
    kernel = kernel_of(g, x)
    given = frame(g, x, kernel, dilations=g.opset >= 10) | {"kernel_shape": kernel}
    if g.opset >= (10 if op != "LpPool" else 18):
        given["ceil_mode"] = g.pick([None, 0, 1])
    if op == "AveragePool" and g.opset >= 7:
        given["count_include_pad"] = g.pick([None, 0, 1])
        if g.opset < 19:
            given.pop("dilations", None)
    if op == "LpPool":
        given["p"] = g.pick([None, 1, 2, 3]) if g.opset > 1 else g.pick([None, 1.0, 3.0])
        if g.opset < 18:
            given.pop("dilations", None)
    outputs = 1 + (op == "MaxPool" and g.opset >= 8 and g.flag())
    if op == "MaxPool" and g.opset >= 8:
        given["storage_order"] = g.pick([None, 0, 1])
    how = "exact" if op == "MaxPool" else "mixing"
    g.add(op, [x], how, outputs=outputs, most=MOST, **given)


@old("GlobalLpPool")
def global_pool(g: Graph, op: str) -> None:
    x = image(g, ("float32", "float64"))
    g.add(op, [x], "mixing", most=MOST, p=g.pick([None, 1, 3]) if g.opset > 1 else 3.0)


def scales_of(g: Graph, moved: range, rank: int) -> list[float]:
    """Draw scales for some axes."""
    choice = [1.0, 2.0, 1.5, 2.6, 3.0, 0.5, 0.6]
    return [g.pick(choice) if k in moved else 1.0 for k in range(rank)]


@old("Upsample")
def upsample(g: Graph, op: str) -> None:
    mode = g.pick([None, "nearest", "linear"])
    rank = g.whole(1, 4) if mode != "linear" else g.pick([2, 4])
    shape = tuple(g.whole(1, 5) for _ in range(rank))
    moved = range(rank - 2, rank) if mode == "linear" else range(rank)
    scales = [max(scale, 1.0) for scale in scales_of(g, moved, rank)]
    x = g.operand("float32", shape, "normal")
    how = "mixing" if mode == "linear" else "exact"
    if g.opset == 1:
        x = g.operand("float32", (1, 2, *(g.whole(1, 4) for _ in range(2))), "normal")
        given = {"height_scale": scales[0], "width_scale": scales[-1], "mode": mode}
        g.add(op, [x], how, **given)
    elif g.opset < 9:
        g.add(op, [x], how, scales=scales, mode=mode)
    else:
        g.add(op, [x, g.known(scales, "float32")], how, mode=mode)


@old("Resize")
def resize(g: Graph, op: str) -> None:
    mode = g.pick([None, "nearest", "linear", *(["cubic"] if g.opset > 10 else [])])
    whole = mode in (None, "nearest")
    rank = g.whole(1, 4) if whole else g.pick([2, 4]) if mode == "linear" else 4
    moved = range(rank) if whole else range(max(rank - 2, 0), rank)
    shape = tuple(g.whole(1, 6) for _ in range(rank))
    x = g.operand("float32", shape, "normal")
    how = "exact" if whole else "mixing"
    scales = scales_of(g, moved, rank)
    if g.opset == 10:
        g.add(op, [x, g.known(scales, "float32")], how, mode=mode)
        return
    places = g.pick([None, *OLD_PLACES]) if g.opset < 13 else g.pick([None, *PLACES])
    given: dict[str, Any] = {"mode": mode, "coordinate_transformation_mode": places}
    roi: str = ""
    if places == "tf_crop_and_resize":
        ends = [0.2 if k in moved else 0.0 for k in range(rank)]
        ends += [g.pick([0.7, 1.4, 1.0]) if k in moved else 1.0 for k in range(rank)]
        roi = g.known(ends, "float32")
        given["extrapolation_value"] = g.pick([None, 7.5])
    elif g.opset < 13:
        roi = g.known([], "float32")
    if whole:
        given["nearest_mode"] = g.pick([None, *NEAREST])
    if mode == "cubic":
        given |= {"exclude_outside": g.pick([None, 1]), "cubic_coeff_a": g.pick([None, -0.5])}
    if places != "align_corners" and g.flag():  # else the oracles take two lengths for one
        operands = [x, roi, g.known(scales, "float32")]
    else:
        none = g.known([], "float32") if g.opset < 13 else ""
        sizes = [g.whole(1, 8) if k in moved else shape[k] for k in range(rank)]
        operands = [x, roi, none, g.known(sizes)]
    g.add(op, operands, how, **given)


@old("GridSample")
def grid_sample(g: Graph, op: str) -> None:
    add_grid_sample(g, op)


def add_grid_sample(g: Graph, op: str, domain: str = "") -> None:
    """Make a node of the form that ai.onnx 16 and com.microsoft share."""
    sizes = [g.whole(1, 5) for _ in range(2)]
    x = g.operand("float32", (1, g.whole(1, 2), *sizes), "normal")
    grid = g.operand("float32", (1, g.whole(1, 4), g.whole(1, 4), 2), "between:-1.6:1.6")
    given: dict[str, Any] = {"mode": g.pick([None, "bilinear", "nearest", "bicubic"])}
    given["padding_mode"] = g.pick([None, "zeros", "border", "reflection"])
    given["align_corners"] = g.pick([None, 0, 1])
    g.add(op, [x, grid], "mixing", domain=domain, **given)


@old("DFT")
def transform(g: Graph, op: str) -> None:
    rank, complex_ = g.whole(1, 2), g.flag()
    shape = (g.whole(1, 2), *(g.whole(1, 6) for _ in range(rank)), 1 + complex_)
    x = g.operand(g.pick(["float32", "float64"]), shape, "normal")
    inverse = g.pick([None, 0, 1])
    onesided = g.pick([None, 0, 1]) if not complex_ and not inverse else None
    axis = g.pick([None, *range(1, rank + 1)])
    length = [g.known(g.whole(1, 7))] if g.flag() else []
    g.add(op, [x, *length], "mixing", axis=axis, inverse=inverse, onesided=onesided)


@old("RoiAlign")
def roi_align(g: Graph, op: str) -> None:
    x = g.operand("float32", (2, g.whole(1, 2), g.whole(2, 6), g.whole(2, 6)), "normal")
    count = g.whole(0, 3)
    rois = g.operand("float32", (count, 4), "between:-1:7")
    index = g.operand("int64", (count,), "between:0:2")
    given: dict[str, Any] = {"mode": g.pick([None, "avg", "max"])}
    given |= {"output_height": g.pick([None, 1, 3]), "output_width": g.pick([None, 1, 3])}
    given |= {"sampling_ratio": g.pick([None, 0, 2]), "spatial_scale": g.pick([None, 0.5, 2.0])}
    g.add(op, [x, rois, index], "mixing", **given)
