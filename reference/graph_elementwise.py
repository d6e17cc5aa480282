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
from xdsl.ir import Operation

from nn_opt.dialects import graph
from nn_opt.ir.small_types import SMALL_FLOATS, SMALL_INTEGERS
from nn_opt.ir.types import element_type, numpy_dtype
from nn_opt.reference.narrow import BFLOAT, is_integer, narrowed

Array = NDArray[Any]
Meaning = Callable[..., Array]  # (op, arrays of its operands) -> array of its result


def erf(x: Array) -> Array:
    """Return the error function of every element, as float64."""
    return np.array([math.erf(element) for element in x.flat], np.float64).reshape(x.shape)


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def softplus(x: Array) -> Array:
    return np.logaddexp(x, 0)


def gelu(op: graph.GeluOp, x: Array) -> Array:
    if op.approximate.data == "tanh":
        return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return 0.5 * x * (1 + erf(x / math.sqrt(2)))


def is_float(array: Array) -> bool:
    """Return whether the elements are floats, ml_dtypes' included."""
    return not (is_integer(array.dtype) or array.dtype == np.bool_)


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
    if x.dtype.name in SMALL_INTEGERS:
        x = x.astype(np.int8)
    whole = is_integer(dtype) and dtype != np.uint64
    return x.astype(np.int64).astype(dtype) if whole and is_float(x) else x.astype(dtype)


def shift(op: graph.ShiftOp, x: Array, y: Array) -> Array:
    bits = np.dtype(f"uint{8 * x.dtype.itemsize}")
    move = np.left_shift if op.direction.data == "left" else np.right_shift
    return move(x.view(bits), y.view(bits)).view(x.dtype)


def mod(op: graph.ModOp, x: Array, y: Array) -> Array:
    return np.fmod(x, y) if op.fmod is not None else np.mod(x, y)


def where(op: graph.WhereOp, condition: Array, a: Array, b: Array) -> Array:
    return np.where(condition, a, b)


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
    dtype = numpy_dtype(element_type(op.result))
    if dtype.name in SMALL_FLOATS or (dtype == BFLOAT and x.dtype.itemsize > 2):
        mode = "up" if op.round_mode is None else op.round_mode.data
        return narrowed(x, dtype, op.unsaturated is None, mode)
    return as_type(x, dtype)


def bitcast(op: graph.BitcastOp, x: Array) -> Array:
    return np.ascontiguousarray(x).reshape(x.shape).view(numpy_dtype(element_type(op.result)))


def batch_norm(op: graph.BatchNormOp, x: Array, *parameters: Array) -> Array:
    along = (-1, *(1 for _ in range(x.ndim - 2)))
    wide = (p.astype(np.float64).reshape(along if x.ndim > 1 else -1) for p in parameters)
    scale, bias, mean, variance = wide
    epsilon = op.epsilon.value.data
    return scale * (x.astype(np.float64) - mean) / np.sqrt(variance + epsilon) + bias


def leaky_relu(op: graph.LeakyReluOp, x: Array) -> Array:
    return np.where(x < 0, op.alpha.value.data * x, x)


def elu(op: graph.EluOp, x: Array) -> Array:
    return np.where(x < 0, op.alpha.value.data * np.expm1(x), x)


def selu(op: graph.SeluOp, x: Array) -> Array:
    return op.gamma.value.data * np.where(x > 0, x, op.alpha.value.data * np.expm1(x))


def celu(op: graph.CeluOp, x: Array) -> Array:
    alpha = op.alpha.value.data
    return np.maximum(x, 0) + np.minimum(0, alpha * np.expm1(x / alpha))


def hard_sigmoid(op: graph.HardSigmoidOp, x: Array) -> Array:
    return np.clip(op.alpha.value.data * x + op.beta.value.data, 0, 1)


def thresholded_relu(op: graph.ThresholdedReluOp, x: Array) -> Array:
    return np.where(x > op.alpha.value.data, x, 0)


Unary = Callable[[Array], Array]
Binary = Callable[[Array, Array], Array]

