"""com.microsoft: products, windows, movements and the like."""

from __future__ import annotations

from typing import Any

from fuzz.graphs.graph import Graph, recipe
from fuzz.graphs.recipes.elementwise import partner
from fuzz.graphs.recipes.movement import axis_of
from fuzz.graphs.recipes.old_windows import add_grid_sample

CONTRIB = "com.microsoft"
REAL = ("float32", "float64", "float16")
BYTES = ("uint8", "int8")


def named(op: str) -> str:
    """Return the name of an operator without its domain."""
    return op.rpartition(".")[2]


@recipe(f"{CONTRIB}.Gelu", f"{CONTRIB}.ScaledSiLU")
def activation(g: Graph, op: str) -> None:
    x = g.value(["float32"], least=1, kind="normal")
    given = {"alpha": g.pick([None, 0.5])} if op.endswith("SiLU") else {}
    g.add(named(op), [x], "mixing", domain=CONTRIB, **given)


@recipe(f"{CONTRIB}.TransposeMatMul")
def transposed(g: Graph, op: str) -> None:
    m, k, n = g.size(), g.size(), g.size()
    flips = [g.pick([None, 0, 1]) for _ in range(2)]
    batch = g.sizes(g.whole(0, 2), 6)
    a = g.operand("float32", (*batch, k, m) if flips[0] else (*batch, m, k), "normal")
    rest = batch if g.flag() else ()
    b = g.operand("float32", (*rest, n, k) if flips[1] else (*rest, k, n), "normal")
    given = {"transA": flips[0], "transB": flips[1], "alpha": g.pick([None, 0.5])}
    g.add(named(op), [a, b], "mixing", domain=CONTRIB, **given)


@recipe(f"{CONTRIB}.CDist")
def distances(g: Graph, op: str) -> None:
    m, n, k = g.whole(1, 5), g.whole(1, 5), g.whole(1, 17)
    dtype = g.pick(["float32", "float64"])
    a, b = g.operand(dtype, (m, k), "normal"), g.operand(dtype, (n, k), "normal")
    metric = g.pick([None, "sqeuclidean", "euclidean"])
    g.add(named(op), [a, b], "mixing", domain=CONTRIB, metric=metric)


@recipe(f"{CONTRIB}.Trilu")
def trilu(g: Graph, op: str) -> None:
    x = g.value(["float32", "int64", "float64", "bool"], least=2)
    k = [g.known(g.whole(-4, 4))] if g.flag() else []
    g.add(named(op), [x, *k], "exact", domain=CONTRIB, upper=g.pick([None, 0, 1]))


@recipe(f"{CONTRIB}.UnfoldTensor")
def unfold(g: Graph, op: str) -> None:
    x = g.value(["float32", "int64", "float64", "uint8"], least=1)
    dim = axis_of(g, x)
    size = g.shape(x)[dim]
    if size:
        given = {"dim": dim, "size": g.whole(1, size), "step": g.pick([None, 1, 2])}
        g.add(named(op), [x], "exact", domain=CONTRIB, **given)


@recipe(f"{CONTRIB}.ExpandDims")
def expand_dims(g: Graph, op: str) -> None:
    x = g.value(["float32", "int64", "bool"])
    axis = g.known(axis_of(g, x, 1), "int32")
    g.add(named(op), [x, axis], "exact", domain=CONTRIB)


@recipe(f"{CONTRIB}.Range")
def count(g: Graph, op: str) -> None:
    dtype = g.pick(["float32", "float64", "int16", "int32", "int64"])
    low, step = g.whole(-5, 5), g.pick([1, 2, -1, 3])
    numbers = [low, low + step * g.whole(0, 5) + g.pick([0, 1, -1]), step]
    operands = [g.known(n, dtype) for n in numbers[: 2 if step == 1 else 3]]
    g.add(named(op), operands, domain=CONTRIB)


