"""A layer of an encoder and a step of a decoder, as optimisers and exporters write them today."""

from __future__ import annotations

import numpy as np
from onnx_text import Array, in_onnxruntime, parse

import nn_opt
from nn_opt.ir.remarks import collect_remarks

MICROSOFT = {"com.microsoft": 1}
random = np.random.default_rng(0)
WIDTH, WORDS, LENGTH = 32, 11, 12

ENCODER = """
g (int32[2,12] ids, int32[2,12] kinds, int32[2,12] mask) => (float[] y) {
  e, lengths = com.microsoft.EmbedLayerNormalization
    (ids, kinds, words, places, segments, g, b, mask)
  a = com.microsoft.Attention<num_heads = 4>(e, qkv, qkv_bias, lengths)
  p = MatMul(a, out)
  n = com.microsoft.SkipLayerNormalization(p, e, g, b, out_bias)
  f = MatMul(n, up)
  h = com.microsoft.BiasGelu(f, up_bias)
  d = MatMul(h, down)
  y = com.microsoft.SkipLayerNormalization(d, n, g, b, out_bias)
}"""

ROW = "K = 32, block_size = 16"
DECODER = f"""
g (int64[1,1] ids, float[1,2,15,16] past_key, float[1,2,15,16] past_value, int32[1] last)
    => (float[] logits, float[] key, float[] value) {{
  x = com.microsoft.GatherBlockQuantized<quantize_axis = 1, block_size = 16, bits = 4>
    (words4, ids, word_scales)
  n = SimplifiedLayerNormalization(x, g)
  q = com.microsoft.MatMulNBits<N = 128, {ROW}>(n, q4, q_scales)
  k = com.microsoft.MatMulNBits<N = 32, {ROW}>(n, kv4, kv_scales)
  v = com.microsoft.MatMulNBits<N = 32, {ROW}, bits = 8>(n, v8, kv_scales, v_zeros)
  a, key, value = com.microsoft.GroupQueryAttention<num_heads = 8, kv_num_heads = 2, do_rotary = 1>
    (q, k, v, past_key, past_value, last, total, cos, sin)
  o = com.microsoft.MatMulNBits<K = 128, N = 32, block_size = 32>(a, o4, o_scales)
  m, , , s = com.microsoft.SkipSimplifiedLayerNormalization(o, x, g)
  w = com.microsoft.QuickGelu<alpha = 1.0>(m)
  t = com.microsoft.MatMulNBits<N = 11, {ROW}>(w, head4, head_scales)
  logits = Add(t, t)
}}"""


def real(*shape: int) -> Array:
    return random.standard_normal(shape).astype(np.float32) / np.float32(np.sqrt(shape[0]))


def packed(*shape: int) -> Array:
    return random.integers(0, 256, shape).astype(np.uint8)


def scales(rows: int, blocks: int) -> Array:
    return (0.02 * (1 + random.random((rows, blocks)))).astype(np.float32)


def _check(text: str, inputs: dict[str, Array], weights: dict[str, Array]) -> None:
    """Compare with onnxruntime; attention must be one kernel."""
    model = parse(text, 17, weights, MICROSOFT)
    with collect_remarks() as remarks:
        compiled = nn_opt.compile(model, cache=False, threads=1)
        results = list(compiled.run(inputs).values())
    assert any("one kernel with the softmax of its scores" in remark.text for remark in remarks)
    for got, want in zip(results, in_onnxruntime(model, inputs), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def test_a_layer_of_an_encoder_that_onnxruntime_fused() -> None:
    weights = {
        **{"words": real(WORDS, WIDTH), "places": real(16, WIDTH), "segments": real(2, WIDTH)},
        **{"g": 1 + real(WIDTH), "b": real(WIDTH)},
        **{"qkv": real(WIDTH, 3 * WIDTH), "qkv_bias": real(3 * WIDTH)},
        **{"out": real(WIDTH, WIDTH), "out_bias": real(WIDTH)},
        **{"up": real(WIDTH, 64), "up_bias": real(64), "down": real(64, WIDTH)},
    }
    mask = (np.arange(LENGTH) < np.array([[12], [7]])).astype(np.int32)
    ids = random.integers(0, WORDS, (2, LENGTH)).astype(np.int32)
    kinds = random.integers(0, 2, (2, LENGTH)).astype(np.int32)
    _check(ENCODER, {"ids": ids, "kinds": kinds, "mask": mask}, weights)


def test_a_step_of_a_decoder_with_weights_of_four_bits() -> None:
    angle = np.arange(32)[:, None] / 10000 ** (np.arange(8) / 8)
    weights = {
        **{"words4": packed(WORDS, 16), "word_scales": scales(WORDS, 2), "g": 1 + real(WIDTH)},
        **{"q4": packed(128, 2, 8), "q_scales": scales(128, 2)},
        **{"kv4": packed(32, 2, 8), "v8": packed(32, 2, 16), "kv_scales": scales(32, 2)},
        **{"v_zeros": packed(32, 2), "o4": packed(32, 4, 16), "o_scales": scales(32, 4)},
        **{"head4": packed(WORDS, 2, 8), "head_scales": scales(WORDS, 2)},
        **{"cos": np.cos(angle, dtype=np.float32), "sin": np.sin(angle, dtype=np.float32)},
        "total": np.asarray(16, np.int32),
    }
    inputs = {
        **{"ids": np.int64([[3]]), "last": np.int32([15])},
        **{"past_key": real(1, 2, 15, 16), "past_value": real(1, 2, 15, 16)},
    }
    _check(DECODER, inputs, weights)