# In the tensor's own type.
UNARY: dict[type[Operation], Unary] = {
    graph.ReluOp: lambda x: np.maximum(x, np.zeros((), x.dtype)),
    graph.NegOp: np.negative,
    graph.AbsOp: np.abs,
    graph.SqrtOp: np.sqrt,
    graph.ReciprocalOp: lambda x: np.ones((), x.dtype) / x,
    graph.FloorOp: np.floor,
    graph.CeilOp: np.ceil,
    graph.RoundOp: np.rint,
    graph.SignOp: np.sign,
    graph.NotOp: np.logical_not,
    graph.BitwiseNotOp: np.invert,
    graph.IsNaNOp: np.isnan,
    graph.DropoutOp: lambda x: x,
}

# In float64, rounded once.
UNARY_ROUNDED: dict[type[Operation], Unary] = {
    graph.ExpOp: np.exp,
    graph.LogOp: np.log,
    graph.TanhOp: np.tanh,
    graph.SigmoidOp: sigmoid,
    graph.ErfOp: erf,
    graph.SinOp: np.sin,
    graph.CosOp: np.cos,
    graph.TanOp: np.tan,
    graph.AsinOp: np.arcsin,
    graph.AcosOp: np.arccos,
    graph.AtanOp: np.arctan,
    graph.SinhOp: np.sinh,
    graph.CoshOp: np.cosh,
    graph.AsinhOp: np.arcsinh,
    graph.AcoshOp: np.arccosh,
    graph.AtanhOp: np.arctanh,
    graph.SoftplusOp: softplus,
    graph.SoftsignOp: lambda x: x / (1 + np.abs(x)),
    graph.HardSwishOp: lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
    graph.MishOp: lambda x: x * np.tanh(softplus(x)),
}

BINARY: dict[type[Operation], Binary] = {
    graph.AddOp: np.add,
    graph.SubOp: np.subtract,
    graph.MulOp: np.multiply,
    graph.DivOp: truncating_div,
    graph.PowOp: power,
    graph.MaximumOp: np.maximum,
    graph.MinimumOp: np.minimum,
    graph.PReluOp: lambda x, slope: np.where(x < 0, slope * x, x),
    graph.AndOp: np.logical_and,
    graph.OrOp: np.logical_or,
    graph.XorOp: np.logical_xor,
    graph.BitwiseAndOp: np.bitwise_and,
    graph.BitwiseOrOp: np.bitwise_or,
    graph.BitwiseXorOp: np.bitwise_xor,
    graph.EqualOp: np.equal,
    graph.LessOp: np.less,
    graph.LessEqualOp: np.less_equal,
    graph.GreaterOp: np.greater,
    graph.GreaterEqualOp: np.greater_equal,
}

# Those that read properties, or have more operands.
OTHERS: dict[type[Operation], Meaning] = {
    graph.IsInfOp: isinf,
    graph.ModOp: mod,
    graph.ShiftOp: shift,
    graph.WhereOp: where,
    graph.ClipOp: clip,
    graph.CastOp: cast,
    graph.BitcastOp: bitcast,
}

OTHERS_ROUNDED: dict[type[Operation], Meaning] = {
    graph.LeakyReluOp: leaky_relu,
    graph.EluOp: elu,
    graph.SeluOp: selu,
    graph.CeluOp: celu,
    graph.HardSigmoidOp: hard_sigmoid,
    graph.ThresholdedReluOp: thresholded_relu,
    graph.GeluOp: gelu,
    graph.BatchNormOp: batch_norm,
}


def without_op(function: Callable[..., Array]) -> Meaning:
    """Return the meaning of an op that has no properties."""

    def run(op: Operation, *arrays: Array) -> Array:
        return function(*arrays)

    return run


def rounded(meaning: Meaning) -> Meaning:
    """Return the meaning with float operands widened to float64 and the result narrowed again."""

    def run(op: Operation, *arrays: Array) -> Array:
        wide = (a.astype(np.float64) if is_float(a) else a for a in arrays)
        return meaning(op, *wide).astype(numpy_dtype(element_type(op.results[0])))

    return run


MEANING: dict[type[Operation], Meaning] = {
    **{op: without_op(function) for op, function in (UNARY | BINARY).items()},
    **{op: rounded(without_op(function)) for op, function in UNARY_ROUNDED.items()},
    **OTHERS,
    **{op: rounded(meaning) for op, meaning in OTHERS_ROUNDED.items()},
}
