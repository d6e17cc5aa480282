"""Operators of com.microsoft, against onnxruntime, and what is said of wrong ones."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from onnx_rows import Row, ints, noise, reals
from onnx_text import Array, at_graph_level, in_onnxruntime, parse

MICROSOFT = {"com.microsoft": 1}
NONE: dict[str, Array] = {}
random = np.random.default_rng(0)
x, rows, bias = noise(2, 3, 8), noise(4, 8), noise(8, seed=1)
hidden, weights, wide_bias = noise(2, 4, 6), noise(6, 24, seed=1), noise(24, seed=2)
query, key, value = (noise(2, n, 8, seed=i) for i, n in enumerate((3, 5, 5)))
bytes_ = random.integers(0, 256, (2, 3, 4)).astype(np.uint8)
more_bytes = random.integers(0, 256, (2, 3, 4)).astype(np.uint8)
image = random.integers(0, 256, (1, 2, 5, 5)).astype(np.uint8)
left, right = image[0, 0, :2], random.integers(-128, 128, (5, 3)).astype(np.int8)


def row(
    nodes: str,
    inputs: dict[str, Array],
    known: dict[str, Array] = NONE,
    results: str = "float[] y",
    opset: int = 17,
) -> Row:
    """Return a row of nodes whose operators are all of com.microsoft."""
    return Row(nodes.replace("= ", "= com.microsoft.", 1), inputs, known, opset, results, MICROSOFT)


def scale(number: float) -> Array:
    return np.asarray(number, np.float32)


def u8(*numbers: int) -> Array:
    return np.asarray(numbers if len(numbers) > 1 else numbers[0], np.uint8)


def i32(*numbers: int) -> Array:
    return np.asarray(numbers, np.int32)


HEADS = "num_heads = 2"
ATTENTION = {"x": hidden}
PARAMETERS = {"w": weights, "b": wide_bias}
MHA = {"q": query, "k": key, "v": value}
ROWS = [
    row("y = Gelu(x)", {"x": x}),
    row("y = BiasGelu(x, b)", {"x": x, "b": bias}),
    row("y = FastGelu(x, b)", {"x": x, "b": bias}),
    row("y = QuickGelu<alpha = 1.5>(x)", {"x": x}),
    row("y = GridSample(x, g)", {"x": noise(1, 2, 4, 4), "g": 0.5 * noise(1, 3, 3, 2, seed=1)}),
    row(
        "y, s = LinearAttention<q_num_heads = 2, kv_num_heads = 2>(q, k, v, , d, b)",
        {
            **{"q": query, "k": query / 4, "v": query + 1},
            **{"d": -np.abs(noise(2, 3, 2)), "b": np.abs(noise(2, 3, 2)) / 2},
        },
        NONE,
        "float[] y, float[] s",
    ),
    row(
        'y, s = CausalConvWithState<activation = "silu">(x, w, b, p)',
        {"x": noise(2, 3, 4), "p": noise(2, 3, 2, seed=3)},
        {"w": noise(3, 1, 3), "b": noise(3)},
        "float[] y, float[] s",
    ),
    row("y = ExpandDims(x, a)", {"x": rows}, {"a": np.asarray(-1, np.int32)}),
    row("y = Trilu<upper = 0>(x, k)", {"x": rows}, {"k": np.asarray(1)}),
    row("y = GatherND(x, i)", {"x": rows, "i": np.int64([[1, 2], [0, 7]])}),
    row("y = Pad(x, p, z)", {"x": rows}, {"p": ints(0, 1, 1, 0), "z": scale(3)}),
    row('y = CDist<metric = "euclidean">(x, z)', {"x": rows, "z": noise(3, 8, seed=3)}),
    row("y = Inverse(x)", {"x": noise(2, 3, 3)}),
    row("y = FusedMatMul<transA = 1, alpha = 0.5>(x, z)", {"x": rows, "z": rows}),
    row(
        "y = FusedMatMul<transBatchA = 1, transBatchB = 1, transB = 1>(x, z)",
        {"x": noise(2, 3, 4), "z": noise(5, 3, 4)},
    ),
    row("y = TransposeMatMul<transB = 1>(x, z)", {"x": rows, "z": rows}),
    row(
        'y = FusedGemm<transB = 1, beta = 0.5, activation = "LeakyRelu", activation_alpha = 0.3>'
        "(x, z, b)",
        {"x": rows, "z": rows, "b": noise(4)},
    ),
    row(
        'y = FusedConv<pads = [1, 1, 1, 1], activation = "Clip", activation_params = [-0.5, 0.5]>'
        "(x, w, b, z)",
        {"x": noise(1, 2, 4, 4), "z": noise(1, 3, 4, 4, seed=5)},
        {"w": noise(3, 2, 3, 3), "b": noise(3)},
    ),
    row(
        "y = ConvTransposeWithDynamicPads<strides = [2, 2]>(x, w, p)",
        {"x": noise(1, 2, 3, 3)},
        {"w": noise(2, 3, 3, 3), "p": ints(1, 0, 0, 1)},
    ),
    row(
        "y, , , s = SkipLayerNormalization<epsilon = 0.01>(x, k, g, b, c)",
        {"x": x, "k": noise(1, 3, 8, seed=4)},
        {"g": bias, "b": bias + 1, "c": bias - 1},
        "float[] y, float[] s",
    ),
    row(
        "y, , , s = SkipSimplifiedLayerNormalization(x, k, g)",
        {"x": 1e-3 * x, "k": 1e-3 * noise(2, 3, 8, seed=4)},
        {"g": bias},
        "float[] y, float[] s",
    ),
    row(
        "y, m, s = EmbedLayerNormalization(i, t, w, p, e, g, b, a)",
        {"i": np.int32([[1, 3, 0], [2, 2, 1]]), "t": np.int32([[0, 1, 1], [0, 0, 0]])},
        {
            **{"w": noise(4, 8), "p": noise(5, 8, seed=1), "e": noise(2, 8, seed=2)},
            **{"g": bias, "b": bias, "a": np.int32([[1, 1, 0], [1, 1, 1]])},
        },
        "float[] y, int32[] m, float[] s",
    ),
    row(f"y = Attention<{HEADS}>(x, w, b)", ATTENTION, PARAMETERS),
    *(
        row(
            f"y = Attention<{HEADS}, unidirectional = 1>(x, w, b, m)",
            {**ATTENTION, "m": mask},
            PARAMETERS,
        )
        for mask in (
            np.int32([[1, 1, 0, 1], [0, 1, 1, 0]]),
            random.integers(0, 2, (2, 4, 4)).astype(np.int32),
            i32(3, 4),
            i32(3, 4, 1, 0),
        )
    ),
    row(
        f"y, z = Attention<{HEADS}, scale = 0.3>(x, w, b, m, p)",
        {
            **{**ATTENTION, "m": np.int32([[1, 1, 0, 1, 1, 1], [0, 1, 1, 1, 1, 1]])},
            "p": noise(2, 2, 2, 2, 4),
        },
        PARAMETERS,
        "float[] y, float[] z",
    ),
    row(
        "y = Attention<num_heads = 2, qkv_hidden_sizes = [8, 8, 4]>(x, w, b)",
        ATTENTION,
        {"w": weights[:, :20].copy(), "b": wide_bias[:20]},
    ),
    row(f"y = MultiHeadAttention<{HEADS}>(q, k, v)", MHA),
    row(
        f"y = MultiHeadAttention<{HEADS}, mask_filter_value = -50.0>(q, k, v, b, m, a)",
        {**MHA, "m": np.int32([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]]), "a": noise(2, 2, 3, 5)},
        {"b": wide_bias},
    ),
    row(
        f"y, z, w = MultiHeadAttention<{HEADS}, unidirectional = 1>(q, k, v, , , , pk, pv)",
        {
            **{"q": query, "k": query + 1, "v": query - 1},
            **{"pk": noise(2, 2, 2, 4), "pv": noise(2, 2, 2, 4, seed=1)},
        },
        NONE,
        "float[] y, float[] z, float[] w",
    ),
    row(
        f"y = MultiHeadAttention<{HEADS}>(q, k, v)",
        {"q": query, "k": noise(2, 2, 5, 4), "v": noise(2, 2, 5, 4, seed=1)},
    ),
    row(
        "y = RotaryEmbedding<interleaved = 1>(x, p, c, s)",
        {"x": x, "p": ints(2)},
        {"c": noise(6, 2), "s": noise(6, 2, seed=1)},
    ),
    row(
        "y = RotaryEmbedding<num_heads = 2, rotary_embedding_dim = 2>(x, p, c, s)",
        {"x": x, "p": np.int64([[4, 0, 1], [1, 2, 5]])},
        {"c": noise(6, 1), "s": noise(6, 1, seed=1)},
    ),
    *(
        row(
            "y = DynamicQuantizeMatMul(x, b, s, z, c)",
            {"x": noise(3, 5)},
            {"b": right, "s": s, "z": z, "c": noise(3)},
        )
        for s, z in (
            (scale(0.02), np.asarray(3, np.int8)),
            (reals(0.02, 0.03, 0.04), np.int8([1, -2, 0])),
        )
    ),
    row(
        "y = MatMulIntegerToFloat(a, b, s, t, z, w, c)",
        {"a": left, "b": right},
        {
            **{"s": scale(0.1), "t": reals(0.02, 0.03, 0.04), "z": u8(7)},
            **{"w": np.int8([1, -2, 0]), "c": noise(3)},
        },
    ),
    row("y = MatMulInteger16(a, b)", {"a": np.int16([[300, -5]]), "b": np.int16([[700], [9]])},
        NONE, "int32[] y"),
    row(
        f"y = QAttention<{HEADS}>(x, w, b, s, t, m, z, zw)",
        {"x": bytes_, "m": i32(2, 3)},
        {
            **{"w": random.integers(-128, 128, (4, 24)).astype(np.int8), "b": wide_bias},
            **{"s": scale(0.02), "t": scale(0.01), "z": u8(120), "zw": np.asarray(0, np.int8)},
        },
    ),
    row(
        "y = QGemm<transA = 1, alpha = 0.5>(a, s, z, b, t, w, c)",
        {"a": left.T.copy(), "b": right},
        {
            **{"s": scale(0.1), "z": u8(7), "t": scale(0.02), "w": np.asarray(-3, np.int8)},
            "c": i32(10, -20, 300),
        },
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", ROWS, ids=str)
def test_agrees_with_onnxruntime(case: Row) -> None:
    case.check(rtol=2e-5, atol=5e-6)


QLINEAR = {"s": scale(0.0517), "z": u8(100), "t": scale(0.0231), "o": scale(0.0629), "p": u8(128)}
TABLE = {"s": scale(0.0517), "z": u8(100), "o": scale(0.0313), "p": u8(11)}
ROUNDED = [
    row("y = QLinearAdd(a, s, z, b, t, z, o, p)", {"a": bytes_, "b": more_bytes[:1]}, QLINEAR),
    row("y = QLinearMul(a, s, z, b, t, z, o, p)", {"a": bytes_, "b": more_bytes}, QLINEAR),
    row("y = QLinearSigmoid(a, s, z, o, p)", {"a": bytes_}, {**TABLE, "o": scale(1 / 256)}),
    row("y = QLinearLeakyRelu<alpha = 0.2>(a, s, z, o, p)", {"a": bytes_}, TABLE),
    row("y = QLinearSoftmax<opset = 13>(a, s, z, o, p)", {"a": bytes_},
        {**TABLE, "o": scale(1 / 256), "p": u8(0)}),
    row("y = QLinearSoftmax<opset = 12, axis = 1>(a, s, z, o, p)", {"a": bytes_},
        {**TABLE, "o": scale(1 / 256), "p": u8(0)}),
    row("y = QLinearAveragePool<kernel_shape = [2, 2], pads = [1, 1, 0, 0], ceil_mode = 1>"
        "(a, s, z, o, p)", {"a": image}, TABLE),
    row("y = QLinearAveragePool<kernel_shape = [2, 2], channels_last = 1>(a, s, z, o, p)",
        {"a": image.transpose(0, 2, 3, 1).copy()}, TABLE),
    row("y = QLinearGlobalAveragePool(a, s, z, o, p)", {"a": image}, TABLE),
    row("y = QLinearConcat<axis = 1>(o, p, a, s, z, b, t, z)", {"a": bytes_, "b": more_bytes},
        {**QLINEAR, "o": scale(0.0473)}),
    row("y = QLinearWhere(c, a, s, z, b, t, z, o, p)",
        {"c": bytes_ > 99, "a": bytes_, "b": more_bytes}, QLINEAR),
    row("y = QGemm(a, s, z, b, t, w, c, o, p)", {"a": left, "b": right},
        {**QLINEAR, "w": np.int8([1, 2, 3]), "t": reals(0.01, 0.02, 0.04), "c": i32(1, 2, 3),
         "o": scale(1)}),
    row("y = QuantizeLinear<axis = 1>(x, s, z)", {"x": 100 * noise(2, 3)},
        {"s": reals(0.1, 0.2, 0.3), "z": np.uint16([5, 6, 7])}),
]  # fmt: skip


@pytest.mark.parametrize("case", ROUNDED, ids=str)
def test_is_rounded_as_onnxruntime_does(case: Row) -> None:
    """No real number here lies halfway between two, where the order of operations would tell."""
    name = "uint16" if "QuantizeLinear" in case.nodes else "uint8"
    case = Row(case.nodes, case.inputs, case.known, 17, f"{name}[] y", MICROSOFT)
    (want,) = in_onnxruntime(case.model(), case.inputs)
    (got,) = at_graph_level(case.model(), case.inputs)
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    np.testing.assert_array_equal(got, want)


def test_dequantize_of_sixteen_bits() -> None:
    row(
        "y = DequantizeLinear(a, s, z)",
        {"a": np.int16([-300, 5])},
        {"s": scale(0.5), "z": np.asarray(7, np.int16)},
    ).check()


def test_layer_norms_that_onnxruntime_adds_to_old_operator_sets() -> None:
    text = """g (float[2,8] x) => (float[] y, float[] z) {
      y = LayerNormalization(x, g, b) z = SimplifiedLayerNormalization(x, g) }"""
    model = parse(text, 13, {"g": bias, "b": bias + 1})
    got, want = (run(model, {"x": rows[:2]}) for run in (at_graph_level, in_onnxruntime))
    for mine, theirs in zip(got, want, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-6)


def test_an_operator_that_onnxruntime_adds_is_known_without_any_of_its_domain() -> None:
    text = "g (float[2,3] x, float[3] s) => (float[] y) { y = SimplifiedLayerNormalization(x, s) }"
    whole = f'<ir_version: 8, opset_import: ["": 17]> {text}'
    program = f"""import nn_opt, onnx.parser
