"""Attention and what stands beside it in decoders, losses, optimisers: corners of the standard."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import ModelProto
from onnx.reference import ReferenceEvaluator
from onnx_rows import Row, ints, noise
from onnx_text import Array, at_graph_level, parse

from nn_opt.frontends.onnx import import_model
from nn_opt.ir.diagnostics import DiagnosticError

q, k, v = (
    noise(2, heads, length, 8, seed=i) for i, (heads, length) in enumerate([(4, 3), (2, 5), (2, 5)])
)
hidden, keys = noise(2, 3, 16), noise(2, 5, 8, seed=1)
scores, labels = noise(4, 3, 2), np.array([[0, 2], [1, 2], [-7, 1], [0, -7]])
matrices = noise(2, 3, 3)
SHAPES = {"q": q, "k": k, "v": v}
ROWS = [
    Row("y = Attention<is_causal = 1, scale = 0.2>(q, q, q)", {"q": q}, opset=23),
    Row(
        "y = Attention<q_num_heads = 4, kv_num_heads = 2>(q, k, k)",
        {"q": hidden, "k": keys},
        opset=23,
    ),
    Row("y = Attention(q, q, q, m)", {"q": q, "m": noise(4, 3, 3)}, opset=23),
    Row(
        'y = NegativeLogLikelihoodLoss<ignore_index = -7, reduction = "mean">(x, t, w)',
        {"x": scores, "t": labels},
        {"w": np.float32([1, 0, 3])},
        opset=13,
    ),
    *(
        Row(
            f'y, z = SoftmaxCrossEntropyLoss<ignore_index = -7, reduction = "{kind}">(x, t)',
            {"x": scores, "t": labels},
            opset=13,
            results="float[] y, float[] z",
        )
        for kind in ("none", "sum", "mean")
    ),
    Row("y = CenterCropPad<axes = [0, -1]>(x, s)", {"x": noise(4, 3)}, {"s": ints(1, 6)}, opset=18),
    Row(
        "y = RotaryEmbedding<interleaved = 1, num_heads = 2, rotary_embedding_dim = 4>(x, c, s, p)",
        {"x": hidden, "p": np.int64([[3, 0, 1], [2, 2, 0]])},
        {"c": noise(4, 2), "s": noise(4, 2, seed=1)},
        opset=23,
    ),
    Row("y = Det(x)", {"x": matrices}),
    Row("y = Det(x)", {"x": np.float32([[0, 2, 0], [3, 0, 0], [0, 0, 5]])}),
    Row("y = Det(x)", {"x": np.float32([[1, 2], [2, 4]])}),
    Row("y = Gemm<alpha = 2.0>(x, x)", {"x": noise(3, 3)}),
    Row('y = Einsum<equation = ", i -> i">(s, x)', {"s": np.asarray(3, np.float32), "x": noise(4)}),
    Row(
        'y = Einsum<equation = "Ba...b, b...B">(x, z)',
        {"x": noise(2, 3, 4, 5), "z": noise(5, 4, 2)},
    ),
    Row('y = Einsum<equation = "ii...->...">(x)', {"x": noise(3, 3, 2)}),
]


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_agrees_with_onnxruntime(row: Row) -> None:
    row.check()


def _check(model: ModelProto, inputs: dict[str, Array], rtol: float = 1e-5) -> None:
    """Compare with ONNX's own evaluator."""
    expected = ReferenceEvaluator(model).run(None, inputs)
    assert isinstance(expected, list)
    for got, want in zip(at_graph_level(model, inputs), expected, strict=True):
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        np.testing.assert_allclose(
            got.astype(np.float64), want.astype(np.float64), rtol=rtol, atol=rtol / 10
        )


DECLARED = "float[2,4,3,8] q, float[2,2,5,8] k, float[2,2,5,8] v"


@pytest.mark.parametrize("mode", range(4))
def test_grouped_heads_with_masks_of_their_own_in_a_window(mode: int) -> None:
    """Rows that see no key are zeros, in the weights, too. Mode 0 is what stands before the cap."""
    cap = 2.0 if mode else 0.0
    text = f"""g ({DECLARED}, bool[4,3,4] m, int64[2] n) => (float[] y, float[] s) {{
      y, , , s = Attention<is_causal = 1, left_window_size = 2, softcap = {cap},
        qk_matmul_output_mode = {mode}>(q, k, v, m, , , n) }}"""
    mask = np.random.default_rng(0).random((4, 3, 4)) < 0.6
    _check(parse(text, 25), {**SHAPES, "m": mask, "n": ints(4, 2)})


