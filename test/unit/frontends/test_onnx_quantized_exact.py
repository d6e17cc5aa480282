"""Quantised products in every form and type, bit by bit what onnxruntime or ONNX's evaluator says.

Ties come of scales that are powers of two. In QDQ form sums of floats round in an order that nobody
defines; what is compared is the fused form of onnxruntime, which rounds no sum, either.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray
from onnx import ModelProto
from onnx.reference import ReferenceEvaluator
from onnx_text import parse

from nn_opt.compiler import compile

Array = NDArray[Any]
random = np.random.default_rng(7)
SCALES = {"ties": (0.5, 0.25, 64.0), "odd": (0.0113, 0.00721, 1.317)}
PAIRS = [("uint8", "uint8"), ("uint8", "int8"), ("int8", "int8")]


def whole(dtype: str, *shape: int) -> Array:
    limits = np.iinfo(dtype)
    return np.asarray(random.integers(limits.min, limits.max + 1, shape)).astype(dtype)


def parameters(left: str, right: str, scales: tuple[float, ...]) -> dict[str, Array]:
    numbers = dict(zip(("s", "t", "u"), map(np.float32, scales), strict=True))
    zeros = {"a0": whole(left), "b0": whole(right), "y0": whole(left)}
    return {name: np.asarray(value) for name, value in {**numbers, **zeros}.items()}


def in_onnxruntime(model: ModelProto, inputs: Mapping[str, Array]) -> list[Array]:
    model.ir_version = 10
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    return list(session.run(None, dict(inputs)))


def assert_exact(text: str, inputs: dict[str, Array], known: dict[str, Array], *, theirs: bool):
    model = parse(text, 21, known)
    run = ReferenceEvaluator(model).run
    expected = in_onnxruntime(model, inputs) if theirs else run(None, inputs)
    found = compile(model, cache=False, threads=1).run(inputs)
    for (name, got), want in zip(found.items(), expected, strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want, name)


@pytest.mark.parametrize("scales", SCALES)
@pytest.mark.parametrize(("left", "right"), PAIRS)
def test_matmuls(left: str, right: str, scales: str):
    known = parameters(left, right, SCALES[scales]) | {"b": whole(right, 64, 33)}
    text = f"""g ({left}[37,64] a) => ({left}[] y, int32[] i) {{
      y = QLinearMatMul(a, s, a0, b, t, b0, u, y0)
      i = MatMulInteger(a, b, a0, b0)
    }}"""
    assert_exact(text, {"a": whole(left, 37, 64)}, known, theirs=True)


def test_signed_by_unsigned():
    """Which onnxruntime lacks."""
    known = parameters("int8", "uint8", SCALES["odd"]) | {"b": whole("uint8", 64, 33)}
    text = "g (int8[9,64] a) => (int8[] y) { y = QLinearMatMul(a, s, a0, b, t, b0, u, y0) }"
    assert_exact(text, {"a": whole("int8", 9, 64)}, known, theirs=False)


@pytest.mark.parametrize("scales", SCALES)
@pytest.mark.parametrize(("left", "right"), PAIRS)
def test_convolutions(left: str, right: str, scales: str):
    """By one scale of all filters, and by one of each."""
    known = parameters(left, right, SCALES[scales])
    known |= {"w": whole(right, 6, 4, 3, 3), "bias": random.integers(-999, 999, 6, np.int32)}
    known["ts"] = known["t"] * random.integers(1, 4, 6).astype(np.float32)
    known["b0s"] = np.broadcast_to(known["b0"], 6)
    text = f"""g ({left}[2,4,9,9] x) => ({left}[] y, {left}[] z) {{
      y = QLinearConv<pads = [1, 1, 1, 1]>(x, s, a0, w, t, b0, u, y0, bias)
      z = QLinearConv<strides = [2, 2]>(x, s, a0, w, ts, b0s, u, y0)
    }}"""
    assert_exact(text, {"x": whole(left, 2, 4, 9, 9)}, known, theirs=True)


@pytest.mark.parametrize("right", ["uint8", "int8"])
def test_convolved_integers(right: str):
    known = {"w": whole(right, 6, 4, 3, 3), "a0": whole("uint8"), "b0": whole(right)}
    text = """g (uint8[2,4,9,9] x) => (int32[] y) {
      y = ConvInteger<pads = [1, 1, 1, 1]>(x, w, a0, b0)
    }"""
    assert_exact(text, {"x": whole("uint8", 2, 4, 9, 9)}, known, theirs=True)


@pytest.mark.parametrize("scales", SCALES)
def test_between_quantise_and_dequantise(scales: str):
    known = parameters("uint8", "int8", SCALES[scales])
    known |= {"b": whole("int8", 64, 32), "b0": np.array(0, np.int8)}
    text = """g (uint8[99,64] a) => (uint8[] y) {
      d = DequantizeLinear(a, s, a0)
      e = DequantizeLinear(b, t, b0)
      p = MatMul(d, e)
      y = QuantizeLinear(p, u, y0)
    }"""
    assert_exact(text, {"a": whole("uint8", 99, 64)}, known, theirs=True)


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_short_scales(kind: str):
    """The factor is computed in their type, as ONNX's evaluator does."""
    import ml_dtypes

    dtype = np.dtype(getattr(ml_dtypes, kind, kind))
    known = parameters("uint8", "int8", SCALES["odd"]) | {"b": whole("int8", 64, 33)}
    known |= {name: known[name].astype(dtype) for name in "stu"}
    text = "g (uint8[9,64] a) => (uint8[] y) { y = QLinearMatMul(a, s, a0, b, t, b0, u, y0) }"
    assert_exact(text, {"a": whole("uint8", 9, 64)}, known, theirs=False)


