"""Operators of com.microsoft that optimised models hold, against onnxruntime where it has them."""

from __future__ import annotations

import numpy as np
import pytest
from onnx_rows import Row, ints, noise
from onnx_text import Array, at_graph_level, in_onnxruntime, parse

import nn_opt
from nn_opt.ir.diagnostics import DiagnosticError

MICROSOFT = {"com.microsoft": 1}
NONE: dict[str, Array] = {}


def row(
    nodes: str,
    inputs: dict[str, Array],
    known: dict[str, Array] = NONE,
    results: str = "float[] y",
) -> Row:
    return Row(nodes.replace("= ", "= com.microsoft.", 1), inputs, known, 17, results, MICROSOFT)


def i32(*numbers: int) -> Array:
    return np.asarray(numbers, np.int32)


def graph(text: str, inputs: dict[str, Array], known: dict[str, Array] = NONE) -> list[Array]:
    """Return what operators compute that onnxruntime has for other devices only."""
    case = row(text, inputs, known, ", ".join(f"float[] {name}" for name in "yzuv"[: _count(text)]))
    return at_graph_level(case.model(), inputs)


def _count(text: str) -> int:
    return text.split(" = ")[0].count(",") + 1


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def softmax(x: Array) -> Array:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def close(got: Array, want: Array) -> None:
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


REGIONS = np.asarray([[0, 0, 1, 1], [0.1, 0.9, 0.7, 0.2], [-0.3, 0.2, 1.4, 0.5]], np.float32)
CROPS = {"x": noise(2, 3, 5, 4), "r": REGIONS, "i": i32(0, 1, 1)}
NUMBERS = np.asarray([[1, 2, 3, 1, 2], [4, 4, 4, 4, 4]], np.int64)
THREE = np.asarray([[[0, 1, 2]], [[3, 0, 1]], [[2, 2, 4]]], np.int64)
ANGLES = {"c": np.cos(noise(6, 6)), "s": np.sin(noise(6, 6))}
ROWS = [
    row("y = Range(a, b)", {}, {"a": np.float32(0.5), "b": np.float32(4)}),
    row(
        "y = Range(a, b, c)",
        {},
        {"a": np.int16(9), "b": np.int16(0), "c": np.int16(-4)},
        "int16[] y",
    ),
    row("y = UnfoldTensor<dim = 1, size = 3, step = 2>(x)", {"x": noise(2, 8, 3)}),
    row("y = CropAndResize(x, r, i, z)", CROPS, {"z": i32(3, 4)}),
    row("y = CropAndResize<extrapolation_value = 7.5>(x, r, i, z)", CROPS, {"z": i32(1, 2)}),
    row('y = CropAndResize<mode = "nearest">(x, r, i, z)', CROPS, {"z": i32(4, 3)}),
    row("y = NGramRepeatBlock<ngram_size = 3>(i, x)", {"i": NUMBERS, "x": noise(2, 6)}),
    row("y = NGramRepeatBlock<ngram_size = 1>(i, x)", {"i": NUMBERS, "x": noise(2, 6)}),
    row("y = NGramRepeatBlock<ngram_size = 7>(i, x)", {"i": NUMBERS, "x": noise(2, 6)}),
    row("y = GatedAdd(x, z, g)", {"x": noise(2, 4), "z": noise(2, 4, seed=1), "g": noise(2, 1)}),
    row("y = ScaledSiLU<alpha = 0.5>(x)", {"x": noise(2, 4)}),
    row(
        'y = GatedRMSNorm<activation = "sigmoid">(x, w, g)',
        {"x": noise(2, 8), "w": noise(4), "g": noise(2, 8, seed=2)},
    ),
    row("y = GatedRMSNorm(x, w, g)", {"x": noise(2, 8), "w": noise(8), "g": noise(2, 8, seed=2)}),
    row("y = BranchwiseRMSNorm<num_branches = 2>(x, w)", {"x": noise(3, 8), "w": noise(8)}),
    row("y = BranchwiseRMSNorm(x, w)", {"x": noise(3, 2, 4), "w": noise(4)}),
    row(
        "y = MRotaryEmbedding<mrope_section = [2, 3, 1]>(x, p, c, s)",
        {"x": noise(1, 2, 3, 12), "p": THREE},
        ANGLES,
    ),
    row(
        "y = MRotaryEmbedding<mrope_section = [2, 2, 2], mrope_layout = 1, interleaved = 1>"
        "(x, p, c, s)",
        {"x": noise(1, 2, 3, 12), "p": THREE},
        ANGLES,
    ),
]


