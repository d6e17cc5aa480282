"""Wrong nodes of com.microsoft, of whose operators ONNX's checker knows none: what is said."""

from __future__ import annotations

import numpy as np
import pytest
from onnx_rows import noise
from onnx_text import parse
from test_onnx_contrib import MICROSOFT, i32, scale, u8

from nn_opt.frontends.onnx import import_model
from nn_opt.ir.diagnostics import DiagnosticError

REAL = {"x": noise(2, 3, 8), "matrix": noise(4, 6), "vector": noise(8), "byte": u8(1, 2),
        "words": np.int32([[1, 2]]), "one": scale(1), "number": np.asarray(3, np.int32),
        "bits": u8(*range(16)).reshape(2, 1, 8), "scales": noise(2, 1), "long": noise(1, 16),
        "square": noise(6, 6), "five": noise(2, 3, 2, 2, 4),
        "last": i32(1, 1)}  # fmt: skip
BITS = "K = 16, N = 2, block_size = 16"
GROUPS = "num_heads = 1, kv_num_heads = 1"
REFUSALS = {
    "Gelu<alpha = 1.0>(x)": "attribute 'alpha' is unknown, expected one of none",
    "QuickGelu<beta = 1.0>(x)": "attribute 'beta' is unknown, expected one of alpha",
    "Attention(x, x)": "attribute 'num_heads' is missing",
    "BiasGelu(x)": "operand 1 is missing",
    "BiasGelu(x, x, x)": "3 operands, expected at most 2",
    "RotaryEmbedding<is_packed_batching = 1>(x, last, x, x)": "is_packed_batching = 1",
    "Attention<num_heads = 1>(matrix, square)": (
        "operand 0 has 2 axes, expected [batch, length, hidden]"
    ),
    "Attention<num_heads = 1, qkv_hidden_sizes = [1, 1, 1]>(x, w)": (
        "weights make rows of 24 elements, expected q, k and v of [1, 1, 1]"
    ),
    "Attention<num_heads = 1>(x, w, , words)": (
        "the mask has shape [1, 2], expected one for 2 sequences, 3 queries and 3 keys"
    ),
    "MultiHeadAttention<num_heads = 1>(x)": (
        "expected a key and a value, or a query or key that holds them"
    ),
    "MultiHeadAttention<num_heads = 2>(five)": (
        "packed heads have shape [2, 3, 2, 2, 4], expected 3 parts"
    ),
    f"GroupQueryAttention<{GROUPS}>(matrix, , , , , last, number)": (
        "expected a query of 3 axes with heads, not [4, 6]"
    ),
    f"GroupQueryAttention<{GROUPS}>(x, , , , , last, number)": (
        "rows of 8 elements do not divide into 3 heads"
    ),
    f"GroupQueryAttention<{GROUPS}, do_rotary = 1>(x, x, x, , , last, number)": (
        "do_rotary = 1 without cosines and sines, expected operands 7 and 8"
    ),
    f'GroupQueryAttention<{GROUPS}, v_quant_type = "PER_TENSOR">(x, , , , , last, number)': (
        "v_quant_type = PER_TENSOR"
    ),
    f'GroupQueryAttention<{GROUPS}, k_quant_type = "PER_TENSOR">(x, , , , , last, number)': (
        "k_quant_type = PER_TENSOR"
    ),
    "RotaryEmbedding(matrix, last, matrix, matrix)": (
        "operand 0 has shape [4, 6], expected 3 or 4 axes"
    ),
    "RotaryEmbedding<scale = 2.0>(x, last, matrix, matrix)": "scale is 2.0, expected 1",
    "EmbedLayerNormalization(last, , matrix, matrix, , vector, vector)": (
        "words have shape [2], expected [batch, length]"
    ),
    "SkipLayerNormalization(x, matrix, vector)": (
        "operands 0 and 1 have shapes [2, 3, 8] and [4, 6], expected rows of one length"
    ),
    "CDist(matrix, w)": "rows have 6 and 24 elements, expected as many",
    "QLinearConcat<axis = 0>(one, byte, byte, one, byte, byte)": (
        "6 operands, expected 2 and 3 for each part"
    ),
    "QGemm(bits, one, byte)": "operand 3 is missing",
    f"MatMulNBits<{BITS}>(x, bits, scales)": (
        "operand 0 has shape [2, 3, 8], expected rows of K = 16 elements"
    ),
    f"MatMulNBits<{BITS}>(long, bits, scales, , last)": "operand 4, an order of groups",
    "MatMulNBits<K = 16, N = 2, block_size = 16, bits = 3>(long, bits, scales)": (
        "blocks of 16 numbers of 3 bits, expected whole bytes of numbers of 2, 4 or 8"
    ),
    f"MatMulNBits<{BITS}>(long, matrix, scales)": (
        "weights are float32 [4, 6], expected uint8 [2, 1, 8]"
    ),
    "GatherBlockQuantized<quantize_axis = 0>(bits, last, scales)": (
        "gathers along axis 0 of blocks of 128 along axis 0"
    ),
    'FusedGemm<activation = "Swish">(matrix, square)': "activation is 'Swish', expected one of",
    "NhwcMaxPool<strides = [1]>(five)": "kernel_shape is missing",
}


@pytest.mark.parametrize("call", REFUSALS)
def test_the_reason_is_said(call: str) -> None:
    known = {**REAL, "w": noise(8, 24)}
    del known["x"]
    text = f"g (float[2,3,8] x) => (float[] y) {{ y = com.microsoft.{call} }}"
    model = parse(text, 17, known, MICROSOFT)
    with pytest.raises(DiagnosticError) as error:
        import_model(model)
    assert REFUSALS[call] in str(error.value)
    assert call.partition("<")[0].partition("(")[0] in str(error.value)


def test_layer_norm_without_a_mean_is_along_the_last_axis() -> None:
    text = "g (float[2,3] x) => (float[] y) { y = SimplifiedLayerNormalization<axis = 0>(x, s) }"
    with pytest.raises(DiagnosticError, match="axis is 0, expected the last one"):
        import_model(parse(text, 17, {"s": noise(3)}))