def test_small_floats():
    """In float32: their products are numbers of it, their sums here, too."""
    import ml_dtypes

    f8 = np.dtype(ml_dtypes.float8_e4m3fn)
    a, b = (random.integers(-8, 9, shape) / 2 for shape in ((3, 16), (16, 5)))
    known = {"b": b.astype(f8), "z": np.asarray(0.0).astype(f8)}
    known |= {
        name: np.asarray(np.float32(value))
        for name, value in zip("stu", (0.5, 0.25, 2), strict=True)
    }
    text = "g (float8e4m3fn[3,16] a) => (float8e4m3fn[] y) { y = QLinearMatMul(a,s,z,b,t,z,u,z) }"
    model = parse(text, 21, known)
    y = compile(model, cache=False, threads=1)(a.astype(f8))
    np.testing.assert_array_equal(y, (a @ b * (0.5 * 0.25 / 2)).astype(np.float32).astype(f8))


def test_range_of_nothing():
    """A tensor of zeros has the scale 1, as in onnxruntime."""
    results = "uint8[2,3] y, float s, uint8 z"
    text = f"g (float[2,3] x) => ({results}) {{ y, s, z = DynamicQuantizeLinear(x) }}"
    assert_exact(text, {"x": np.zeros((2, 3), np.float32)}, {}, theirs=True)


def test_a_range_of_its_own_divides():
    """Near ties x / scale is not x * (1 / scale): the standard divides, in float32."""
    scale = np.float32(5.1) / np.float32(255)
    ties = ((np.arange(255) + 0.5) * scale).astype(np.float32)
    x = np.concatenate([[0, 5.1], ties, np.nextafter(ties, 0), np.nextafter(ties, 9)])
    x = x.astype(np.float32)
    wanted = np.rint(x / scale).astype(np.uint8)
    assert (wanted != np.rint(x * (1 / scale))).any(), "the comparison would be vacuous"
    size = len(x)
    text = f"g (float[{size}] x) => (uint8[{size}] y, float s, uint8 z) "
    model = parse(text + "{ y, s, z = DynamicQuantizeLinear(x) }", 17)
    y, s, z = compile(model, cache=False, threads=1)(x)
    assert (s, z) == (scale, 0)
    np.testing.assert_array_equal(y, wanted)