def test_bidirectional_window_after_a_past() -> None:
    text = f"""g ({DECLARED}, float[2,2,2,8] a, float[2,2,2,8] b)
        => (float[] y, float[] pk, float[] pv) {{
      y, pk, pv = Attention<left_window_size = 1, right_window_size = 2>(q, k, v, , a, b) }}"""
    past = {"a": noise(2, 2, 2, 8, seed=8), "b": noise(2, 2, 2, 8, seed=9)}
    _check(parse(text, 25), {**SHAPES, **past})


def test_one_query_of_each_head_makes_rows_of_one_product() -> None:
    declared = DECLARED.replace("4,3", "4,1")
    text = f"g ({declared}) => (float[] y) {{ y = Attention(q, k, v) }}"
    given = {**SHAPES, "q": q[:, :, :1].copy()}
    module = import_model(parse(text, 23))
    assert "tensor<2x2x2x5xf32>" in str(module)
    _check(parse(text, 23), given)


def test_scores_of_half_floats_are_float32() -> None:
    """Scores beyond 65504 are no infinities; the mask's are."""
    text = """g (float16[1,1,2,8] q, float16[1,1,2,8] k, float16[1,1,2,8] v, float16[2,2] m)
        => (float16[] y) { y = Attention<scale = 1.0>(q, k, v, m) }"""
    large = np.full((1, 1, 2, 8), 200, np.float16)
    values = noise(1, 1, 2, 8).astype(np.float16)
    mask = np.float16([[0, -np.inf], [0, 0]])
    (y,) = at_graph_level(parse(text, 23), {"q": large, "k": large, "v": values, "m": mask})
    np.testing.assert_array_equal(y[0, 0, 0], values[0, 0, 0])
    np.testing.assert_allclose(y[0, 0, 1], values[0, 0].mean(axis=0), rtol=2e-3, atol=1e-3)


def test_weights_in_another_precision() -> None:
    text = f"g ({DECLARED}) => (float[] y) {{ y = Attention<softmax_precision = 11>(q, k, v) }}"
    _check(parse(text, 23), SHAPES)


