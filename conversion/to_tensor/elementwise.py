"""Elementwise graph ops: one formula each, over operands read as NumPy broadcasts them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from xdsl.dialects.builtin import AnyFloat, FloatAttr, i1
from xdsl.ir import Operation, SSAValue

from nn_opt.conversion.to_tensor.body import Array
from nn_opt.conversion.to_tensor.lowering import Lowering
from nn_opt.conversion.to_tensor.scalar import (
    F64,
    Number,
    Scalar,
    constant,
    is_unsigned,
    remainder,
    width,
)
from nn_opt.conversion.to_tensor.small import bits_as, narrowed
from nn_opt.dialects import graph
from nn_opt.ir.resources import array_of
from nn_opt.ir.small_types import is_small_float
from nn_opt.ir.types import element_type, shape_of

# (op, an element of each operand) -> an element of the result
Unary = Callable[[Any, Scalar], Scalar]
Binary = Callable[[Any, Scalar, Scalar], Scalar]


def _float(attr: FloatAttr[AnyFloat]) -> float:
    return attr.value.data


def _sign(x: Scalar) -> Scalar:
    if x.is_float:
        return x.compare("gt", 0).select(1, x.compare("lt", 0).select(-1, x))
    positive = x.compare("ne" if not x.is_signed else "gt", 0).cast(x.type)
    return positive - x.compare("lt", 0).cast(x.type) if x.is_signed else positive


def _sigmoid(x: Scalar) -> Scalar:
    """1 - q or e (1 - q), where e = exp(-abs(x)) and q = e / (1 + e); 2 ulp, of subnormals, too.

    e / (1 + e) alone would round 1 + e at the price of a whole ulp of the result.
    """
    power = (-abs(x)).call("exp")
    share = power / (power + 1)
    return x.compare("lt", 0).select(power - share * power, 1 - share)


def _softplus(x: Scalar) -> Scalar:
    """log(1 + exp(x)) without overflow."""
    return x.maximum(0) + (-abs(x)).call("exp").call("log1p")


def _elu(x: Scalar, alpha: float) -> Scalar:
    return x.compare("lt", 0).select(x.call("expm1") * alpha, x)


def _celu(op: Any, x: Scalar) -> Scalar:
    alpha = _float(op.alpha)
    return x.maximum(0) + ((x / alpha).call("expm1") * alpha).minimum(0)


def _selu(op: Any, x: Scalar) -> Scalar:
    scaled = x.compare("gt", 0).select(x, x.call("expm1") * _float(op.alpha))
    return scaled * _float(op.gamma)


def _gelu(op: Any, x: Scalar) -> Scalar:
    """x times a distribution function; (1 + tanh(z)) / 2 is 1 / (1 + exp(-2 z))."""
    if op.approximate.data == "none":
        return x * 0.5 * ((x * math.sqrt(0.5)).call_beside_one("erf") + 1)
    slope = -2 * math.sqrt(2 / math.pi)
    return x / ((x * (x * x * (0.044715 * slope) + slope)).call_beside_one("exp") + 1)


def _exp(op: Any, x: Scalar) -> Scalar:
    return x.call("exp") if op.beside_one is None else x.call_beside_one("exp")


def _isinf(op: Any, x: Scalar) -> Scalar:
    found = constant(0, i1)
    if op.detect_positive is not None:
        found = x.compare("eq", math.inf)
    if op.detect_negative is not None:
        found = found | x.compare("eq", -math.inf)
    return found


def _floor(word: str) -> Unary:
    """floor, ceil and round leave integers alone."""
    return lambda op, x: x.call(word) if x.is_float else x


CALLS = "log sqrt tanh erf sin cos tan asin acos atan sinh cosh asinh acosh atanh".split()


def _call(word: str) -> Unary:
    return lambda op, x: x.call(word)


UNARY: dict[str, Unary] = {
    **{word: _call(word) for word in CALLS},
    "exp": _exp,
    "relu": lambda op, x: x.maximum(0),
    "neg": lambda op, x: -x,
    "abs": lambda op, x: abs(x),
    "reciprocal": lambda op, x: 1 / x,
    "sigmoid": lambda op, x: _sigmoid(x),
    "floor": _floor("floor"),
    "ceil": _floor("ceil"),
    "round": _floor("roundeven"),
    "sign": lambda op, x: _sign(x),
    "softplus": lambda op, x: _softplus(x),
    "softsign": lambda op, x: x / (abs(x) + 1),
    "hard_swish": lambda op, x: x * (x * (1 / 6) + 0.5).maximum(0).minimum(1),
    "mish": lambda op, x: x * _softplus(x).call("tanh"),
    "not": lambda op, x: ~x,
    "bitwise_not": lambda op, x: ~x,
    "dropout": lambda op, x: x,
    "leaky_relu": lambda op, x: x.compare("lt", 0).select(x * _float(op.alpha), x),
    "elu": lambda op, x: _elu(x, _float(op.alpha)),
    "selu": _selu,
    "celu": _celu,
    "hard_sigmoid": lambda op, x: (x * _float(op.alpha) + _float(op.beta)).maximum(0).minimum(1),
    "thresholded_relu": lambda op, x: x.compare("gt", _float(op.alpha)).select(x, 0),
    "gelu": _gelu,
    "isnan": lambda op, x: x.is_nan(),
    "isinf": _isinf,
    "cast": lambda op, x: _cast(op, x),
}


def _cast(op: Any, x: Scalar) -> Scalar:
    target = element_type(op.results[0])
    if is_small_float(target) and x.type != target:
        mode = "up" if op.round_mode is None else op.round_mode.data
        return narrowed(x, target, saturate=op.unsaturated is None, mode=mode)
    return x.cast(target)


def uniform_value(value: SSAValue) -> Number | None:
    """Return the one number that every element of a constant has, if so."""
    if not isinstance(value.owner, graph.ConstantOp):
        return None
    array = array_of(value.owner.value, value.type)
    first = array.reshape(-1)[:1]
    return first[0].item() if array.size and (array == first).all() else None


def _pow(op: Any, x: Scalar, exponent: Scalar) -> Scalar:
    known = uniform_value(op.operands[1])
    if known in POWERS and (x.is_float or known in (0, 1, 2, 3, 4)):
        return POWERS[known](x)
    if x.is_float:
        return x.power(exponent.cast(x.type))
    if exponent.is_float:
        return x.cast(F64).power(exponent.cast(F64)).cast(x.type)
    return _integer_power(x, exponent.cast(x.type))


POWERS: dict[Number | None, Callable[[Scalar], Scalar]] = {
    0: lambda x: x.like(1),
    1: lambda x: x,
    2: lambda x: x * x,
    3: lambda x: x * x * x,
    4: lambda x: (x * x) * (x * x),
    0.5: lambda x: x.call("sqrt"),
    -1: lambda x: 1 / x,
    -2: lambda x: 1 / (x * x),
    -0.5: lambda x: 1 / x.call("sqrt"),
}


def _integer_power(base: Scalar, exponent: Scalar) -> Scalar:
    """By squaring; exact for any power that fits 64 bits, and 1 / base**n truncates to 0."""
    result, square = base.like(1), base
    for bit in range(min(6, width(base.type) - 1)):
        used = (exponent & (1 << bit)).compare("ne", 0)
        result = used.select(result * square, result)
        square = square * square
    if not exponent.is_signed:
        return result
    vanishes = exponent.compare("lt", 0) & abs(base).compare("ne", 1)
    return vanishes.select(0, result)


def _mod(op: Any, x: Scalar, y: Scalar) -> Scalar:
    if x.is_float:
        rest = x.binary("rem", y)
        wrong = rest.compare("lt", 0) ^ y.compare("lt", 0)
    else:
        rest = remainder(x, y)
        wrong = (rest ^ y).compare("lt", 0)
    if op.fmod is not None or not (x.is_float or x.is_signed):
        return rest
    moved = wrong.select(rest + y, rest)
    zero = y.compare("lt", 0).select(-0.0, y.like(0)) if y.is_float else rest
    return rest.compare("eq", 0).select(zero, moved)


def _shift(op: Any, x: Scalar, amount: Scalar) -> Scalar:
    """A shift by all bits or more leaves 0; so does a negative one, as NumPy's unsigned view."""
    inside = amount.compare("lt", width(x.type))
    if not is_unsigned(amount.type):
        inside = inside & amount.compare("ge", 0)
    word = "shl" if op.direction.data == "left" else "shr"
    return inside.select(x.binary(word, inside.select(amount, 0)), 0)


