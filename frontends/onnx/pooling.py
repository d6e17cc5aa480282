"""Converters of pooling over windows and over whole images."""

from __future__ import annotations

from xdsl.ir import SSAValue

from nn_opt.dialects import graph
from nn_opt.frontends.onnx.nn import window_of, window_refusal
from nn_opt.frontends.onnx.node import Node, Results, rank_of, scalar_like
from nn_opt.frontends.onnx.table import Request, converts
from nn_opt.ir.types import shape_of

POOLS = {"MaxPool": "max", "AveragePool": "average", "LpPool": "lp"}


def _pool_refusal(request: Request) -> str:
    if len(request.outputs) > 1 and request.outputs[1]:
        return "the indices of MaxPool"
    return window_refusal(request)


@converts(*POOLS, refusal=_pool_refusal)
def pool(node: Node) -> Results:
    spatial = shape_of(node[0])[2:]
    kernel = node.attrs.ints("kernel_shape")
    assert kernel is not None, "the checker asks for a kernel_shape"
    window = window_of(node.attrs, spatial, kernel)
    return graph.PoolOp(
        node[0],
        POOLS[node.proto.op_type],
        kernel=window.kernel,
        strides=window.strides,
        pads=window.pads,
        dilations=window.dilations,
        ceil_mode=node.attrs.flag("ceil_mode"),
        count_include_pad=node.attrs.flag("count_include_pad"),
        p=node.attrs.int("p", 2),
    ).result


def _spatial_axes(x: SSAValue) -> list[int]:
    return list(range(2, rank_of(x)))


@converts("GlobalAveragePool")
def global_average_pool(node: Node) -> Results:
    return graph.ReduceOp(node[0], "mean", _spatial_axes(node[0]), True).result


@converts("GlobalMaxPool")
def global_max_pool(node: Node) -> Results:
    return graph.ReduceOp(node[0], "max", _spatial_axes(node[0]), True).result


@converts("GlobalLpPool")
def global_lp_pool(node: Node) -> Results:
    """(sum |x|^p)^(1/p)"""
    x, p = node[0], node.attrs.int("p", 2)
    axes = _spatial_axes(x)
    if p in (1, 2):
        return graph.ReduceOp(x, f"l{p}", axes, True).result
    powers = graph.PowOp(graph.AbsOp(x).result, scalar_like(p, x)).result
    total = graph.ReduceOp(powers, "sum", axes, True).result
    return graph.PowOp(total, scalar_like(1 / p, x)).result
