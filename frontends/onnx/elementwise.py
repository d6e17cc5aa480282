"""Converters of element-wise operators: one row each where ONNX and the graph dialect agree."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import BFloat16Type, Float16Type
from xdsl.ir import SSAValue

from nn_opt.dialects import graph
from nn_opt.frontends.onnx.node import (
    F32,
    F64,
    Node,
    Results,
    cast,
    dtype_of,
    rank_of,
    reshaped,
    scalar_like,
)
from nn_opt.frontends.onnx.table import converts
from nn_opt.ir.types import element_type, shape_of

UNARY: dict[str, type[graph.UnaryOp]] = {
    "Abs": graph.AbsOp,
    "Acos": graph.AcosOp,
    "Acosh": graph.AcoshOp,
    "Asin": graph.AsinOp,
    "Asinh": graph.AsinhOp,
    "Atan": graph.AtanOp,
    "Atanh": graph.AtanhOp,
    "BitwiseNot": graph.BitwiseNotOp,
    "Ceil": graph.CeilOp,
    "Cos": graph.CosOp,
    "Cosh": graph.CoshOp,
    "Erf": graph.ErfOp,
    "Exp": graph.ExpOp,
    "Floor": graph.FloorOp,
    "HardSwish": graph.HardSwishOp,
    "IsNaN": graph.IsNaNOp,
    "Log": graph.LogOp,
    "Mish": graph.MishOp,
    "Neg": graph.NegOp,
    "Not": graph.NotOp,
    "Reciprocal": graph.ReciprocalOp,
    "Relu": graph.ReluOp,
    "Round": graph.RoundOp,
    "Sigmoid": graph.SigmoidOp,
    "Sign": graph.SignOp,
    "Sin": graph.SinOp,
    "Sinh": graph.SinhOp,
    "Softplus": graph.SoftplusOp,
    "Softsign": graph.SoftsignOp,
    "Sqrt": graph.SqrtOp,
    "Tan": graph.TanOp,
    "Tanh": graph.TanhOp,
}

BINARY: dict[str, type[graph.BinaryOp]] = {
    "Add": graph.AddOp,
    "And": graph.AndOp,
    "BitwiseAnd": graph.BitwiseAndOp,
    "BitwiseOr": graph.BitwiseOrOp,
    "BitwiseXor": graph.BitwiseXorOp,
    "Div": graph.DivOp,
    "Equal": graph.EqualOp,
    "Greater": graph.GreaterOp,
    "GreaterOrEqual": graph.GreaterEqualOp,
    "Less": graph.LessOp,
    "LessOrEqual": graph.LessEqualOp,
    "Mul": graph.MulOp,
    "Or": graph.OrOp,
    "Pow": graph.PowOp,
    "Sub": graph.SubOp,
    "Xor": graph.XorOp,
}


@converts(*UNARY)
def unary(node: Node) -> Results:
    return UNARY[node.proto.op_type](node[0]).result


@converts(*BINARY)
def binary(node: Node) -> Results:
    return BINARY[node.proto.op_type](node[0], _placed(node)).result


def _placed(node: Node) -> SSAValue:
    """Return operand 1; before opset 7 it stood at `axis` of operand 0, by default at the end."""
    value, rank = node[1], rank_of(node[0])
    if node.version >= 7 or not node.attrs.flag("broadcast"):
        return value
    axis = node.attrs.int("axis", rank - rank_of(value)) % max(rank, 1)
    return reshaped(value, [*shape_of(value), *([1] * (rank - axis - rank_of(value)))])


def folded(op: type[graph.BinaryOp], values: Sequence[SSAValue]) -> SSAValue:
    """Return the values combined from left to right."""
    total = values[0]
    for value in values[1:]:
        total = op(total, value).result
    return total


VARIADIC: dict[str, type[graph.BinaryOp]] = {
    "Max": graph.MaximumOp,
    "Min": graph.MinimumOp,
}


@converts(*VARIADIC)
def variadic(node: Node) -> Results:
    return folded(VARIADIC[node.proto.op_type], node.present())


@converts("Sum", "Mean")
def total(node: Node) -> Results:
    """Half floats are added as single ones, as along an axis."""
    values = node.present()
    element, count = element_type(values[0]), len(values)
    if count == 1:
        return values[0]
    mean = node.proto.op_type == "Mean"
    if isinstance(element, Float16Type | BFloat16Type) and (count > 2 or mean):
        values = [cast(value, F32) for value in values]
    result = folded(graph.AddOp, values)
    if mean:
        result = graph.DivOp(result, scalar_like(count, result)).result
    return cast(result, element)


@converts("LeakyRelu")
def leaky_relu(node: Node) -> Results:
    return graph.LeakyReluOp(node[0], alpha=node.attrs.float("alpha", 0.01)).result


@converts("Elu")
def elu(node: Node) -> Results:
    return graph.EluOp(node[0], alpha=node.attrs.float("alpha", 1.0)).result


@converts("Celu")
def celu(node: Node) -> Results:
    return graph.CeluOp(node[0], alpha=node.attrs.float("alpha", 1.0)).result


@converts("ThresholdedRelu")
def thresholded_relu(node: Node) -> Results:
    return graph.ThresholdedReluOp(node[0], alpha=node.attrs.float("alpha", 1.0)).result


@converts("Selu")
def selu(node: Node) -> Results:
    exact = node.version >= 6
    alpha = node.attrs.float("alpha", 1.67326319217681884765625 if exact else 1.6732)
    gamma = node.attrs.float("gamma", 1.05070102214813232421875 if exact else 1.0507)
    return graph.SeluOp(node[0], alpha=alpha, gamma=gamma).result


@converts("HardSigmoid")
def hard_sigmoid(node: Node) -> Results:
    alpha, beta = node.attrs.float("alpha", 0.2), node.attrs.float("beta", 0.5)
    return graph.HardSigmoidOp(node[0], alpha=alpha, beta=beta).result


@converts("Gelu")
def gelu(node: Node) -> Results:
    return graph.GeluOp(node[0], approximate=node.attrs.text("approximate", "none")).result


@converts("Swish")
def swish(node: Node) -> Results:
    return _gate(node)


@converts("SwiGLU")
def swiglu(node: Node) -> Results:
    return graph.MulOp(_gate(node), node[1]).result


def _gate(node: Node) -> SSAValue:
    """Return x * sigmoid(alpha * x)."""
    x, alpha = node[0], node.attrs.float("alpha", 1.0)
    scaled = x if alpha == 1.0 else graph.MulOp(x, scalar_like(alpha, x)).result
    return graph.MulOp(x, graph.SigmoidOp(scaled).result).result


@converts("Shrink")
def shrink(node: Node) -> Results:
    """x + bias below -lambd, x - bias above lambd, else 0; integers are moved as real numbers"""
    bias, limit = node.attrs.float("bias", 0.0), node.attrs.float("lambd", 0.5)
    if dtype_of(node[0]).kind in "iu" and not (bias.is_integer() and limit.is_integer()):
        return cast(_shrunk(cast(node[0], F64), bias, limit), element_type(node[0]))
    return _shrunk(node[0], bias, limit)


def _shrunk(x: SSAValue, bias: float, limit: float) -> SSAValue:
    bias_value = scalar_like(bias, x)
    high = graph.GreaterOp(x, scalar_like(limit, x)).result
    upper = graph.WhereOp(high, graph.SubOp(x, bias_value).result, scalar_like(0, x)).result
    if dtype_of(x).kind == "u":
        return upper
    low = graph.LessOp(x, scalar_like(-limit, x)).result
    return graph.WhereOp(low, graph.AddOp(x, bias_value).result, upper).result


@converts("PRelu")
def prelu(node: Node) -> Results:
    """The slope broadcasts as usual; before opset 7 it counted channels, axis 1."""
    x, slope = node[0], node[1]
    if node.version < 7 and shape_of(slope) != (1,):
        slope = reshaped(slope, [*shape_of(slope), *([1] * (rank_of(x) - 2))])
    return graph.PReluOp(x, slope).result


@converts("IsInf")
def isinf(node: Node) -> Results:
    negative = node.attrs.flag("detect_negative", True)
    positive = node.attrs.flag("detect_positive", True)
    return graph.IsInfOp(node[0], detect_negative=negative, detect_positive=positive).result


@converts("Mod")
def mod(node: Node) -> Results:
    return graph.ModOp(node[0], node[1], fmod=node.attrs.flag("fmod")).result


@converts("BitShift")
def bit_shift(node: Node) -> Results:
    """Right shifts of signed integers fill with the sign: ~(~x >> n) where x is negative."""
    x, direction = node[0], node.attrs.text("direction").lower()
    if direction == "left" or dtype_of(x).kind == "u":
        return graph.ShiftOp(x, node[1], direction=direction).result
    negative = graph.LessOp(x, scalar_like(0, x)).result
    bits = graph.WhereOp(negative, graph.BitwiseNotOp(x).result, x).result
    moved = graph.ShiftOp(bits, node[1], direction=direction).result
    return graph.WhereOp(negative, graph.BitwiseNotOp(moved).result, moved).result


@converts("Where")
def where(node: Node) -> Results:
    return graph.WhereOp(node[0], node[1], node[2]).result


@converts("Clip")
def clip(node: Node) -> Results:
    """Bounds are attributes before opset 11, then optional scalars, empty tensors left out."""
    x = node[0]
    if node.version < 11:
        attributes = ("min", "max")
        bounds = [
            scalar_like(node.attrs.float(name), x) if name in node.attrs else None
            for name in attributes
        ]
    else:
        bounds = [_bound(node.get(1)), _bound(node.get(2))]
    return x if bounds == [None, None] else graph.ClipOp(x, bounds[0], bounds[1]).result


def _bound(value: SSAValue | None) -> SSAValue | None:
    """Return a bound of rank 0; exporters also write a vector of one element."""
    if value is None or shape_of(value) == ():
        return value
    return graph.ReshapeOp(value, []).result