def _prelu(op: Any, x: Scalar, slope: Scalar) -> Scalar:
    return x if is_unsigned(x.type) else x.compare("lt", 0).select(x * slope, x)


def _where(op: Any, condition: Scalar, then: Scalar, otherwise: Scalar) -> Scalar:
    return condition.select(then, otherwise)


def _clip(op: Any, x: Scalar, *bounds: Scalar) -> Scalar:
    remaining = list(bounds)
    if op.low is not None:
        x = x.maximum(remaining.pop(0))
    return x.minimum(remaining.pop(0)) if op.high is not None else x


def _binary(word: str) -> Binary:
    return lambda op, x, y: x.binary(word, y)


def _compare(word: str) -> Binary:
    return lambda op, x, y: x.compare(word, y)


BINARY: dict[str, Binary] = {
    **{word: _binary(word) for word in ("add", "sub", "mul", "max", "min", "and", "or", "xor")},
    **{f"bitwise_{word}": _binary(word) for word in ("and", "or", "xor")},
    "div": lambda op, x, y: x / y,
    "pow": _pow,
    "mod": _mod,
    "shift": _shift,
    "prelu": _prelu,
    "equal": _compare("eq"),
    "less": _compare("lt"),
    "less_equal": _compare("le"),
    "greater": _compare("gt"),
    "greater_equal": _compare("ge"),
}
FORMULAS: dict[str, Callable[..., Scalar]] = {
    **UNARY,
    **BINARY,
    "where": _where,
    "clip": _clip,
}


