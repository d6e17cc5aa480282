"""Element-wise converters against onnxruntime."""

from __future__ import annotations

import numpy as np
import pytest
from onnx_rows import Row, ints, noise, reals
from onnx_text import at_graph_level

ANY = ["Abs", "Atan", "Ceil", "Cos", "Erf", "Exp", "Floor", "HardSwish", "Mish", "Neg", "Relu"]
ANY += ["Round", "Sigmoid", "Sign", "Sin", "Sinh", "Asinh", "Softplus", "Softsign", "Tan", "Tanh"]
POSITIVE = ["Log", "Reciprocal", "Sqrt"]
BOUNDED = ["Acos", "Asin", "Atanh"]  # |x| < 1
LARGE = ["Acosh", "Cosh"]  # x > 1

x, y = noise(2, 3), noise(3, seed=1)
bits, more = (np.array(v, np.int32) for v in ([[5, -6, 7]], [[1], [3]]))
truth, lie = np.array([[True, False]]), np.array([[True], [False]])


def unary(name: str, array: np.ndarray) -> Row:
    return Row(f"y = {name}(x)", {"x": array}, opset=18)


ROWS = [
    *(unary(name, 2 * x) for name in ANY),
    *(unary(name, np.abs(x) + 0.1) for name in POSITIVE),
    *(unary(name, np.tanh(x) * 0.9) for name in BOUNDED),
    *(unary(name, np.abs(x) + 1.1) for name in LARGE),
    *(Row(f"y = {op}(a, b)", {"a": x, "b": y}) for op in ("Add", "Sub", "Mul", "Div")),
    *(Row(f"y = {op}(a, b)", {"a": x, "b": y}, opset=7) for op in ("Add", "Sub", "Mul", "Div")),
    *(
        Row(f"y = {op}(a, b)", {"a": x.round(), "b": y.round()}, results="bool[] y")
        for op in ("Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual")
    ),
    *(
        Row(f"y = {op}(a, b)", {"a": truth, "b": lie}, results="bool[] y")
        for op in ("And", "Or", "Xor", "Equal")
    ),
    *(
        Row(f"y = Bitwise{op}(a, b)", {"a": bits, "b": more}, opset=18, results="int32[] y")
        for op in ("And", "Or", "Xor")
    ),
    Row("y = BitwiseNot(a)", {"a": bits}, opset=18, results="int32[] y"),
    Row("y = Not(a)", {"a": truth}, results="bool[] y"),
    Row("y = Pow(a, b)", {"a": np.abs(x), "b": y}),
    Row("y = Pow(a, b)", {"a": x, "b": ints(2)}, opset=13),
    Row("y = Pow(a, b)", {"a": ints(2, 3), "b": reals(2, 3)}, results="int64[] y"),
    *(Row(f"y = {op}(a, b, c)", {"a": x, "b": y, "c": x[:1]}) for op in ("Sum", "Max", "Min")),
    Row("y = Mean(a, b, c)", {"a": x, "b": y, "c": x[:1]}),
    Row("y = Max(a)", {"a": x}, opset=8),
    Row("y = Mean(a)", {"a": x}, opset=8),
    Row("y = Max(a, b)", {"a": ints(1, 5), "b": ints(3)}, opset=12, results="int64[] y"),
    Row("y = LeakyRelu(x)", {"x": x}),
    Row("y = LeakyRelu<alpha = 0.3>(x)", {"x": x}, opset=7),
    Row("y = Elu<alpha = 1.5>(x)", {"x": x}),
    Row("y = Celu<alpha = 2.0>(x)", {"x": x}),
    Row("y = Selu(x)", {"x": x}),
    Row("y = Selu<alpha = 2.0, gamma = 3.0>(x)", {"x": x}),
    Row("y = ThresholdedRelu<alpha = 0.5>(x)", {"x": x}),
    Row("y = HardSigmoid(x)", {"x": 3 * x}),
    Row("y = HardSigmoid<alpha = 0.5, beta = 0.1>(x)", {"x": 3 * x}),
    Row("y = Gelu(x)", {"x": x}, opset=20),
    Row('y = Gelu<approximate = "tanh">(x)', {"x": x}, opset=20),
    Row("y = Shrink<bias = 0.3, lambd = 0.6>(x)", {"x": x}),
    Row("y = PRelu(x, s)", {"x": x, "s": y}),
    Row("y = PRelu(x, s)", {"x": x, "s": reals(0.5)}, opset=7),
    Row("y = IsNaN(x)", {"x": reals(1, np.nan, np.inf)}, results="bool[] y"),
    *(
        Row(f"y = IsInf<{flag} = 0>(x)", {"x": reals(1, -np.inf, np.inf)}, results="bool[] y")
        for flag in ("detect_negative", "detect_positive")
    ),
    Row("y = Mod(a, b)", {"a": bits, "b": -more}, results="int32[] y"),
    Row("y = Mod<fmod = 1>(a, b)", {"a": x, "b": y}),
    *(
        Row(
            f'y = BitShift<direction = "{way}">(a, b)',
            {"a": np.array([200, 3], np.uint8), "b": np.array([1, 2], np.uint8)},
            opset=11,
            results="uint8[] y",
        )
        for way in ("LEFT", "RIGHT")
    ),
    Row("y = Where(c, a, b)", {"c": truth.T, "a": x, "b": y}),
    Row("y = Clip<min = -0.5, max = 0.5>(x)", {"x": x}, opset=7),
    Row("y = Clip<max = 0.5>(x)", {"x": x}, opset=10),
    Row("y = Clip(x)", {"x": x}, opset=7),
    Row(
        "y = Clip(x, lo, hi)",
        {"x": x, "lo": np.array(-0.5, np.float32), "hi": np.array(0.5, np.float32)},
    ),
    Row("y = Clip(x, lo)", {"x": x}, {"lo": np.float32(0)}, opset=11),
    Row("y = Clip(x, , hi)", {"x": ints(1, 9)}, {"hi": np.int64(5)}, results="int64[] y"),
    *(
        Row(f"y = Cast<to = {to}>(x)", {"x": 3 * x}, results=f"{kind}[] y")
        for to, kind in ((6, "int32"), (7, "int64"), (10, "float16"), (11, "double"), (9, "bool"))
    ),
    Row("y = CastLike(x, k)", {"x": 3 * x, "k": ints(1)}, results="int64[] y"),
    Row("y = Identity(x)", {"x": x}, opset=7),
]


