"""What the elementwise graph ops mean, in NumPy.

Arithmetic is done in the tensor's own element type; functions that NumPy only approximates are
done in float64 and rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import AnyFloat
from xdsl.ir import Operation

from nn_opt.dialects import graph
from nn_opt.ir.types import element_type, numpy_dtype

Array = NDArray[Any]
Meaning = Callable[..., Array]

_erf = np.frompyfunc(math.erf, 1, 1)


def erf(x: Array) -> Array:
    """Return the error function of every element, as float64."""
    return _erf(x.astype(np.float64)).astype(np.float64)


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def softplus(x: Array) -> Array:
    return np.logaddexp(x, 0)


def gelu(x: Array, approximate: str) -> Array:
    if approximate == "tanh":
        return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return 0.5 * x * (1 + erf(x / math.sqrt(2)))


def is_float(array: Array) -> bool:
    """Return whether the elements are floats, ml_dtypes' included."""
    return not (np.issubdtype(array.dtype, np.integer) or array.dtype == np.bool_)


def truncating_div(x: Array, y: Array) -> Array:
    """Return x / y; integers truncate toward zero, and anything comes of a division by zero."""
    if is_float(x):
        return x / y
    quotient = np.floor_divide(x, y)
    opposite = (x < 0) != (y < 0)
    return quotient + ((quotient * y != x) & opposite & (y != 0)).astype(x.dtype)


def power(x: Array, y: Array) -> Array:
    """Return x to the power of y in the element type of x; whole numbers stay exact and wrap."""
    if is_float(x) or is_float(y):
        return as_type(np.power(x.astype(np.float64), y.astype(np.float64)), x.dtype)
    whole = np.power(x.astype(np.int64), np.maximum(y.astype(np.int64), 0))
    fraction = as_type(np.power(x.astype(np.float64), y.astype(np.float64)), np.dtype(np.int64))
    return np.where(y < 0, fraction, whole).astype(x.dtype)


def as_type(x: Array, dtype: np.dtype[Any]) -> Array:
    """Return x in another type: floats truncate to integers, integers wrap, nonzero is true."""
    whole = np.issubdtype(dtype, np.integer) and dtype != np.uint64
    return x.astype(np.int64).astype(dtype) if whole and is_float(x) else x.astype(dtype)


def shift(op: graph.ShiftOp, x: Array, y: Array) -> Array:
    bits = np.dtype(f"uint{8 * x.dtype.itemsize}")
    move = np.left_shift if op.direction.data == "left" else np.right_shift
    return move(x.view(bits), y.view(bits)).view(x.dtype)


def mod(op: graph.ModOp, x: Array, y: Array) -> Array:
    return np.fmod(x, y) if op.fmod is not None else np.mod(x, y)


def clip(op: graph.ClipOp, x: Array, *bounds: Array) -> Array:
    rest = [bound.reshape(()) for bound in bounds]
    low = rest.pop(0) if op.low is not None else None
    high = rest.pop(0) if op.high is not None else None
    x = x if low is None else np.maximum(x, low)
    return x if high is None else np.minimum(x, high)


def isinf(op: graph.IsInfOp, x: Array) -> Array:
    negative, positive = op.detect_negative is not None, op.detect_positive is not None
    infinite = np.isinf(x)
    return (infinite & (x < 0) & negative) | (infinite & (x > 0) & positive)


def cast(op: graph.CastOp, x: Array) -> Array:
    return as_type(x, numpy_dtype(element_type(op.result)))


def batch_norm(op: graph.BatchNormOp, x: Array, *parameters: Array) -> Array:
    along = (-1, *(1 for _ in range(x.ndim - 2)))
    wide = (p.astype(np.float64).reshape(along if x.ndim > 1 else -1) for p in parameters)
    scale, bias, mean, variance = wide
    epsilon = op.epsilon.value.data
    return scale * (x.astype(np.float64) - mean) / np.sqrt(variance + epsilon) + bias