def _bytes(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).integers(0, 256, shape).astype(np.uint8)


def _embedded() -> dict[str, Array]:
    """Return tables of words, places and segments, a scale and a bias, in bytes."""
    known = {"w": _bytes(5, 8), "p": _bytes(4, 8, seed=1), "e": _bytes(2, 8, seed=2)}
    known |= {"g": _bytes(8, seed=3), "b": _bytes(8, seed=4)}
    numbers = enumerate(list(known))
    return known | {
        name: array
        for k, letter in numbers
        for name, array in (
            (f"{letter}s", np.asarray(0.01 * (k + 1), np.float32)),
            (f"{letter}z", np.asarray(100 + k, np.uint8)),
        )
    }


WORDS = {"i": i32(1, 3, 0, 4, 2, 2).reshape(2, 3), "t": i32(0, 1, 1, 0, 0, 0).reshape(2, 3)}
WORDS |= {"m": i32(1, 1, 0, 1, 1, 1).reshape(2, 3)}
BNB = {"w": _bytes(96), "a": np.abs(noise(12))}
ROWS += [
    row(
        "y, n = QEmbedLayerNormalization(i, t, w, p, e, g, b, m, ws, ps, es, gs, bs,"
        " wz, pz, ez, gz, bz)",
        WORDS,
        _embedded(),
        "float[] y, int32[] n",
    ),
    row(
        "y, n = QEmbedLayerNormalization(i, , w, p, , g, b, , ws, ps, , gs, bs, wz, pz, , gz, bz)",
        {"i": WORDS["i"]},
        _embedded(),
        "float[] y, int32[] n",
    ),
    *(
        row(
            f"y = MatMulBnb4<K = 32, N = 6, block_size = 16, quant_type = {kind}>(x, w, a)",
            {"x": noise(2, 3, 32)},
            BNB,
        )
        for kind in (0, 1)
    ),
]


@pytest.mark.parametrize("case", ROWS, ids=str)
def test_agrees_with_onnxruntime(case: Row) -> None:
    case.check()


def test_unique_in_order_of_appearance() -> None:
    case = row(
        "y, i, n = Unique(x)",
        {"x": np.asarray([2, 1, 1, 3, 4, 3], np.float32)},
        NONE,
        "float[] y, int64[] i, int64[] n",
    )
    got = nn_opt.compile(case.model(), cache=False).run(case.inputs)
    for mine, theirs in zip(got.values(), in_onnxruntime(case.model(), case.inputs), strict=True):
        assert mine.tolist() == theirs.tolist()


@pytest.mark.parametrize("last", [0, 1])
def test_group_norms(last: int) -> None:
    x, skip, scale, bias, more = (
        noise(2, 3, 4, 6),
        noise(2, 6, seed=1),
        noise(6),
        noise(6, seed=2),
        noise(6, seed=3),
    )
    wide = x.astype(np.float64)
    total = wide + skip[:, None, None] + more

    def normal(value: Array) -> Array:
        groups = value.reshape(2, 12, 3, 2)
        mean, var = (f(groups, axis=(1, 3), keepdims=True) for f in (np.mean, np.var))
        return ((groups - mean) / np.sqrt(var + 1e-3)).reshape(value.shape) * scale + bias

    images = x if last else x.transpose(0, 3, 1, 2).copy()
    known = {"g": scale, "b": bias, "c": more}
    attrs = f"groups = 3, epsilon = 0.001, channels_last = {last}"
    (y,) = graph(f"y = GroupNorm<{attrs}, activation = 1>(x, g, b)", {"x": images}, known)
    z, s = graph(
        f"y, z = SkipGroupNorm<{attrs}, activation = 0>(x, g, b, k, c)",
        {"x": images, "k": skip},
        known,
    )
    plain = normal(wide)
    for got, want in ((y, plain * sigmoid(plain)), (z, normal(total)), (s, total)):
        close(got, want if last else want.transpose(0, 3, 1, 2))


