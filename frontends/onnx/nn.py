"""Converters of convolutions, and the padding rules that pooling shares with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nn_opt.dialects import graph
from nn_opt.frontends.onnx.node import Attributes, BadNode, Node, Results
from nn_opt.frontends.onnx.table import Request, converts
from nn_opt.ir.types import shape_of

AUTO_PADS = ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID", "")


def window_refusal(request: Request) -> str:
    """Refuse an `auto_pad` that ONNX does not have."""
    auto_pad = request.attrs.text("auto_pad", "NOTSET")
    return "" if auto_pad in AUTO_PADS else f"auto_pad = {auto_pad}"


@dataclass(frozen=True)
class Window:
    """A sliding window: its sizes along each spatial axis, pads as begins then ends."""

    kernel: list[int]
    strides: list[int]
    dilations: list[int]
    pads: list[int]


def window_of(attrs: Attributes, spatial: Sequence[int], kernel: Sequence[int]) -> Window:
    """Return the window with ONNX's defaults filled in and `auto_pad` resolved."""
    rank = len(spatial)
    strides = attrs.ints("strides") or [1] * rank
    dilations = attrs.ints("dilations") or [1] * rank
    auto_pad = attrs.text("auto_pad", "NOTSET")
    if not len(strides) == len(dilations) == len(kernel) == rank or min(strides) < 1:
        raise BadNode(f"strides {strides}, dilations {dilations} do not fit {rank} spatial axes")
    if auto_pad.startswith("SAME"):
        extents = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
        totals = [
            max(0, (-(-size // stride) - 1) * stride + extent - size)
            for size, stride, extent in zip(spatial, strides, extents, strict=True)
        ]
        pads = _shared_out(totals, upper=auto_pad == "SAME_UPPER")
    elif auto_pad == "VALID":
        pads = [0] * (2 * rank)
    else:
        pads = attrs.ints("pads") or [0] * (2 * rank)
    return Window(list(kernel), strides, dilations, pads)


def _shared_out(totals: Sequence[int], *, upper: bool) -> list[int]:
    """Return begins then ends; the odd cell goes to the end for `upper`, else to the begin."""
    small = [total // 2 for total in totals]
    large = [total - total // 2 for total in totals]
    return [*small, *large] if upper else [*large, *small]


@converts("Conv", refusal=window_refusal)
def conv(node: Node) -> Results:
    x, w = node[0], node[1]
    window = window_of(node.attrs, shape_of(x)[2:], shape_of(w)[2:])
    return graph.ConvOp(
        x,
        w,
        node.get(2),
        strides=window.strides,
        pads=window.pads,
        dilations=window.dilations,
        group=node.attrs.int("group", 1),
    ).result


@converts("ConvTranspose", refusal=window_refusal)
def conv_transpose(node: Node) -> Results:
    x, w = node[0], node[1]
    spatial, kernel = shape_of(x)[2:], shape_of(w)[2:]
    window = window_of(node.attrs, spatial, kernel)
    extra = node.attrs.ints("output_padding") or [0] * len(spatial)
    pads = window.pads
    wanted = _output_shape(node.attrs, spatial, window)
    if wanted is not None:
        pads, extra = _pads_for(wanted, spatial, window, extra, node.attrs)
    return graph.ConvTransposeOp(
        x,
        w,
        node.get(2),
        strides=window.strides,
        pads=pads,
        dilations=window.dilations,
        group=node.attrs.int("group", 1),
        output_padding=extra,
    ).result


def _output_shape(attrs: Attributes, spatial: Sequence[int], window: Window) -> list[int] | None:
    given = attrs.ints("output_shape")
    if given:
        return given[-len(spatial) :]
    if attrs.text("auto_pad", "NOTSET").startswith("SAME"):
        return [size * stride for size, stride in zip(spatial, window.strides, strict=True)]
    return None


def _pads_for(
    wanted: Sequence[int],
    spatial: Sequence[int],
    window: Window,
    extra: Sequence[int],
    attrs: Attributes,
) -> tuple[list[int], list[int]]:
    """Return pads and output padding that make the wanted sizes. Source: ONNX ConvTranspose-22."""
    totals = [
        stride * (size - 1) + more + (k - 1) * dilation + 1 - want
        for want, size, stride, k, dilation, more in zip(
            wanted, spatial, window.strides, window.kernel, window.dilations, extra, strict=True
        )
    ]
    upper = attrs.text("auto_pad", "NOTSET") == "SAME_UPPER"
    pads = _shared_out([max(0, total) for total in totals], upper=upper)
    missing = [max(0, -total) for total in totals]
    return pads, [more + less for more, less in zip(extra, missing, strict=True)]