def test_operands_were_placed_by_attributes_before_opset_7() -> None:
    inputs = {"a": noise(2, 3, 4), "b": noise(3, seed=1), "s": noise(3, seed=2)}
    nodes = "y = Add<broadcast = 1, axis = 1>(a, b) z = PRelu(y, s)"
    results = "float[] y, float[] z"
    got = at_graph_level(Row(nodes, inputs, opset=6, results=results).model(), inputs)
    y = inputs["a"] + inputs["b"][:, None]
    np.testing.assert_array_equal(got[0], y)
    np.testing.assert_array_equal(got[1], np.where(y < 0, y * inputs["s"][:, None], y))


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_agrees_with_onnxruntime(row: Row) -> None:
    row.check()


def test_swish_scales_its_sigmoid() -> None:
    model = Row("y = Swish<alpha = 2.0>(x)", {"x": x}, opset=24).model()
    (got,) = at_graph_level(model, {"x": x})
    np.testing.assert_allclose(got, x / (1 + np.exp(-2 * x)), rtol=1e-6)


def test_bits_keep_their_place_when_a_type_is_read_as_another() -> None:
    inputs, known = {"a": np.array([-1, 5], np.int32)}, {"k": reals(1.0)}
    nodes = "y = BitCast<to = 12>(a) z = BitCast<to = 6>(k)"
    row = Row(nodes, inputs, known, opset=26, results="uint32[] y, int32[] z")
    got = at_graph_level(row.model(), inputs)
    np.testing.assert_array_equal(got[0], np.array([2**32 - 1, 5], np.uint32))
    np.testing.assert_array_equal(got[1], np.array([0x3F800000], np.int32))


def test_right_shift_of_negative_integers_fills_with_the_sign() -> None:
    inputs = {"a": np.array([-8, 4, -1], np.int32), "b": np.array([1, 1, 40], np.int32)}
    row = Row('y = BitShift<direction = "RIGHT">(a, b)', inputs, opset=28, results="int32[] y")
    (got,) = at_graph_level(row.model(), inputs)
    np.testing.assert_array_equal(got, [-4, 2, -1])


def test_half_floats_of_many_operands_are_added_as_single_ones() -> None:
    inputs = {
        name: np.array([value], np.float16) for name, value in zip("abc", (2048, 1, 1), strict=True)
    }
    large = {"d": np.array([60000], np.float16)}
    nodes = "y = Sum(a, b, c) z = Mean(d, d)"
    row = Row(nodes, inputs | large, results="float16[] y, float16[] z")
    assert at_graph_level(row.model(), inputs | large) == [2050, 60000]
