"""Converters of pooling over windows and over whole images."""

from __future__ import annotations

from xdsl.ir import SSAValue

from nn_opt.dialects import graph
from nn_opt.frontends.onnx.nn import window_of, window_refusal
from nn_opt.frontends.onnx.node import (
    F32,
    Node,
    Results,
    cast,
    dtype_of,
    rank_of,
    scalar_like,
)
from nn_opt.frontends.onnx.table import converts
from nn_opt.frontends.onnx.unpooling import pool_indices
from nn_opt.ir.types import element_type, shape_of

POOLS = {"MaxPool": "max", "AveragePool": "average", "LpPool": "lp"}


@converts(*POOLS, refusal=window_refusal)
def pool(node: Node) -> Results:
    spatial = shape_of(node[0])[2:]
    kernel = node.attrs.ints("kernel_shape")
    assert kernel is not None, "the checker asks for a kernel_shape"
    window = window_of(node.attrs, spatial, kernel)
    result = graph.PoolOp(
        node[0],
        POOLS[node.proto.op_type],
        kernel=window.kernel,
        strides=window.strides,
        pads=window.pads,
        dilations=window.dilations,
        ceil_mode=node.attrs.flag("ceil_mode"),
        count_include_pad=node.attrs.flag("count_include_pad"),
        p=int(node.attrs.number("p", 2)),  # a float in opset 1
    ).result
    if len(node.outputs) < 2 or not node.outputs[1]:
        return result
    columns = node.attrs.flag("storage_order")
    return [result, pool_indices(node[0], result, window, by_columns=columns)]


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
    x, p = node[0], node.attrs.number("p", 2)
    axes = _spatial_axes(x)
    if p in (1, 2):
        return graph.ReduceOp(x, f"l{p:g}", axes, True).result
    size = graph.AbsOp(cast(x, F32) if dtype_of(x).itemsize < 4 else x).result
    powers = graph.PowOp(size, scalar_like(p, size)).result
    total = graph.ReduceOp(powers, "sum", axes, True).result
    return cast(graph.PowOp(total, scalar_like(1 / p, size)).result, element_type(x))
