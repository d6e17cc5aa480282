"""Signals and states: transforms, windows, what decoders do along time."""

from __future__ import annotations

from onnx import helper

from fuzz.graphs.graph import Graph, recipe, schema_types
from fuzz.graphs.numbers import FLOATS, dtype_of


@recipe("BlackmanWindow", "HammingWindow", "HannWindow")
def window(g: Graph, op: str) -> None:
    dtype = g.pick([t for t in schema_types(op, "T2") if t in FLOATS and t in g.types])
    code = helper.np_dtype_to_tensor_dtype(dtype_of(dtype))
    size = g.known(g.whole(1, 9), g.pick(["int64", "int32"]))
    g.add(op, [size], "mixing", output_datatype=code, periodic=g.pick([None, 0, 1]))


@recipe("DFT")
def transform(g: Graph, op: str) -> None:
    dtype = g.pick(["float32", "float64"])
    onesided = g.whole(0, 1)
    complex_in = 0 if onesided else g.whole(0, 1)
    shape = (g.whole(1, 2), g.whole(1, 6), g.whole(1, 5), 1 + complex_in)
    x = g.operand(dtype, shape, "normal")
    axis = g.known(g.pick([1, -2, 2]))
    length = g.known(g.whole(1, 8)) if g.flag() else ""
    inverse = 0 if onesided else g.whole(0, 1)
    g.add(op, [x, length, axis], "mixing", onesided=onesided, inverse=inverse)


@recipe("STFT")
def short_transform(g: Graph, op: str) -> None:
    length, frame = g.whole(8, 16), g.whole(2, 5)
    dtype = g.pick(["float32", "float64"])
    x = g.operand(dtype, (g.whole(1, 2), length, 1), "normal")
    step = g.known(g.whole(1, 4))
    weights = g.operand(dtype, (frame,), "normal")
    tail = [weights, g.known(frame)] if g.flag() else [weights]
    g.add(op, [x, step, *tail], "mixing", onesided=g.pick([None, 0, 1]))


@recipe("MelWeightMatrix")
def mel(g: Graph, op: str) -> None:
    sizes = [g.known(g.whole(1, 6)), g.known(g.pick([8, 16])), g.known(g.pick([16, 8000]))]
    ends = [g.known(0.5, "float32"), g.known(6.0, "float32")]
    g.add(op, [*sizes, *ends], "mixing")


@recipe("CausalConvWithState")
def causal(g: Graph, op: str) -> None:
    dtype = g.pick([t for t in schema_types(op) if t in g.types])
    batch, channels, length, width = g.whole(1, 2), g.whole(1, 4), g.whole(1, 5), g.whole(1, 4)
    x = g.operand(dtype, (batch, channels, length), "normal")
    w = g.operand(dtype, (channels, 1, width), "normal")
    bias = g.operand(dtype, (channels,), "normal") if g.flag() else ""
    past = g.operand(dtype, (batch, channels, width - 1), "normal") if g.flag() else ""
    operands = [x, w, bias, past]
    while not operands[-1]:
        operands.pop()
    word = g.pick([None, "none", "silu"])
    g.add(op, operands, "mixing", outputs=2, activation=word)


@recipe("LinearAttention")
def linear_attention(g: Graph, op: str) -> None:
    dtype = g.pick([t for t in schema_types(op) if t in g.types])
    batch, length, heads, size = g.whole(1, 2), g.whole(1, 4), g.whole(1, 2), g.whole(1, 4)
    rows = [g.operand(dtype, (batch, length, heads * size), "normal") for _ in range(3)]
    rule = g.pick(["linear", "gated", "delta", "gated_delta"])
    past = g.operand(dtype, (batch, heads, size, size), "normal") if g.flag() else ""
    decay = beta = ""
    if "gated" in rule:
        decay = g.operand(dtype, (batch, length, heads), "between:-1:0")
    if "delta" in rule:
        beta = g.operand(dtype, (batch, length, heads), "between:0:1")
    operands = [*rows, past, decay, beta]
    while not operands[-1]:
        operands.pop()
    given = {"q_num_heads": heads, "kv_num_heads": heads, "update_rule": rule}
    g.add(op, operands, "mixing", outputs=2, **given)