def test_softmax_and_dropout_with_biases() -> None:
    x, bias, more = noise(2, 3, 2, 4), noise(2, 1, 1, 4, seed=1), noise(2, 3, 2, 4, seed=2)
    given = {"x": x, "b": bias}
    (y,) = graph("y = BiasSoftmax<axis = 3, is_inner_broadcast = 1>(x, b)", given)
    close(y, softmax(x.astype(np.float64) + bias))
    (y,) = graph("y = BiasSoftmax<axis = 2, is_inner_broadcast = 1>(x, b)", given)
    close(y, softmax((x.astype(np.float64) + bias).reshape(2, 3, 8)).reshape(x.shape))
    (y,) = graph("y = BiasDropout(x, b, r)", given | {"r": more})
    close(y, x.astype(np.float64) + bias + more)


def test_biases_by_distance() -> None:
    """The table of T5 is stored by heads, whatever its shape says."""
    table, heads, buckets = noise(8, 2), 2, 8
    lengths = {"n": ints(9)}
    text = "y = RelativePositionBias<max_distance = 20, is_bidirectional = {}>(t, n, n)"
    for both, own in ((0, 8), (1, 4)):
        (y,) = graph(text.format(both), {"t": table}, lengths)
        assert y.shape == (1, heads, 9, 9)
        for q in range(9):
            for k in range(9):
                d = abs(k - q) if both else max(q - k, 0)
                far = (
                    own // 2
                    + int(np.log(d / (own // 2)) / np.log(20 / (own // 2)) * (own - own // 2))
                    if d
                    else 0
                )
                bucket = d if d < own // 2 else min(far, own - 1)
                bucket += own if both and k > q else 0
                np.testing.assert_array_equal(
                    y[0, :, q, k], table.reshape(heads, buckets)[:, bucket]
                )


def test_gated_biases_by_distance() -> None:
    query, bias, weights = noise(2, 3, 8), noise(8, seed=1), noise(4, 6, seed=2)
    distances, more, factor = noise(1, 2, 3, 3, seed=3), noise(6, seed=4), noise(1, 2, 1, 1, seed=5)
    known = {"b": bias, "w": weights, "m": more, "f": factor}
    text = "y = GatedRelativePositionBias<num_heads = 2>(q, b, r, w, m, f{})"
    (y,) = graph(text.format(""), {"q": query, "r": distances}, known)
    rows = (query.astype(np.float64) + bias).reshape(2, 3, 2, 4).transpose(0, 2, 1, 3)
    gates = sigmoid((rows @ weights + more).reshape(2, 2, 3, 2, 3).sum(-1))
    want = (gates[..., :1] * (gates[..., 1:] * factor - 1) + 2) * distances
    close(y, want)
    packed, places = (
        query.reshape(6, 8)[[0, 1, 3, 4, 5]].copy(),
        i32(0, 1, 3, 4, 5, 2).reshape(2, 3),
    )
    (z,) = graph(text.format(", p"), {"q": packed, "r": distances, "p": places}, known)
    close(z[1], want[1])
    close(z[0, :, :2], want[0, :, :2])


def test_rows_without_padding() -> None:
    x, counts = noise(3, 4, 6), i32(1, 2, 4)
    text = """g (float[3,4,6] x, int32[3] n) =>
        (float[r,6] y, int32[3,4] p, int32[4] e, int32[1] m, float[3,4,6] z) {
      y, p, e, m = com.microsoft.RemovePadding(x, n)
      z = com.microsoft.RestorePadding(y, p) }"""
    model = nn_opt.compile(parse(text, 17, NONE, MICROSOFT), cache=False)
    y, places, ends, longest, z = model(x, counts)
    assert places.tolist() == [[0, 4, 5, 8], [9, 10, 11, 1], [2, 3, 6, 7]]
    assert (ends.tolist(), longest.tolist()) == ([0, 1, 3, 7], [4])
    np.testing.assert_array_equal(y, x.reshape(12, 6)[[0, 4, 5, 8, 9, 10, 11]])
    np.testing.assert_array_equal(z, np.where(np.arange(4)[:, None] < counts[:, None, None], x, 0))


def test_packed_attentions_are_those_with_padding() -> None:
    x, weights, bias = noise(2, 3, 6), noise(6, 24, seed=1), noise(24, seed=2)
    rows, places, ends = x.reshape(6, 6)[[0, 3, 4, 5]].copy(), i32(0, 3, 4, 5, 1, 2), i32(0, 1, 4)
    packed = {"x": rows, "p": places.reshape(2, 3), "e": ends}
    text = "y = PackedAttention<num_heads = 2>(x, w, b, p, e)"
    (y,) = graph(text, packed, {"w": weights, "b": bias})
    mask = {"x": x, "m": i32(1, 0, 0, 1, 1, 1).reshape(2, 3)}
    plain = row("y = Attention<num_heads = 2>(x, w, b, m)", mask, {"w": weights, "b": bias})
    (want,) = in_onnxruntime(plain.model(), plain.inputs)
    close(y, want.reshape(6, 8)[[0, 3, 4, 5]])
    product = rows @ weights
    q, k, v = (product[:, start : start + 8].copy() for start in (0, 8, 16))
    text = "y = PackedMultiHeadAttention<num_heads = 2>(q, k, v, b, p, e)"
    given = {"q": q, "k": k, "v": v} | {name: packed[name] for name in "pe"}
    close(graph(text, given, {"b": bias})[0], y)
    heads = np.stack([part.reshape(4, 2, 4) for part in (q, k, v)], 2)
    text = "y = PackedMultiHeadAttention<num_heads = 2>(q, , , b, p, e)"
    close(graph(text, {"q": heads} | {name: packed[name] for name in "pe"}, {"b": bias})[0], y)


@pytest.mark.parametrize("length", [6, 10])
def test_real_transforms(length: int) -> None:
    x = noise(2, length)
    y, z = at_graph_level(
        parse(
            f"""g (float[2,{length}] x) => (float[] y, float[] z) {{
              y = com.microsoft.Rfft<signal_ndim = 1>(x)
              z = com.microsoft.Irfft<signal_ndim = 1>(y) }}""",
            17,
            NONE,
            MICROSOFT,
        ),
        {"x": x},
    )
    want = np.fft.rfft(x.astype(np.float64))
    close(y, np.stack([want.real, want.imag], -1))
    close(z, x)


def test_complex_products() -> None:
    a, b = noise(2, 3, 2), noise(3, 2, seed=1)
    p, q = (value[..., 0] + 1j * value[..., 1].astype(np.float64) for value in (a, b))
    for name, want in (("ComplexMul", p * q), ("ComplexMulConj", p * q.conj())):
        (y,) = graph(f"y = {name}(a, b)", {"a": a, "b": b})
        close(y, np.stack([want.real, want.imag], -1))


def test_integers() -> None:
    a, b = np.uint8([[200, 3], [255, 0]]), np.uint8([250, 7])
    case = row("y = MulInteger(a, z, b)", {"a": a, "b": b}, {"z": np.uint8(7)}, "int32[] y")
    (y,) = at_graph_level(case.model(), case.inputs)
    assert y.tolist() == ((a.astype(np.int32) - 7) * b.astype(np.int32)).tolist()
    case = row("y = ReduceSumInteger<axes = [1], keepdims = 0>(a)", {"a": a}, NONE, "int32[] y")
    assert at_graph_level(case.model(), case.inputs)[0].tolist() == [203, 255]


@pytest.mark.parametrize(
    ("attrs", "odd", "want"),
    [
        ("", 1, True),
        ("", np.inf, False),
        ("", np.nan, False),
        ("<isnan_only = 1>", np.inf, True),
        ("<isnan_only = 1>", np.nan, False),
        ("<isinf_only = 1>", -np.inf, False),
        ("<isinf_only = 1>", np.nan, True),
    ],
)
def test_what_is_finite(attrs: str, odd: float, want: bool) -> None:
    given = {"x": noise(2, 3), "z": np.asarray([1, odd], np.float32)}
    case = row(f"y = IsAllFinite{attrs}(x, z)", given, NONE, "bool y")
    assert at_graph_level(case.model(), given)[0].tolist() is want


def test_rotation_of_gemma() -> None:
    angle, q, k = noise(1, 3, 4), noise(1, 2, 3, 4, seed=1), noise(1, 2, 3, 4, seed=2)
    y, z = graph(
        "y, z = GemmaRotaryEmbedding(a, q, t, k, u)",
        {"a": angle, "q": q, "t": -q, "k": k, "u": 2 * k},
    )
    cos, sin = np.cos(angle)[:, None], np.sin(angle)[:, None]
    close(y, q * cos - q * sin)
    close(z, k * cos + 2 * k * sin)


REFUSED = [
    ("y = UnfoldTensor<dim = 0, size = 5>(x)", "slices of 5, 1 apart, do not fit 4 elements"),
    ("y = IsAllFinite<isnan_only = 1, isinf_only = 1>(x)", "isinf_only and isnan_only exclude"),
    ("y = ComplexMul(x, x)", "expected 2 parts on the last axis"),
    ("y = NGramRepeatBlock<ngram_size = 0>(i, x)", "ngram_size is 0, expected at least 1"),
    ("y = GroupNorm<activation = 0, groups = 3, channels_last = 0>(q, x, x)", "4 channels do not"),
    ("y = GroupNorm<activation = 2, groups = 2, channels_last = 0>(q, x, x)", "activation is 2"),
    (
        "y = BranchwiseRMSNorm<num_branches = 3>(x)",
        "rows of 4 elements do not divide into 3 branches",
    ),
    ("y = GatedRMSNorm(x, v, x)", "rows of 4 elements do not divide into 3"),
    ("y = CropAndResize(x, x, i, v)", "crops of size [1, 2, 3] from [4, 4], expected [N, C, H, W]"),
    ("y = Irfft<signal_ndim = 1>(f)", "1 frequencies, expected at least 2"),
    ("y = RestorePadding(x, v)", "expected [rows, hidden] and [batch, length]"),
    (
        "y = PackedMultiHeadAttention<num_heads = 2>(x, , , , i, v)",
        "expected a key and a value, or a query that holds all three",
    ),
    (
        "y = PackedAttention<num_heads = 2, qkv_hidden_sizes = [1, 1, 1]>(x, x, x, i, v)",
        "q, k and v of",
    ),
    ("y = RelativePositionBias<max_distance = 1>(x, n, n)", "4 buckets for distances up to 1"),
    (
        "y = MRotaryEmbedding<mrope_section = [1, 1, 1]>(x, i, x, x)",
        "places [4, 4] and sections [1, 1, 1], expected [3, batch, length]",
    ),
    (
        "y = MatMulBnb4<K = 4, N = 4, block_size = 16, quant_type = 2>(x, i, x)",
        "quant_type 2 in blocks of 16, expected 0 (FP4) or 1 (NF4)",
    ),
    ("y = BeamSearch(x)", "com.microsoft.BeamSearch (opset 1): operator is not supported"),
]


@pytest.mark.parametrize(("text", "words"), REFUSED)
def test_what_is_refused(text: str, words: str) -> None:
    known = {"q": noise(1, 4, 2, 2), "v": ints(1, 2, 3), "n": ints(3), "f": noise(1, 2)}
    given = {"x": noise(4, 4), "i": np.zeros((4, 4), np.int64)}
    with pytest.raises(DiagnosticError) as error:
        at_graph_level(row(text, given, known).model(), given)
    assert words in str(error.value)
