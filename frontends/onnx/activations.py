"""The activation functions that recurrent operators name in their attributes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from xdsl.ir import SSAValue

from nn_opt.dialects import graph
from nn_opt.frontends.onnx.node import Attributes, scalar_like
from nn_opt.frontends.onnx.table import Request

Activation = Callable[[SSAValue], SSAValue]

PLAIN: dict[str, type[graph.UnaryOp]] = {
    "relu": graph.ReluOp,
    "sigmoid": graph.SigmoidOp,
    "softplus": graph.SoftplusOp,
    "softsign": graph.SoftsignOp,
    "tanh": graph.TanhOp,
}

WITH_ALPHA: dict[str, type[graph.EluOp | graph.LeakyReluOp | graph.ThresholdedReluOp]] = {
    "elu": graph.EluOp,
    "leakyrelu": graph.LeakyReluOp,
    "thresholdedrelu": graph.ThresholdedReluOp,
}

DEFAULT_ALPHA = {"elu": 1.0, "leakyrelu": 0.01, "thresholdedrelu": 1.0}


def _affine(x: SSAValue, alpha: float, beta: float) -> SSAValue:
    scaled = graph.MulOp(x, scalar_like(alpha, x)).result
    return graph.AddOp(scaled, scalar_like(beta, x)).result


def _hard_sigmoid(x: SSAValue, alpha: float, beta: float) -> SSAValue:
    return graph.HardSigmoidOp(x, alpha, beta).result


def _scaled_tanh(x: SSAValue, alpha: float, beta: float) -> SSAValue:
    inner = graph.TanhOp(graph.MulOp(x, scalar_like(beta, x)).result).result
    return graph.MulOp(inner, scalar_like(alpha, x)).result


WITH_BOTH: dict[str, Callable[[SSAValue, float, float], SSAValue]] = {
    "affine": _affine,
    "hardsigmoid": _hard_sigmoid,
    "scaledtanh": _scaled_tanh,
}

DEFAULT_BOTH = {"affine": (1.0, 0.0), "hardsigmoid": (0.2, 0.5), "scaledtanh": (1.0, 1.0)}


def refuse_unknown(request: Request) -> str:
    """Return what is wrong with the names in `activations`, '' if nothing is."""
    names = {name.lower() for name in request.attrs.texts("activations") or ()}
    unknown = sorted(names - PLAIN.keys() - WITH_ALPHA.keys() - WITH_BOTH.keys())
    return f"activation {unknown[0]}" if unknown else ""


def activations_of(attrs: Attributes, defaults: Sequence[str], count: int) -> list[Activation]:
    """Return the functions of `count` directions; parameters go, in order, to those taking them."""
    names = attrs.texts("activations") or list(defaults) * count
    alphas = iter(attrs.floats("activation_alpha") or ())
    betas = iter(attrs.floats("activation_beta") or ())
    return [_activation(name.lower(), alphas, betas) for name in names]


def _activation(name: str, alphas: Iterator[float], betas: Iterator[float]) -> Activation:
    if name in PLAIN:
        plain = PLAIN[name]
        return lambda x: plain(x).result
    if name in WITH_ALPHA:
        parametric, slope = WITH_ALPHA[name], next(alphas, DEFAULT_ALPHA[name])
        return lambda x: parametric(x, slope).result
    function, (alpha, beta) = WITH_BOTH[name], DEFAULT_BOTH[name]
    alpha, beta = next(alphas, alpha), next(betas, beta)
    return lambda x: function(x, alpha, beta)