@recipe(f"{CONTRIB}.GatherND")
def gather(g: Graph, op: str) -> None:
    shape = tuple(g.whole(1, 4) for _ in range(g.whole(1, 3)))
    x = g.operand(g.pick(["float32", "int32", "int64"]), shape)
    depth, rows = g.whole(1, len(shape)), g.whole(1, 3)
    places = [[g.whole(-size, size - 1) for size in shape[:depth]] for _ in range(rows)]
    index = g.known(places, g.pick(["int32", "int64"]))
    g.add(named(op), [x, index], "exact", domain=CONTRIB)


@recipe(f"{CONTRIB}.Pad")
def pad(g: Graph, op: str) -> None:
    x = g.value(REAL, least=1)
    mode = g.pick([None, "constant", "reflect", "edge"])
    room = [min(size - 1, 2) if mode == "reflect" else 2 for size in g.shape(x)]
    pads = [g.whole(0, max(most, 0)) for most in room * 2]
    value = [g.operand(g.dtype(x), (1,), "whole")] if mode in (None, "constant") else []
    pads_ = g.known(g.pick([pads, [pads]]))
    g.add(named(op), [x, pads_, *value], "exact", domain=CONTRIB, mode=mode)


@recipe(f"{CONTRIB}.GridSample")
def grid_sample(g: Graph, op: str) -> None:
    add_grid_sample(g, named(op), CONTRIB)


@recipe(f"{CONTRIB}.CropAndResize")
def crop(g: Graph, op: str) -> None:
    x = g.operand("float32", (2, g.whole(1, 2), g.whole(1, 5), g.whole(1, 5)), "normal")
    count_ = g.whole(1, 3)
    rois = g.operand("float32", (count_, 4), "between:-0.2:1.2")
    index = g.operand("int32", (count_,), "between:0:2")
    size = g.known([g.whole(1, 4), g.whole(1, 4)], "int32")
    given = {"mode": g.pick([None, "bilinear", "nearest"])}
    given["extrapolation_value"] = g.pick([None, 7.5])
    g.add(named(op), [x, rois, index, size], "mixing", domain=CONTRIB, **given)


@recipe(f"{CONTRIB}.ConvTransposeWithDynamicPads")
def transposed_conv(g: Graph, op: str) -> None:
    x = g.operand("float32", (1, 2, g.whole(1, 4), g.whole(1, 4)), "normal")
    w = g.operand("float32", (2, g.whole(1, 2), 3, 3), "normal")
    pads = [g.known([g.whole(0, 1) for _ in range(4)])]
    b = [g.operand("float32", (g.shape(w)[1],), "normal")] if g.flag() else []
    strides = g.pick([None, [2, 2], [1, 2]])
    g.add(named(op), [x, w, *pads, *b], "mixing", domain=CONTRIB, strides=strides)


@recipe(f"{CONTRIB}.NGramRepeatBlock")
def repeats(g: Graph, op: str) -> None:
    rows, length, words = g.whole(1, 3), g.whole(1, 6), g.whole(2, 4)
    ids = g.operand("int64", (rows, length), f"between:0:{words}")
    scores = g.operand("float32", (rows, words), "normal")
    g.add(named(op), [ids, scores], "exact", domain=CONTRIB, ngram_size=g.whole(1, 3))


@recipe(f"{CONTRIB}.NhwcMaxPool")
def pool(g: Graph, op: str) -> None:
    x = g.operand(g.pick(BYTES), (g.whole(1, 2), g.whole(2, 6), g.whole(2, 6), g.whole(1, 3)))
    given: dict[str, Any] = {"kernel_shape": [g.whole(1, 2), g.whole(1, 2)]}
    given["strides"] = g.pick([None, [2, 1]])
    given["ceil_mode"] = g.pick([None, 1])
    given["pads"] = g.pick([None, [0, 0, *(k - 1 for k in given["kernel_shape"])]])
    g.add(named(op), [x], "exact", domain=CONTRIB, **given)