print(nn_opt.import_model(onnx.parser.parse_model({whole!r})))"""
    made = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert "graph.rsqrt" in made.stdout or "graph.sqrt" in made.stdout


def test_no_kernel_of_onnxruntime_on_processors() -> None:
    """BiasAdd, BiasSplitGelu, NhwcConv and the like are for other devices there."""
    text = """g (float[2,3,8] x, float[1,4,4,2] i) => (float[] y, float[] z, float[] c, float[] p) {
      y = com.microsoft.BiasAdd(x, b, x) z = com.microsoft.BiasSplitGelu(x, b)
      c = com.microsoft.NhwcFusedConv<activation = "Relu", pads = [1, 1, 1, 1]>(i, w)
      p = com.microsoft.NhwcMaxPool<kernel_shape = [2, 2], strides = [2, 2]>(i) }"""
    filters, pixels = noise(3, 2, 3, 3), noise(1, 4, 4, 2)
    model = parse(text, 17, {"b": bias, "w": filters}, MICROSOFT)
    y, z, c, p = at_graph_level(model, {"x": x, "i": pixels})
    plain = """g (float[2,3,4] a, float[1,2,4,4] i) => (float[] g, float[] c, float[] p) {
      g = Gelu(a) d = Conv<pads = [1, 1, 1, 1]>(i, w) c = Relu(d)
      p = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(i) }"""
    given = {"a": (x + bias)[..., 4:].copy(), "i": pixels.transpose(0, 3, 1, 2).copy()}
    gate, conv, pooled = in_onnxruntime(parse(plain, 20, {"w": filters}), given)
    np.testing.assert_allclose(y, x + bias + x, rtol=1e-6)
    np.testing.assert_allclose(z, (x + bias)[..., :4] * gate, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(c, conv.transpose(0, 2, 3, 1), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(p, pooled.transpose(0, 2, 3, 1))


def test_packed_heads_are_those_side_by_side() -> None:
    """[batch, length, heads, 3 or 2, size], which onnxruntime has no kernel for on processors."""
    text = f"""g (float[2,3,2,3,4] a, float[2,5,2,2,4] b, float[2,3,8] q)
        => (float[] y, float[] z) {{
      y = com.microsoft.MultiHeadAttention<{HEADS}>(a)
      z = com.microsoft.MultiHeadAttention<{HEADS}>(q, b) }}"""
    a, b = noise(2, 3, 2, 3, 4), noise(2, 5, 2, 2, 4)
    y, z = at_graph_level(parse(text, 17, NONE, MICROSOFT), {"a": a, "b": b, "q": query})
    for got, first, packed in ((y, a[:, :, :, 0], a[:, :, :, 1:]), (z, query, b)):
        k, v = (packed[:, :, :, i].reshape(2, -1, 8) for i in (0, 1))
        given = {"q": first.reshape(2, 3, 8), "k": k, "v": v}
        case = row(f"y = MultiHeadAttention<{HEADS}>(q, k, v)", given)
        (want,) = in_onnxruntime(case.model(), case.inputs)
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def test_operators_of_other_devices_are_those_they_are_made_of() -> None:
    text = """g (float[4,8] x, int64[2] i)
        => (float[] a, float[] b, float[] c, float[] d, float[] s) {
      a = com.microsoft.GemmFastGelu(x, w, v) b = com.microsoft.TorchEmbedding(x, i)
      c = com.microsoft.FusedMatMulActivation<activation = "Relu", transB = 1>(x, x)
      d = com.microsoft.NhwcConv(o, f)
      s = com.microsoft.SwiGLU<activation_alpha = 1.7, activation_beta = 1.0, limit = 0.5>(x) }"""
    filters, ones = noise(3, 2, 1, 1), np.ones((1, 1, 1, 2), np.float32)
    known = {"w": noise(8, 3), "v": noise(3), "f": filters, "o": ones}
    given = {"x": rows, "i": ints(3, 0)}
    a, b, c, d, s = at_graph_level(parse(text, 17, known, MICROSOFT), given)
    gate, up = np.minimum(rows[:, :4], 0.5), np.clip(rows[:, 4:], -0.5, 0.5)
    np.testing.assert_allclose(s, gate / (1 + np.exp(-1.7 * gate)) * (up + 1), rtol=1e-5)
    fast = row("y = FastGelu(x, b)", {"x": rows @ known["w"]}, {"b": known["v"]})
    np.testing.assert_allclose(
        a, in_onnxruntime(fast.model(), fast.inputs)[0], rtol=1e-4, atol=1e-5
    )
    np.testing.assert_array_equal(b, rows[[3, 0]])
    np.testing.assert_allclose(c, np.maximum(rows @ rows.T, 0), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(d[0, 0, 0], filters[:, :, 0, 0].sum(axis=1), rtol=1e-5)


def test_mean_of_quantised_numbers() -> None:
    text = """g (uint8[2,3,4] a) => (uint8[] y) {
      y = com.microsoft.QLinearReduceMean<axes = [-1], keepdims = 0>(a, s, z, o, p) }"""
    (y,) = at_graph_level(parse(text, 17, TABLE, MICROSOFT), {"a": bytes_})
    real = (bytes_.astype(np.float64) - 100).mean(axis=-1) * 0.0517 / 0.0313 + 11
    np.testing.assert_array_equal(y, np.clip(np.rint(real), 0, 255))