@recipe("MaxRoiPool")
def max_roi(g: Graph, op: str) -> None:
    x = g.operand("float32", (g.whole(1, 2), g.whole(1, 2), g.whole(3, 6), g.whole(3, 6)), "normal")
    last = g.shape(x)[0] - 1
    rois = [[g.whole(0, last), 0, 0, g.whole(0, 3), g.whole(0, 3)] for _ in range(g.whole(1, 2))]
    shape = [g.whole(1, 2), g.whole(1, 3)]
    g.add(op, [x, g.known(rois, "float32")], "exact", pooled_shape=shape)


@recipe("TfIdfVectorizer")
def grams(g: Graph, op: str) -> None:
    x = g.operand(g.pick(["int32", "int64"]), (g.whole(1, 3), g.whole(1, 8)), "between:0:4")
    given = {"min_gram_length": 1, "max_gram_length": 2, "max_skip_count": g.whole(0, 2)}
    pool = {
        "pool_int64s": [0, 1, 2, 0, 1, 1, 3],
        "ngram_counts": [0, 3],
        "ngram_indexes": [0, 1, 2, 3, 4],
    }
    g.add(op, [x], "local", mode=g.pick(["TF", "IDF", "TFIDF"]), **given, **pool)


@recipe("com.microsoft.Inverse")
def inverse(g: Graph, op: str) -> None:
    n = g.whole(1, 4)
    x = g.operand("float32", (g.whole(1, 3), n, n), "normal")
    g.add("Inverse", [x], "mixing", domain="com.microsoft")


@recipe("com.microsoft.FusedConv", "com.microsoft.FusedGemm")
def fused(g: Graph, op: str) -> None:
    word = g.pick(["Relu", "Tanh", "Sigmoid"])
    given: dict[str, object] = {"activation": word}
    if op.endswith("Gemm"):
        m, k, n = g.whole(1, 5), g.whole(1, 9), g.whole(1, 17)
        shapes = [(m, k), (k, n), (n,)]
    else:
        c, f = g.whole(1, 4), g.whole(1, 17)
        shapes = [(1, c, g.whole(3, 6), g.whole(3, 6)), (f, c, 3, 3), (f,)]
        given["pads"] = g.pick([None, [1, 1, 1, 1]])
    operands = [g.operand("float32", shape, "normal") for shape in shapes]
    g.add(op.rpartition(".")[2], operands, "mixing", domain="com.microsoft", **given)


@recipe("com.microsoft.GroupQueryAttention")
def grouped(g: Graph, op: str) -> None:
    batch, length, groups, size = 1, g.whole(1, 5), g.whole(1, 2), 8
    heads = groups * g.whole(1, 2)
    q = g.operand("float32", (batch, length, heads * size), "normal")
    k, v = (g.operand("float32", (batch, length, groups * size), "normal") for _ in range(2))
    ends = [g.known([length - 1], "int32"), g.known(length, "int32")]
    given = {"num_heads": heads, "kv_num_heads": groups}
    operands = [q, k, v, "", "", *ends]
    g.add("GroupQueryAttention", operands, "mixing", outputs=3, domain="com.microsoft", **given)


@recipe("com.microsoft.EmbedLayerNormalization")
def embedding(g: Graph, op: str) -> None:
    batch, length, width = g.whole(1, 2), g.whole(1, 4), g.pick([4, 8])
    ids, segments = (g.operand("int32", (batch, length), "between:0:2") for _ in range(2))
    tables = [g.operand("float32", (rows, width), "normal") for rows in (5, 6, 2)]
    vectors = [g.operand("float32", (width,), "normal") for _ in range(2)]
    operands = [ids, segments, *tables, *vectors]
    g.add("EmbedLayerNormalization", operands, "mixing", outputs=2, domain="com.microsoft")
