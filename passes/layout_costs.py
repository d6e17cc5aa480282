"""What blocked channels gain and what layout transforms cost, in nanoseconds of one core."""

from __future__ import annotations

from math import prod

from xdsl.ir import SSAValue

from nn_opt.dialects import graph
from nn_opt.ir.target import Target
from nn_opt.ir.types import shape_of
from nn_opt.passes.fusion_costs import elements, tensor_bytes
from nn_opt.passes.layout_plan import (
    LayoutPlan,
    LayoutRegion,
    is_depthwise,
    reads_plain_image,
    suits_winograd,
)

BORDERS = 2  # vectors that take as long as what strided rows need at their two ends
WINOGRAD = 2.0  # times as fast as a direct sum, in a mean


def gain_ns(region: LayoutRegion, plan: LayoutPlan, target: Target) -> float:
    """Return the time that the convolutions of a region save."""
    convs = [op for op in region.ops if isinstance(op, graph.ConvOp)]
    return sum(plain_ns(conv, target) - blocked_ns(conv, plan, target) for conv in convs)


def operations(conv: graph.ConvOp) -> int:
    """Return the multiplications and additions of a convolution."""
    return 2 * elements(conv.results[0]) * prod(shape_of(conv.w)[1:])


def plain_ns(conv: graph.ConvOp, target: Target) -> float:
    """Return the time on a plain image: its rows fill vectors more or less well."""
    speeds, lanes = target.speeds, target.lanes
    width, strided = shape_of(conv.results[0])[-1], conv.strides.get_values()[-1] > 1
    rates = (
        (speeds.single_depthwise_gflops, speeds.strided_row_depthwise_gflops,
         speeds.row_depthwise_gflops)
        if is_depthwise(conv)
        else (speeds.single_gflops, speeds.strided_row_gflops, speeds.row_gflops)
    )  # fmt: skip
    if 2 * width < lanes:
        return operations(conv) / rates[0]
    if strided:
        return operations(conv) * _filled(width, lanes, BORDERS) / rates[1]
    return operations(conv) * _filled(width, lanes) / rates[2]


def blocked_ns(conv: graph.ConvOp, plan: LayoutPlan, target: Target) -> float:
    """Return the time on blocks of channels, filled-up lanes counted as work."""
    speeds, lanes = target.speeds, target.lanes
    work = operations(conv) * _filled(shape_of(conv.results[0])[1], lanes)
    if is_depthwise(conv):
        return work / speeds.blocked_depthwise_gflops
    if not reads_plain_image(conv, plan):
        work *= _filled(shape_of(conv.x)[1], lanes)
        if plan.winograd and suits_winograd(conv):
            work /= WINOGRAD
    return work / speeds.blocked_gflops


def _filled(size: int, lanes: int, more: int = 0) -> float:
    """Return how many times its length a row takes in whole vectors, and some more."""
    return (-(-size // lanes) + more) * lanes / size


def transform_ns(value: SSAValue, target: Target) -> float:
    """Return the time to change a value's layout; nothing moves where the image is one pixel."""
    shape = shape_of(value)
    whole = len(shape) == 4 and shape[1] % target.lanes == 0
    if whole and shape[2:] == (1, 1):
        return 0.0
    speed = target.speeds.transform_gbps if whole else target.speeds.filling_gbps
    return 2 * tensor_bytes(value) / speed