# In the tensor's own type.
PLAIN: dict[type[Operation], Meaning] = {
    graph.ReluOp: lambda op, x: np.maximum(x, np.zeros((), x.dtype)),
    graph.NegOp: lambda op, x: np.negative(x),
    graph.AbsOp: lambda op, x: np.abs(x),
    graph.SqrtOp: lambda op, x: np.sqrt(x),
    graph.ReciprocalOp: lambda op, x: np.ones((), x.dtype) / x,
    graph.FloorOp: lambda op, x: np.floor(x),
    graph.CeilOp: lambda op, x: np.ceil(x),
    graph.RoundOp: lambda op, x: np.rint(x),
    graph.SignOp: lambda op, x: np.sign(x),
    graph.NotOp: lambda op, x: np.logical_not(x),
    graph.BitwiseNotOp: lambda op, x: np.invert(x),
    graph.IsNaNOp: lambda op, x: np.isnan(x),
    graph.IsInfOp: isinf,
    graph.DropoutOp: lambda op, x: x,
    graph.AddOp: lambda op, x, y: x + y,
    graph.SubOp: lambda op, x, y: x - y,
    graph.MulOp: lambda op, x, y: x * y,
    graph.DivOp: lambda op, x, y: truncating_div(x, y),
    graph.PowOp: lambda op, x, y: power(x, y),
    graph.ModOp: mod,
    graph.MaximumOp: lambda op, x, y: np.maximum(x, y),
    graph.MinimumOp: lambda op, x, y: np.minimum(x, y),
    graph.PReluOp: lambda op, x, slope: np.where(x < 0, slope * x, x),
    graph.AndOp: lambda op, x, y: np.logical_and(x, y),
    graph.OrOp: lambda op, x, y: np.logical_or(x, y),
    graph.XorOp: lambda op, x, y: np.logical_xor(x, y),
    graph.BitwiseAndOp: lambda op, x, y: np.bitwise_and(x, y),
    graph.BitwiseOrOp: lambda op, x, y: np.bitwise_or(x, y),
    graph.BitwiseXorOp: lambda op, x, y: np.bitwise_xor(x, y),
    graph.ShiftOp: shift,
    graph.EqualOp: lambda op, x, y: x == y,
    graph.LessOp: lambda op, x, y: x < y,
    graph.LessEqualOp: lambda op, x, y: x <= y,
    graph.GreaterOp: lambda op, x, y: x > y,
    graph.GreaterEqualOp: lambda op, x, y: x >= y,
    graph.WhereOp: lambda op, condition, a, b: np.where(condition, a, b),
    graph.ClipOp: clip,
    graph.CastOp: cast,
}

# In float64, rounded once.
ROUNDED: dict[type[Operation], Meaning] = {
    graph.ExpOp: lambda op, x: np.exp(x),
    graph.LogOp: lambda op, x: np.log(x),
    graph.TanhOp: lambda op, x: np.tanh(x),
    graph.SigmoidOp: lambda op, x: sigmoid(x),
    graph.ErfOp: lambda op, x: erf(x),
    graph.SinOp: lambda op, x: np.sin(x),
    graph.CosOp: lambda op, x: np.cos(x),
    graph.TanOp: lambda op, x: np.tan(x),
    graph.AsinOp: lambda op, x: np.arcsin(x),
    graph.AcosOp: lambda op, x: np.arccos(x),
    graph.AtanOp: lambda op, x: np.arctan(x),
    graph.SinhOp: lambda op, x: np.sinh(x),
    graph.CoshOp: lambda op, x: np.cosh(x),
    graph.AsinhOp: lambda op, x: np.arcsinh(x),
    graph.AcoshOp: lambda op, x: np.arccosh(x),
    graph.AtanhOp: lambda op, x: np.arctanh(x),
    graph.SoftplusOp: lambda op, x: softplus(x),
    graph.SoftsignOp: lambda op, x: x / (1 + np.abs(x)),
    graph.HardSwishOp: lambda op, x: x * np.clip(x / 6 + 0.5, 0, 1),
    graph.MishOp: lambda op, x: x * np.tanh(softplus(x)),
    graph.LeakyReluOp: lambda op, x: np.where(x < 0, op.alpha.value.data * x, x),
    graph.EluOp: lambda op, x: np.where(x < 0, op.alpha.value.data * np.expm1(x), x),
    graph.SeluOp: lambda op, x: (
        op.gamma.value.data * np.where(x > 0, x, op.alpha.value.data * np.expm1(x))
    ),
    graph.CeluOp: lambda op, x: (
        np.maximum(x, 0) + np.minimum(0, op.alpha.value.data * np.expm1(x / op.alpha.value.data))
    ),
    graph.HardSigmoidOp: lambda op, x: np.clip(op.alpha.value.data * x + op.beta.value.data, 0, 1),
    graph.ThresholdedReluOp: lambda op, x: np.where(x > op.alpha.value.data, x, 0 * x),
    graph.GeluOp: lambda op, x: gelu(x, op.approximate.data),
    graph.BatchNormOp: batch_norm,
}


def rounded(meaning: Meaning) -> Meaning:
    """Return the meaning with float operands widened to float64 and the result narrowed again."""

    def run(op: Operation, *arrays: Array) -> Array:
        wide = (a.astype(np.float64) if is_float(a) else a for a in arrays)
        target = element_type(op.results[0])
        result = meaning(op, *wide)
        return result.astype(numpy_dtype(target)) if isinstance(target, AnyFloat) else result

    return run


MEANING: dict[type[Operation], Meaning] = PLAIN | {
    op: rounded(meaning) for op, meaning in ROUNDED.items()
}
