"""recognize-int8: quantised models, compiled, against onnxruntime and ONNX's own evaluator.

Sums are exact here and in floats there; so are scales multiplied once here. A result may then be
one step off where it lies halfway between two: rarely, and never by more.
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
from onnx_text import in_onnxruntime, parse

from nn_opt.compiler import compile
from nn_opt.ir.remarks import collect_remarks
from nn_opt.ir.target import TARGETS, target_named

Array = NDArray[Any]
RARE = 0.01  # of the results
OPSET = 19  # the oldest whose quantised operators ONNX evaluates


class Qdq:
    """A model in QDQ form as it is written: nodes in text, and constants."""

    def __init__(self, seed: int = 0):
        self.random = np.random.default_rng(seed)
        self.nodes: list[str] = []
        self.known: dict[str, Array] = {}

    def constant(self, name: str, array: Array) -> str:
        self.known[name] = array
        return name

    def quantized(self, x: str, scale: float, zero: int, dtype: str) -> str:
        """Add quantise and dequantise; the bytes are called q_x."""
        name = f"d_{x}"
        self.constant(f"s_{x}", np.array(scale, np.float32))
        self.constant(f"z_{x}", np.array(zero, dtype))
        self.nodes.append(f"q_{x} = QuantizeLinear(s{x}, s_{x}, z_{x})".replace(f"s{x},", f"{x},"))
        self.nodes.append(f"{name} = DequantizeLinear(q_{x}, s_{x}, z_{x})")
        return name

    def weights(self, name: str, shape: tuple[int, ...], dtype: str, axis: int | None) -> str:
        """Add dequantised weights, by channels along an axis or as a whole."""
        limits = np.iinfo(dtype)
        channels = () if axis is None else (shape[axis],)
        zero = limits.max // 2 + 1 if limits.min == 0 else 0
        low, high = max(limits.min, zero - 127), limits.max
        values = self.random.integers(low, high + 1, shape).astype(dtype)
        self.constant(name, values)
        scale = self.random.uniform(0.5, 1.5, channels) / (74 * np.prod(shape[1:]) ** 0.5)
        self.constant(f"{name}_s", np.asarray(scale, np.float32))
        self.constant(f"{name}_z", np.full(channels, zero, dtype))
        by = "" if axis is None else f"<axis = {axis}>"
        self.nodes.append(f"d_{name} = DequantizeLinear{by}({name}, {name}_s, {name}_z)")
        return f"d_{name}"

    def bias(self, name: str, x: str, w: str, channels: int) -> str:
        """Add a dequantised bias in units of the sum of x and w."""
        scale = np.broadcast_to(self.known[f"s_{x}"] * self.known[f"{w}_s"], (channels,))
        self.constant(name, self.random.integers(-9000, 9000, channels).astype(np.int32))
        self.constant(f"{name}_s", scale.astype(np.float32))
        self.nodes.append(f"d_{name} = DequantizeLinear<axis = 0>({name}, {name}_s)")
        return f"d_{name}"

    def model(self, inputs: Mapping[str, Array], results: str) -> ModelProto:
        kinds = {"float32": "float", "int64": "int64"}
        declared = ", ".join(
            f"{kinds.get(a.dtype.name, a.dtype.name)}[{','.join(map(str, a.shape))}] {name}"
            for name, a in inputs.items()
        )
        body = "\n".join(self.nodes)
        return parse(f"g ({declared}) => ({results}) {{ {body} }}", OPSET, self.known)


def optimized(model: ModelProto, inputs: Mapping[str, Array]) -> list[Array]:
    """Return what onnxruntime computes with its own integer kernels."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    return session.run(None, dict(inputs))


def check(
    model: ModelProto, inputs: Mapping[str, Array], count: int, rare: float = RARE
) -> list[Array]:
    """Assert that so many contractions are of integers, and that no result is two steps off."""
    with collect_remarks() as remarks:
        compiled = compile(model, cache=False)
    done = {r.location for r in remarks if "multiplies integers" in r.text}
    assert len(done) == count
    results = list(compiled.run(dict(inputs)).values())
    judges = [in_onnxruntime(model, inputs), optimized(model, inputs)]
    judges.append(ReferenceEvaluator(model).run(None, dict(inputs)))  # pyright: ignore[reportUnknownMemberType]
    for judge in judges:
        for got, wanted in zip(results, judge, strict=True):
            assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype)
            steps = np.abs(got.astype(np.int64) - np.asarray(wanted).astype(np.int64))
            assert steps.max() <= 1
            assert (steps > 0).mean() <= rare
    return results