def test_graphs_of_a_flex_attention_change_scores_and_weights() -> None:
    text = f"""g ({DECLARED}, float b) => (float[] y) {{
      y = ai.onnx.preview.FlexAttention<
        score_mod = s (float[2,4,3,5] x) => (float[2,4,3,5] z) {{ t = Tanh(x) z = Add(t, b) }},
        prob_mod = p (float[2,4,3,5] x) => (float[2,4,3,5] z) {{ z = Mul(x, x) }}
      >(q, k, v) }}"""
    model = parse(text, 26, domains={"ai.onnx.preview": 1})
    (y,) = at_graph_level(model, {**SHAPES, "b": np.float32(0.5)})
    keys_, values = np.repeat(k, 2, axis=1), np.repeat(v, 2, axis=1)
    tanh = np.tanh(q @ keys_.swapaxes(2, 3) / np.sqrt(8))
    weights = np.exp(tanh) / np.exp(tanh).sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(y, weights**2 @ values, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("rule", ["linear", "gated", "delta", "gated_delta"])
def test_linear_attention_in_groups_from_a_state(rule: str) -> None:
    decay = "d" if "gated" in rule else '""'
    beta = "b" if "delta" in rule else '""'
    text = f"""g (float[2,3,16] q, float[2,3,8] k, float[2,3,6] v, float[2,2,4,3] s,
        float[2,3,2] d, float[2,3,1] b) => (float[] y, float[] last) {{
      y, last = LinearAttention<q_num_heads = 4, kv_num_heads = 2, update_rule = "{rule}",
        scale = 0.3>(q, k, v, s, {decay}, {beta}) }}"""
    given = {
        **{"q": hidden, "k": noise(2, 3, 8), "v": noise(2, 3, 6), "s": noise(2, 2, 4, 3)},
        **{"d": -np.abs(noise(2, 3, 2)), "b": np.abs(noise(2, 3, 1))},
    }
    _check(parse(text, 27), given)


def test_causal_convolution_shorter_than_its_filters() -> None:
    text = """g (float[2,3,2] x, float[3] b) => (float[] y, float[] s) {
      y, s = CausalConvWithState<activation = "silu">(x, w, b) }"""
    _check(parse(text, 27, {"w": noise(3, 1, 5)}), {"x": noise(2, 3, 2), "b": noise(3)})


def test_tensor_scatter_along_the_last_axis_wraps() -> None:
    text = """g (float[2,3,4] c, float[2,3,3] u, int64[2] w) => (float[] y) {
      y = TensorScatter<axis = -1, mode = "circular">(c, u, w) }"""
    _check(parse(text, 24), {"c": noise(2, 3, 4), "u": noise(2, 3, 3, seed=1), "w": ints(2, 5)})


@pytest.mark.parametrize(
    ("call", "kinds", "results"),
    [
        ("Adagrad<decay_factor = 0.1, norm_coefficient = 0.01>", 3, 2),
        ("Adam<norm_coefficient = 0.01, norm_coefficient_post = 0.1>", 4, 3),
        ('Momentum<alpha = 0.9, beta = 0.5, mode = "nesterov", norm_coefficient = 0.1>', 3, 2),
        ('Momentum<alpha = 0.9, beta = 0.5, mode = "standard", norm_coefficient = 0.1>', 3, 2),
    ],
)
@pytest.mark.parametrize("count", [0, 3])
def test_optimisers_update_two_tensors(call: str, kinds: int, results: int, count: int) -> None:
    names = [f"{'xgvh'[kind]}{i}" for kind in range(kinds) for i in range(2)]
    shapes = {name: (2,) if name.endswith("0") else (2, 2) for name in names}
    declared = ", ".join(f"float[{','.join(map(str, shapes[n]))}] {n}" for n in names)
    outputs = [f"o{i}" for i in range(2 * results)]
    text = f"""g (float r, int64 t, {declared}) => ({", ".join("float[] " + o for o in outputs)}) {{
      {", ".join(outputs)} = ai.onnx.preview.training.{call}(r, t, {", ".join(names)}) }}"""
    given = {n: np.abs(noise(*shapes[n], seed=i)) for i, n in enumerate(names)}
    rate = {"r": np.asarray(0.1, np.float32), "t": np.asarray(count)}
    _check(parse(text, 17, domains={"ai.onnx.preview.training": 1}), {**rate, **given})


def test_gemm_of_integers_by_a_fraction_is_cut_once() -> None:
    declared = "int32[2,2] a, int32[2,2] b, int32[2] c"
    text = f"g ({declared}) => (int32[] y) {{ y = Gemm<alpha = 0.5>(a, b, c) }}"
    a, b, c = np.int32([[1, 2], [3, 5]]), np.int32([[3, 1], [0, 1]]), np.int32([1, 2])
    (y,) = at_graph_level(parse(text, 13), {"a": a, "b": b, "c": c})
    np.testing.assert_array_equal(y, (0.5 * (a @ b) + c).astype(np.int32))


@pytest.mark.parametrize(("dtype", "name"), [(np.float16, "float16"), (np.float64, "double")])
def test_layer_norm_shows_moments_in_the_stash_type(dtype: type, name: str) -> None:
    text = f"""g ({name}[2,4] x, {name}[4] s) => ({name}[] y, float[] m, float[] d) {{
      y, m, d = LayerNormalization(x, s) }}"""
    x = (noise(2, 4) * 100).astype(dtype)
    y, mean, inverse = at_graph_level(parse(text), {"x": x, "s": np.ones(4, dtype)})
    wide = x.astype(np.float64)
    assert (y.dtype, mean.dtype, inverse.dtype) == (dtype, np.float32, np.float32)
    np.testing.assert_allclose(mean, wide.mean(axis=1, keepdims=True), rtol=1e-5)
    np.testing.assert_allclose(inverse, 1 / wide.std(axis=1, keepdims=True), rtol=1e-5)


@pytest.mark.parametrize("name", ["InstanceNormalization", "MeanVarianceNormalization"])
def test_moments_of_half_floats_are_float32(name: str) -> None:
    """The squares of 300 and more are beyond 65504."""
    operands = "x, s, b" if name.startswith("Instance") else "x"
    text = f"g (float16[1,2,3,3] x) => (float16[] y) {{ y = {name}({operands}) }}"
    weights = {"s": np.ones(2, np.float16), "b": np.zeros(2, np.float16)}
    x = (noise(1, 2, 3, 3) * 1000).astype(np.float16)
    (y,) = at_graph_level(parse(text, 22, weights), {"x": x})
    axes = (2, 3) if name.startswith("Instance") else (0, 2, 3)
    wide = x.astype(np.float64)
    want = (wide - wide.mean(axis=axes, keepdims=True)) / wide.std(axis=axes, keepdims=True)
    np.testing.assert_allclose(y, want, rtol=2e-3, atol=1e-3)


KNOWN = {
    "q": np.zeros((2, 4, 3, 8), np.float32),
    "three": np.zeros((2, 3, 6), np.float32),
    "cache": np.zeros((2, 3, 4), np.float32),
    "flat": np.zeros((3, 4), np.float32),
    "vector": np.zeros(3, np.float32),
    "classes": np.zeros(3, np.int64),
    "lengths": np.zeros(2, np.int64),
    "size": np.int64([3, 4, 5]),
    "one": np.float32(1),
}
HEADS = "q_num_heads = 3, kv_num_heads = 3"
REFUSALS = {
    "y = Attention<q_num_heads = 4, kv_num_heads = 4>(three, three, three)": (
        "Attention: rows of 6 elements do not divide into 4 heads"
    ),
    "y = Attention(q, x, x)": (
        "Attention: query [2, 4, 3, 8], key [2, 3, 3, 8] and value [2, 3, 3, 8] do not go together,"
        " expected [batch, heads, length, size] of one batch and size, heads a multiple"
        " of those of key and value"
    ),
    "y = Attention(q, q, q, , q)": (
        "Attention: expected past_key and past_value together, without nonpad_kv_seqlen"
    ),
    "y = Attention(flat, flat, flat)": (
        "Attention: expected query, key and value of 3 or of 4 axes"
    ),
    "y, , , z = Attention<qk_matmul_output_mode = 4>(q, q, q)": (
        "Attention: qk_matmul_output_mode is 4, expected 0, 1, 2 or 3"
    ),
    "y = Attention<left_window_size = -2>(q, q, q)": (
        "Attention: windows of -2 and -1 keys, expected -1 or more"
    ),
    "y = Attention(q, q, q, cache)": (
        "Attention: the mask has shape [2, 3, 4], which does not fit [2, 4, 3, 3]"
    ),
    "y = ai.onnx.preview.FlexAttention(three, three, three)": (
        "FlexAttention: expected query, key and value of 4 axes"
    ),
    "y = ai.onnx.preview.FlexAttention<prob_mod = p (float[2,4,3,3] a) => (float[] b)"
    " { b = ReduceMax<keepdims = 1>(a) }>(q, q, q)": (
        "FlexAttention: prob_mod makes shape [1, 1, 1, 1] of [2, 4, 3, 3], expected the same"
    ),
    "y = RotaryEmbedding(flat, three, three)": (
        "RotaryEmbedding: operand 0 has shape [3, 4], expected 3 or 4 axes"
    ),
    "y = RotaryEmbedding(q, flat, flat)": (
        "RotaryEmbedding: angles have shape [3, 4], expected [batch, length, size]"
    ),
    "y = RotaryEmbedding(q, three, three)": (
        "RotaryEmbedding: 6 cosines and 6 sines a row, expected one for each pair of the 8"
        " elements to rotate"
    ),
    f'y, z = LinearAttention<{HEADS}, update_rule = "gated">(three, three, three)': (
        "LinearAttention: update_rule 'gated' does not go with the decay and beta that are given"
    ),
    'y, z = LinearAttention<q_num_heads = 3, kv_num_heads = 2, update_rule = "linear">'
    "(three, three, three)": ("LinearAttention: 3 query heads are no multiple of 2 heads of keys"),
    f'y, z = LinearAttention<{HEADS}, update_rule = "linear">(three, three, three, q)': (
        "LinearAttention: the past state has shape [2, 4, 3, 8], expected [2, 3, 2, 2]"
    ),
    "y, z = CausalConvWithState(flat, three)": (
        "CausalConvWithState: expected an x and filters of 3 axes, not 2, 3"
    ),
    "y = TensorScatter(cache, three)": (
        "TensorScatter: an update of shape [2, 3, 6] does not fit a cache of [2, 3, 4] along axis 1"
    ),
    "y = SoftmaxCrossEntropyLoss(vector, classes)": (
        "SoftmaxCrossEntropyLoss: scores have shape [3], expected [N, C, ...]"
    ),
    "y = NegativeLogLikelihoodLoss(flat, lengths)": (
        "NegativeLogLikelihoodLoss: classes have shape [2], which does not fit scores of [3, 4]"
    ),
    "y, z, a = ai.onnx.preview.training.Momentum<alpha = 0.9, beta = 0.9, norm_coefficient = 0.1,"
    ' mode = "standard">(one, one, vector, vector)': (
        "Momentum: 2 tensors are not 3 for each one to optimise"
    ),
    "y = Det(flat)": "Det: operand 0 has shape [3, 4], expected square matrices",
    "y = CenterCropPad(flat, size)": (
        "CenterCropPad: sizes [3, 4, 5] are not one for each of axes [0, 1]"
    ),
}


@pytest.mark.parametrize("nodes", REFUSALS)
def test_the_reason_is_said(nodes: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx.checker, "check_model", lambda model: None)
    text = f"g (float[2,3,3,8] x) => (float[] y) {{ {nodes} }}"
    domains = {"ai.onnx.preview": 1, "ai.onnx.preview.training": 1}
    model = parse(text, 28, KNOWN, domains)
    with pytest.raises(DiagnosticError) as error:
        import_model(model)
    assert str(error.value).split("': ", 1)[1] == REFUSALS[nodes]
