"""Converters of one step of an optimiser: Adagrad, Adam and Momentum."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from xdsl.ir import SSAValue

from nn_opt.dialects import graph
from nn_opt.frontends.onnx.heads import cast_like
from nn_opt.frontends.onnx.node import BadNode, Node, Results, cast, reshaped, scalar_like
from nn_opt.frontends.onnx.table import converts
from nn_opt.ir.types import mlir_type

DOMAIN = "ai.onnx.preview.training"
F64 = mlir_type(np.float64)

# (node, rate, count of updates, a tensor with its gradient and sums) -> the new tensor and sums
Update = Callable[[Node, SSAValue, SSAValue, Sequence[SSAValue]], Sequence[SSAValue]]


def _updated(node: Node, kinds: int, update: Update) -> Results:
    """Return the new tensors and sums, by kind. Operands: rate, count, then tensors by kind."""
    rate, count, *tensors = node.present()
    each = len(tensors) // kinds
    if not each or len(tensors) % kinds:
        raise BadNode(f"{len(tensors)} tensors are not {kinds} for each one to optimise")
    rate, count = reshaped(rate, []), cast(reshaped(count, []), F64)
    new = [update(node, rate, count, tensors[index::each]) for index in range(each)]
    return [cast_like(value, tensors[0]) for kind in zip(*new, strict=True) for value in kind]


@converts("Adagrad", domain=DOMAIN)
def adagrad(node: Node) -> Results:
    return _updated(node, 3, _adagrad)


def _adagrad(
    node: Node, rate: SSAValue, count: SSAValue, tensors: Sequence[SSAValue]
) -> Sequence[SSAValue]:
    """h' = h + g^2; x' = x - rate / (1 + count * decay) * g / (sqrt(h') + epsilon)"""
    x, gradient, squares = tensors
    gradient = _regularized(node, x, gradient)
    slowed = _plus(_times(count, node.attrs.float("decay_factor")), 1.0)
    rate = cast_like(_over(cast(rate, F64), slowed), x)
    squares = graph.AddOp(squares, _product(gradient, gradient)).result
    root = _plus(graph.SqrtOp(squares).result, node.attrs.float("epsilon", 1e-6))
    step = _over(_product(rate, gradient), root)
    return [graph.SubOp(x, step).result, squares]


@converts("Adam", domain=DOMAIN)
def adam(node: Node) -> Results:
    return _updated(node, 4, _adam)


def _adam(
    node: Node, rate: SSAValue, count: SSAValue, tensors: Sequence[SSAValue]
) -> Sequence[SSAValue]:
    """v' = mix(v, g); h' = mix(h, g^2); x' = x - rate' * v' / (sqrt(h') + epsilon)"""
    x, gradient, mean, squares = tensors
    alpha, beta = node.attrs.float("alpha", 0.9), node.attrs.float("beta", 0.999)
    gradient = _regularized(node, x, gradient)
    mean = _mixed(mean, gradient, alpha)
    squares = _mixed(squares, _product(gradient, gradient), beta)
    root = _plus(graph.SqrtOp(squares).result, node.attrs.float("epsilon", 1e-6))
    rate = cast_like(_unbiased(cast(rate, F64), count, alpha, beta), x)
    x = graph.SubOp(x, _over(_product(rate, mean), root)).result
    return [_times(x, 1 - node.attrs.float("norm_coefficient_post")), mean, squares]


def _unbiased(rate: SSAValue, count: SSAValue, alpha: float, beta: float) -> SSAValue:
    """Return rate * sqrt(1 - beta^count) / (1 - alpha^count), the rate for a count of 0."""
    left = [_plus(_times(graph.PowOp(scalar_like(base, count), count).result, -1.0), 1.0)
            for base in (alpha, beta)]  # fmt: skip
    adjusted = _over(_product(rate, graph.SqrtOp(left[1]).result), left[0])
    return graph.WhereOp(_is_later(count), adjusted, rate).result


@converts("Momentum", domain=DOMAIN)
def momentum(node: Node) -> Results:
    return _updated(node, 3, _momentum)


def _momentum(
    node: Node, rate: SSAValue, count: SSAValue, tensors: Sequence[SSAValue]
) -> Sequence[SSAValue]:
    """v' = alpha * v + beta' * g; x' = x - rate * v', or rate * (g + alpha * v') of Nesterov's"""
    x, gradient, mean = tensors
    nesterov = node.attrs.choice("mode", "standard", {"standard": False, "nesterov": True})
    alpha, beta = node.attrs.float("alpha"), node.attrs.float("beta")
    gradient = _regularized(node, x, gradient)
    share = graph.WhereOp(
        _is_later(count), scalar_like(beta, gradient), scalar_like(1.0, gradient)
    ).result
    mean = graph.AddOp(_times(mean, alpha), _product(share, gradient)).result
    step = graph.AddOp(gradient, _times(mean, alpha)).result if nesterov else mean
    return [graph.SubOp(x, _product(cast_like(rate, x), step)).result, mean]


def _regularized(node: Node, x: SSAValue, gradient: SSAValue) -> SSAValue:
    """Return the gradient with that of the norm of x."""
    return graph.AddOp(_times(x, node.attrs.float("norm_coefficient")), gradient).result


def _mixed(old: SSAValue, new: SSAValue, share: float) -> SSAValue:
    return graph.AddOp(_times(old, share), _times(new, 1 - share)).result


def _is_later(count: SSAValue) -> SSAValue:
    return graph.GreaterOp(count, scalar_like(0.0, count)).result


def _times(value: SSAValue, factor: float) -> SSAValue:
    return _product(value, scalar_like(factor, value))


def _plus(value: SSAValue, number: float) -> SSAValue:
    return graph.AddOp(value, scalar_like(number, value)).result


def _product(a: SSAValue, b: SSAValue) -> SSAValue:
    return graph.MulOp(a, b).result


def _over(a: SSAValue, b: SSAValue) -> SSAValue:
    return graph.DivOp(a, b).result