def image(*shape: int, seed: int = 9) -> Array:
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


CONVS = [  # channels, filters, kernel, group, attributes
    (3, 16, 3, 1, "strides = [2, 2], pads = [1, 1, 1, 1]"),
    (16, 32, 1, 1, ""),
    (20, 24, 3, 1, "pads = [1, 1, 1, 1]"),
    (32, 32, 3, 32, "pads = [1, 1, 1, 1], group = 32"),
    (32, 32, 3, 32, "strides = [2, 2], pads = [1, 1, 1, 1], group = 32"),
    (8, 16, 3, 2, "pads = [2, 2, 2, 2], dilations = [2, 2], group = 2"),
    (32, 64, 3, 2, "pads = [1, 1, 1, 1], group = 2"),
    (7, 5, 3, 1, "pads = [1, 0, 1, 2]"),
]
KINDS = [("uint8", 117, "int8", True), ("int8", -9, "int8", True), ("uint8", 3, "uint8", False)]


@pytest.mark.parametrize(("channels", "filters", "kernel", "group", "attributes"), CONVS)
@pytest.mark.parametrize(("dtype", "zero", "weights", "by_channels"), KINDS)
def test_convolutions(
    channels: int,
    filters: int,
    kernel: int,
    group: int,
    attributes: str,
    dtype: str,
    zero: int,
    weights: str,
    by_channels: bool,
):
    m = Qdq()
    x = m.quantized("x", 0.03, zero, dtype)
    shape = (filters, channels // group, kernel, kernel)
    w = m.weights("w", shape, weights, 0 if by_channels else None)
    b = m.bias("b", "x", "w", filters)
    m.nodes.append(f"y = Conv<{attributes}>({x}, {w}, {b})".replace("<>", ""))
    m.nodes.append("r = Relu(y)")
    m.quantized("r", 0.02, np.iinfo(dtype).min, dtype)
    inputs = {"x": image(1, channels, 11, 13)}
    (result,) = check(m.model(inputs, f"{dtype}[] q_r"), inputs, 1)
    assert len(np.unique(result)) > 50


@pytest.mark.parametrize("target", [name for name in TARGETS if name.startswith("x86")])
def test_every_machine_sums_exactly(target: str):
    """Also those without an instruction for it; the largest products overflow 16 bits."""
    if not target_named("host").triple.startswith("x86"):
        pytest.skip("needs an x86")
    rng = np.random.default_rng(1)
    a = rng.choice(np.array([0, 1, 254, 255], np.uint8), (9, 200))
    b = rng.choice(np.array([-128, -127, 126, 127], np.int8), (200, 48))
    model = parse("g (uint8[9,200] a) => (int32[] y) { y = MatMulInteger(a, b) }", OPSET, {"b": b})
    compiled = compile(model, target=target, cache=False)
    np.testing.assert_array_equal(compiled(a), a.astype(np.int32) @ b.astype(np.int32))


@pytest.mark.parametrize(("rows", "inner", "columns"), [(1, 64, 128), (5, 63, 10), (33, 96, 80)])
@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_matmuls(rows: int, inner: int, columns: int, dtype: str):
    m = Qdq()
    x = m.quantized("x", 0.03, 12, dtype)
    w = m.weights("w", (inner, columns), "int8", 1)
    c = m.constant("c", image(columns, seed=2))
    m.nodes.append(f"p = MatMul({x}, {w})")
    m.nodes.append(f"y = Add(p, {c})")
    m.quantized("y", 0.05, 3, dtype)
    inputs = {"x": image(2, rows, inner)}
    check(m.model(inputs, f"{dtype}[] q_y"), inputs, 1)


def test_gemm_by_transposed_weights():
    m = Qdq()
    x = m.quantized("x", 0.03, 128, "uint8")
    w = m.weights("w", (40, 24), "int8", 0)
    b = m.bias("b", "x", "w", 40)
    m.nodes.append(f"y = Gemm<transB = 1>({x}, {w}, {b})")
    m.quantized("y", 0.05, 3, "uint8")
    inputs = {"x": image(6, 24)}
    check(m.model(inputs, "uint8[] q_y"), inputs, 1)


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_a_residual_block_stays_in_bytes(dtype: str):
    """Between kernels there are bytes alone: f32 is read from the model and nowhere stored."""
    least = np.iinfo(dtype).min
    m = Qdq()
    x = m.quantized("x", 0.03, least + 130, dtype)
    m.nodes.append(
        f"e = Conv<pads = [1, 1, 1, 1]>({x}, {m.weights('w', (16, 3, 3, 3), 'int8', 0)})"
    )
    m.nodes.append("f = Relu(e)")
    f = m.quantized("f", 0.02, least, dtype)
    m.nodes.append(f"p = MaxPool<kernel_shape = [3, 3], strides = [2, 2], pads = [1,1,1,1]>({f})")
    p = m.quantized("p", 0.02, least, dtype)
    m.nodes.append(
        f"g = Conv<pads = [1, 1, 1, 1]>({p}, {m.weights('v', (32, 16, 3, 3), 'int8', 0)})"
    )
    g = m.quantized("g", 0.03, least + 120, dtype)
    m.nodes.append(f"h = Conv({p}, {m.weights('u', (32, 16, 1, 1), 'int8', 0)})")
    h = m.quantized("h", 0.04, least + 110, dtype)
    m.nodes.append(f"s = Add({g}, {h})")
    m.nodes.append("r = Relu(s)")
    r = m.quantized("r", 0.025, least, dtype)
    m.nodes.append(f"a = GlobalAveragePool({r})")
    m.quantized("a", 0.01, least, dtype)
    inputs = {"x": image(1, 3, 20, 20)}
    model = m.model(inputs, f"{dtype}[] q_a")
    check(model, inputs, 3, rare=0.1)  # each mean is of 100 results that may be off
    kernels = compile(model, cache=False).ir("kernels")
    calls = [line for line in kernels.splitlines() if "func.call" in line]
    assert len(calls) >= 5
    assert all("f32" not in line.rpartition("->")[2] for line in calls)


def test_joined_bytes():
    m = Qdq()
    x = m.quantized("x", 0.03, 128, "uint8")
    m.nodes.append(f"y = Concat<axis = 1>({x}, {x})")
    y = m.quantized("y", 0.03, 128, "uint8")
    m.nodes.append(f"t = Transpose<perm = [0, 2, 1]>({y})")
    t = m.quantized("t", 0.03, 128, "uint8")
    m.nodes.append(f"p = MatMul({t}, {m.weights('w', (16, 32), 'int8', 1)})")
    m.quantized("p", 0.05, 9, "uint8")
    inputs = {"x": image(2, 8, 6)}
    check(m.model(inputs, "uint8[] q_p"), inputs, 1)


def test_signals_and_padding_of_its_own():
    """A convolution of one axis; zeros around its signal are the zero point among the integers."""
    m = Qdq()
    x = m.quantized("x", 0.03, 77, "uint8")
    m.constant("pads", np.array([0, 0, 2, 0, 0, 1], np.int64))
    m.nodes.append(f"p = Pad({x}, pads)")
    p = m.quantized("p", 0.03, 77, "uint8")
    m.nodes.append(f"y = Conv<strides = [2]>({p}, {m.weights('w', (24, 16, 5), 'int8', 0)})")
    m.quantized("y", 0.05, 120, "uint8")
    inputs = {"x": image(2, 16, 40)}
    check(m.model(inputs, "uint8[] q_y"), inputs, 1)


@pytest.mark.parametrize(
    ("dtype", "zeros"), [("uint8", (117, 131)), ("uint8", (0, 128)), ("int8", (5, -3))]
)
@pytest.mark.parametrize("perm", [None, [0, 2, 3, 1], [0, 2, 1, 3]])
def test_products_of_activations(dtype: str, zeros: tuple[int, int], perm: list[int] | None):
    """As in attention: the right side, which may be transposed, is packed at run time."""
    m = Qdq()
    a, b = (m.quantized(x, 0.03, zero, dtype) for x, zero in zip("ab", zeros, strict=True))
    shape = (2, 3, 32, 48)
    if perm is not None:
        m.nodes.append(f"t = Transpose<perm = {perm}>({b})")
        shape = tuple(shape[perm.index(axis)] for axis in range(4))
        b = m.quantized("t", 0.03, zeros[1], dtype)
    m.nodes.append(f"y = MatMul({a}, {b})")
    m.quantized("y", 0.2, zeros[0], dtype)
    inputs = {"a": image(2, 3, 40, 32), "b": image(*shape, seed=8)}
    (result,) = check(m.model(inputs, f"{dtype}[] q_y"), inputs, 1)
    assert len(np.unique(result)) > 50


def test_dynamic_ranges():
    """The zero point is known at run time only."""
    rng = np.random.default_rng(3)
    known = {
        "w": rng.integers(-128, 128, (64, 32)).astype(np.int8),
        "zw": np.int8(3),
        "s": np.float32(0.01),
    }
    text = """g (float[4,64] x) => (int32[] p, float[] y) {
      q, sx, zx = DynamicQuantizeLinear(x)
      p = MatMulInteger(q, w, zx, zw)
      f = Cast<to = 1>(p)
      k = Mul(sx, s)
      y = Mul(f, k)
    }"""
    model, inputs = parse(text, OPSET, known), {"x": image(4, 64)}
    compiled = compile(model, cache=False)
    p, y = compiled.run(inputs).values()
    wanted = in_onnxruntime(model, inputs)
    np.testing.assert_array_equal(p, wanted[0])
    np.testing.assert_allclose(y, wanted[1], rtol=1e-6)
    assert "wide" in compiled.ir("kernels")


def test_weights_far_from_their_zero_point_are_two_sums():
    rng = np.random.default_rng(4)
    known = {"w": rng.integers(0, 256, (32, 16)).astype(np.uint8), "z": np.uint8(0)}
    model = parse(
        "g (uint8[3,32] a) => (int32[] y) { y = MatMulInteger(a, w, z, z) }", OPSET, known
    )
    a = rng.integers(0, 256, (3, 32)).astype(np.uint8)
    compiled = compile(model, cache=False)
    np.testing.assert_array_equal(compiled(a), a.astype(np.int32) @ known["w"].astype(np.int32))
    assert compiled.ir("kernels").count("wide") == 2


def test_integer_convolutions():
    rng = np.random.default_rng(5)
    w = rng.integers(-128, 128, (16, 4, 3, 3)).astype(np.int8)
    text = "y = ConvInteger<pads = [1, 1, 1, 1]>(x, w, z)"
    model = parse(
        f"g (uint8[1,4,8,8] x) => (int32[] y) {{ {text} }}", OPSET, {"w": w, "z": np.uint8(7)}
    )
    inputs = {"x": rng.integers(0, 256, (1, 4, 8, 8)).astype(np.uint8)}
    check(model, inputs, 1)


def test_quantised_operators():
    rng = np.random.default_rng(6)
    known: dict[str, Array] = {
        "sx": np.array(0.02, np.float32),
        "zx": np.array(100, np.uint8),
        "w": rng.integers(-128, 128, (16, 4, 3, 3)).astype(np.int8),
        "sw": rng.uniform(0.01, 0.02, 16).astype(np.float32),
        "zw": np.zeros(16, np.int8),
        "sy": np.array(0.2, np.float32),
        "zy": np.array(90, np.uint8),
        "b": rng.integers(-500, 500, 16).astype(np.int32),
    }
    text = "y = QLinearConv<pads = [1, 1, 1, 1]>(x, sx, zx, w, sw, zw, sy, zy, b)"
    model = parse(f"g (uint8[1,4,9,9] x) => (uint8[] y) {{ {text} }}", OPSET, known)
    check(model, {"x": rng.integers(0, 256, (1, 4, 9, 9)).astype(np.uint8)}, 1)
