"""Converters of com.microsoft's products and convolutions with what is fused into them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from xdsl.ir import SSAValue

from nn_opt.dialects import graph
from nn_opt.frontends.onnx.contrib import contrib
from nn_opt.frontends.onnx.linear import weighted_sum
from nn_opt.frontends.onnx.nn import window_of
from nn_opt.frontends.onnx.node import (
    BadNode,
    Node,
    Results,
    rank_of,
    scalar_like,
    transposed,
)
from nn_opt.ir.types import shape_of

WINDOW = "kernel_shape strides pads dilations auto_pad"
PARAMETERS = "activation_alpha activation_beta activation_gamma"
Activation = Callable[[SSAValue, float, float], SSAValue]

# (x, alpha, beta) by name; parameters that a node leaves out are those of DEFAULTS.
ACTIVATIONS: Mapping[str, Activation] = {
    "": lambda x, alpha, beta: x,
    "Relu": lambda x, alpha, beta: graph.ReluOp(x).result,
    "Sigmoid": lambda x, alpha, beta: graph.SigmoidOp(x).result,
    "Tanh": lambda x, alpha, beta: graph.TanhOp(x).result,
    "Softplus": lambda x, alpha, beta: graph.SoftplusOp(x).result,
    "Softsign": lambda x, alpha, beta: graph.SoftsignOp(x).result,
    "LeakyRelu": lambda x, alpha, beta: graph.LeakyReluOp(x, alpha=alpha).result,
    "Elu": lambda x, alpha, beta: graph.EluOp(x, alpha=alpha).result,
    "ThresholdedRelu": lambda x, alpha, beta: graph.ThresholdedReluOp(x, alpha=alpha).result,
    "HardSigmoid": lambda x, alpha, beta: graph.HardSigmoidOp(x, alpha, beta).result,
    "Clip": lambda x, alpha, beta: (
        graph.ClipOp(x, scalar_like(alpha, x), scalar_like(beta, x)).result
    ),
}
DEFAULTS = {"LeakyRelu": (0.01, 0.0), "HardSigmoid": (0.2, 0.5)}


def activated(node: Node, value: SSAValue) -> SSAValue:
    """Return what the activation that a node names makes of a value."""
    name = node.attrs.text("activation")
    function = node.attrs.choice("activation", "", ACTIVATIONS)
    alpha, beta = DEFAULTS.get(name, (1.0, 0.0))
    given = node.attrs.floats("activation_params") or []
    alpha = node.attrs.float("activation_alpha", given[0] if given else alpha)
    beta = node.attrs.float("activation_beta", given[1] if len(given) > 1 else beta)
    return function(value, alpha, beta)


@contrib("FusedMatMul", needs=2, attrs="alpha transA transB transBatchA transBatchB")
@contrib("TransposeMatMul", needs=2, attrs="alpha transA transB")
@contrib(
    "FusedMatMulActivation",
    needs=2,
    attrs=f"alpha transA transB transBatchA transBatchB activation! {PARAMETERS} activation_axis",
)
def fused_matmul(node: Node) -> Results:
    """alpha * a @ b; each may be transposed, or have its rows before its batches."""
    a, b = (_arranged(node, index, "AB"[index]) for index in (0, 1))
    product = graph.MatmulOp(a, b).result
    return activated(node, weighted_sum(product, None, node.attrs.float("alpha", 1.0), 0.0))


def _arranged(node: Node, index: int, letter: str) -> SSAValue:
    value, rank = node[index], rank_of(node[index])
    order = list(range(rank))
    if rank > 2 and node.attrs.flag(f"transBatch{letter}"):
        order = [*order[1:-1], 0, order[-1]]
    if rank > 1 and node.attrs.flag(f"trans{letter}"):
        order[-2:] = order[:-3:-1]
    return transposed(value, order)


@contrib("FusedGemm", needs=2, most=3, attrs=f"alpha beta transA transB activation {PARAMETERS}")
def fused_gemm(node: Node) -> Results:
    a, b = (_arranged(node, index, "AB"[index]) for index in (0, 1))
    product, alpha = graph.MatmulOp(a, b).result, node.attrs.float("alpha", 1.0)
    return activated(node, weighted_sum(product, node.get(2), alpha, node.attrs.float("beta", 1.0)))


@contrib("GemmFastGelu", needs=2, most=3)
def gemm_fast_gelu(node: Node) -> Results:
    product = weighted_sum(graph.MatmulOp(node[0], node[1]).result, node.get(2), 1.0, 1.0)
    return graph.GeluOp(product, approximate="tanh").result


@contrib("FusedConv", needs=2, most=4, attrs=f"{WINDOW} group activation activation_params")
def fused_conv(node: Node) -> Results:
    """Operands: x, filters, bias, what is added before the activation."""
    return activated(node, _plus(_conv(node, node[0]), node.get(3)))


@contrib("NhwcConv", needs=2, most=3, attrs=f"{WINDOW} group")
@contrib("NhwcFusedConv", needs=2, most=4, attrs=f"{WINDOW} group activation activation_params")
def nhwc_conv(node: Node) -> Results:
    """Images with their channels last, filters as those of Conv."""
    y = channels_last(_conv(node, channels_first(node[0])))
    return activated(node, _plus(y, node.get(3)))


def _plus(value: SSAValue, more: SSAValue | None) -> SSAValue:
    return value if more is None else graph.AddOp(value, more).result


def _conv(node: Node, x: SSAValue) -> SSAValue:
    window = window_of(node.attrs, shape_of(x)[2:], shape_of(node[1])[2:])
    return graph.ConvOp(
        x,
        node[1],
        node.get(2),
        strides=window.strides,
        pads=window.pads,
        dilations=window.dilations,
        group=node.attrs.int("group", 1),
    ).result


def channels_first(x: SSAValue) -> SSAValue:
    """Return [N, ..., C] as [N, C, ...]."""
    rank = rank_of(x)
    return transposed(x, [0, rank - 1, *range(1, rank - 1)])


def channels_last(x: SSAValue) -> SSAValue:
    """Return [N, C, ...] as [N, ..., C]."""
    return transposed(x, [0, *range(2, rank_of(x)), 1])


@contrib("NhwcMaxPool", needs=1, attrs=f"{WINDOW} ceil_mode")
def nhwc_max_pool(node: Node) -> Results:
    x, kernel = channels_first(node[0]), node.attrs.ints("kernel_shape")
    if kernel is None:
        raise BadNode("kernel_shape is missing")
    window = window_of(node.attrs, shape_of(x)[2:], kernel)
    pooled = graph.PoolOp(
        x,
        "max",
        kernel=window.kernel,
        strides=window.strides,
        pads=window.pads,
        dilations=window.dilations,
        ceil_mode=node.attrs.flag("ceil_mode"),
    ).result
    return channels_last(pooled)


@contrib(
    "ConvTransposeWithDynamicPads",
    needs=2,
    most=4,
    attrs="kernel_shape strides dilations auto_pad group output_padding",
)
def conv_transpose_with_pads(node: Node) -> Results:
    """Operands: x, filters, pads, bias."""
    x, filters = node[0], node[1]
    window = window_of(node.attrs, shape_of(x)[2:], shape_of(filters)[2:])
    pads = node.known_ints(2) or window.pads
    return graph.ConvTransposeOp(
        x,
        filters,
        node.get(3),
        strides=window.strides,
        pads=pads,
        dilations=window.dilations,
        group=node.attrs.int("group", 1),
        output_padding=node.attrs.ints("output_padding") or [0] * (rank_of(x) - 2),
    ).result