def convert_elementwise(k: Lowering, op: Operation) -> Array:
    """Return one compute of the op's formula."""
    word = op.name.removeprefix("graph.")
    formula = FORMULAS[word]
    arrays = [k.array(operand) for operand in op.operands]
    result = op.results[0]
    return k.compute(
        word,
        shape_of(result),
        element_type(result),
        lambda b: formula(op, *(b.broadcast(array) for array in arrays)),
    )


def convert_bitcast(k: Lowering, op: graph.BitcastOp) -> Array:
    """The elements as they are stored, under another type."""
    x, target = k.array(op.x), element_type(op.result)
    return k.compute("bitcast", x.shape, target, lambda b: bits_as(b.element(x, b.par), target))


def convert_batch_norm(k: Lowering, op: graph.BatchNormOp) -> Array:
    """(x - mean) / sqrt(var + epsilon) * scale + bias, by channel."""
    x, scale, bias, mean, var = (k.array(operand) for operand in op.operands)
    epsilon = _float(op.epsilon)

    def formula(b: Any) -> Scalar:
        def of(array: Array) -> Scalar:
            return b.read(array, [b.par[1] if x.rank > 1 else 0])

        spread = (of(var) + epsilon).call("sqrt")
        return (b.read(x, b.par) - of(mean)) / spread * of(scale) + of(bias)

    return k.compute("batch_norm", x.shape, x.dtype, formula)


CONVERTERS = {
    **{f"graph.{word}": convert_elementwise for word in FORMULAS},
    "graph.bitcast": convert_bitcast,
    "graph.batch_norm": convert_batch_norm,
}