@recipe(f"{CONTRIB}.GatedAdd")
def gated(g: Graph, op: str) -> None:
    x = g.value(["float32"], rank=3, kind="normal")
    others = [g.operand("float32", g.shape(x), "normal") for _ in range(2)]
    weight = [partner(g, x, "normal")] if g.whole(0, 3) == 3 else []
    g.add(named(op), [x, *others, *weight], "mixing", domain=CONTRIB)


@recipe(f"{CONTRIB}.MoE")
def experts(g: Graph, op: str) -> None:
    rows, hidden, inner, count_ = g.whole(1, 4), g.pick([4, 8]), g.pick([4, 8]), g.whole(2, 4)
    kind = g.pick([None, "relu", "gelu", "silu", "identity"])
    x = g.operand("float32", g.pick([(rows, hidden), (1, rows, hidden)]), "normal")
    router = g.operand("float32", (rows, count_), "normal")
    first = g.operand("float32", (count_, inner, hidden), "normal")
    last = g.operand("float32", (count_, hidden, inner), "normal")
    bias = [
        g.operand("float32", (count_, n), "normal") if g.flag() else "" for n in (inner, hidden)
    ]
    operands = [x, router, first, bias[0], last, *([bias[1]] if bias[1] else [])]
    given: dict[str, Any] = {"k": g.whole(1, 2), "activation_type": kind}
    given["normalize_routing_weights"] = g.pick([None, 0, 1])
    g.add(named(op), operands, "mixing", domain=CONTRIB, **given)


@recipe(f"{CONTRIB}.BranchwiseRMSNorm")
def branches(g: Graph, op: str) -> None:
    n = g.whole(1, 3)
    x = g.operand("float32", (*g.sizes(2, 20), n * g.pick([2, 4])), "normal")
    scale = [g.operand("float32", (g.shape(x)[-1],), "normal")] if g.flag() else []
    given = {"num_branches": n, "epsilon": g.pick([None, 0.01])}
    g.add(named(op), [x, *scale], "mixing", domain=CONTRIB, **given)


@recipe(f"{CONTRIB}.MatMulBnb4")
def four_bits(g: Graph, op: str) -> None:
    k, n, block = g.pick([16, 32, 64]), g.whole(1, 5), g.pick([16, 32, 64])
    x = g.operand("float32", (*g.sizes(g.whole(1, 2), 4), k), "normal")
    b = g.operand("uint8", ((n * k + 1) // 2,), "extreme")
    most = g.operand("float32", ((n * k + block - 1) // block,), "positive")
    given = {"K": k, "N": n, "block_size": block, "quant_type": g.whole(0, 1)}
    g.add(named(op), [x, b, most], "mixing", domain=CONTRIB, **given)


@recipe(f"{CONTRIB}.GatherBlockQuantized")
def packed_rows(g: Graph, op: str) -> None:
    rows, width, block = g.whole(1, 5), g.pick([16, 32, 48]), g.pick([16, 32])
    dtype = g.pick(["uint8", "uint4", "int4"])
    bits = g.pick([4, 8]) if dtype == "uint8" else 4
    stored = width // 2 if dtype == "uint8" and bits == 4 else width
    x = g.operand(dtype, (rows, stored), "extreme")
    blocks = (width + block - 1) // block
    scales = g.operand("float32", (rows, blocks), "positive")
    index = g.operand(g.pick(["int32", "int64"]), g.sizes(g.whole(0, 2), 8), f"between:0:{rows}")
    given = {"block_size": block, "gather_axis": 0, "quantize_axis": 1}
    given |= {"bits": bits} if dtype == "uint8" else {}
    zeros = [g.operand(dtype, (rows, blocks))] if dtype != "uint8" and g.flag() else []
    g.add(named(op), [x, index, scales, *zeros], "mixing", domain=CONTRIB, **given)
