"""Attention and what goes with it."""

from __future__ import annotations

from typing import Any

from fuzz.graphs.graph import Graph, recipe, schema_types

CONTRIB = "com.microsoft"


@recipe("Attention")
def attention(g: Graph, op: str) -> None:
    dtype = g.pick([t for t in schema_types(op, "T1") if t in g.types])
    batch, queries, keys, width = g.whole(1, 2), g.whole(1, 5), g.whole(1, 6), g.pick([1, 4, 8])
    kv_heads = g.whole(1, 2)
    heads = kv_heads * g.whole(1, 2)
    sizes = [(heads, queries), (kv_heads, keys), (kv_heads, keys)]
    flat = g.flag()
    given: dict[str, Any] = {}
    if flat:
        shapes = [(batch, rows, count * width) for count, rows in sizes]
        given = {"q_num_heads": heads, "kv_num_heads": kv_heads}
    else:
        shapes = [(batch, count, rows, width) for count, rows in sizes]
    operands = [g.operand(dtype, shape, "normal") for shape in shapes]
    if g.flag():
        full = (batch, heads, queries, keys)
        shape = g.pick([full, full[2:], (batch, 1, *full[2:])])
        operands.append(g.operand(g.pick(["bool", dtype]), shape, "normal"))
    given["is_causal"] = g.pick([None, 0, 1])
    given["scale"] = g.pick([None, 0.5])
    given["softcap"] = g.pick([None, None, 2.0])
    g.add(op, operands, "mixing", **given)


@recipe(f"{CONTRIB}.MultiHeadAttention")
def multi_head(g: Graph, op: str) -> None:
    batch, queries, keys, width, heads = (
        1,
        g.whole(1, 4),
        g.whole(1, 6),
        g.pick([1, 4]),
        g.whole(1, 3),
    )
    shapes = [(batch, queries, heads * width)] + [(batch, keys, heads * width)] * 2
    operands = [g.operand("float32", shape, "normal") for shape in shapes]
    given = {"num_heads": heads, "scale": g.pick([None, 0.5])}
    g.add("MultiHeadAttention", operands, "mixing", domain=CONTRIB, **given)


@recipe("RotaryEmbedding")
def rotary(g: Graph, op: str) -> None:
    dtype = g.pick([t for t in schema_types(op) if t in g.types])
    batch, heads, rows, half = g.whole(1, 2), g.whole(1, 2), g.whole(1, 4), g.whole(1, 3)
    x = g.operand(dtype, (batch, heads, rows, 2 * half), "normal")
    tables = [g.operand(dtype, (6, half), "normal") for _ in range(2)]
    places = g.operand("int64", (batch, rows), "between:0:6")
    g.add(op, [x, *tables, places], "mixing", interleaved=g.pick([None, 0, 1]))


@recipe("SwiGLU")
def gated(g: Graph, op: str) -> None:
    x = g.value(schema_types(op), least=1)
    g.add(op, [x, g.operand(g.dtype(x), g.shape(x))], alpha=g.pick([None, 1.5]))


@recipe(f"{CONTRIB}.Attention")
def merged(g: Graph, op: str) -> None:
    """One matrix makes queries, keys and values; a mask of rows, or of how long each batch is."""
    batch, rows, heads, width = g.whole(1, 2), g.whole(1, 5), g.whole(1, 3), g.pick([2, 4])
    hidden, inner = g.whole(1, 6), heads * width
    x = g.operand("float32", (batch, rows, hidden), "normal")
    w = g.operand("float32", (hidden, 3 * inner), "normal")
    b = g.operand("float32", (3 * inner,), "normal") if g.flag() else ""
    masks = {
        "none": lambda: "",
        "rows": lambda: g.known([[1] * (rows - 1) + [g.whole(0, 1)]] * batch, "int32"),
        "ends": lambda: g.known([g.whole(1, rows) for _ in range(batch)], "int32"),
    }
    operands = [x, w, b, masks[g.pick(list(masks))](), ""]
    if g.flag():
        operands.append(g.operand("float32", (g.pick([1, batch]), heads, rows, rows), "normal"))
    given = {"num_heads": heads, "unidirectional": g.pick([None, 0, 1])}
    given["scale"] = g.pick([None, None, 0.5])
    g.add("Attention", operands, "mixing", domain=CONTRIB, **given)


@recipe(f"{CONTRIB}.RotaryEmbedding")
def rotated(g: Graph, op: str) -> None:
    """Queries of three or four axes; part of each head may stay as it is."""
    batch, heads, rows, half = g.whole(1, 2), g.whole(1, 3), g.whole(1, 4), g.whole(1, 3)
    size = 8  # of a head: a multiple of 8 is what runtimes take
    part = g.pick([None, 2 * half]) if g.flag() else None
    turned = (part or size) // 2
    shape = g.pick([(batch, heads, rows, size), (batch, rows, heads * size)])
    x = g.operand("float32", shape, "normal")
    places = g.pick([(1,), (batch, rows)])
    where = g.operand("int64", places, "zero" if places == (1,) else "between:0:6")
    tables = [g.operand("float32", (6, turned), "normal") for _ in range(2)]
    given = {"interleaved": g.pick([None, 0, 1]), "rotary_embedding_dim": part}
    given["num_heads"] = heads if part or len(shape) == 3 else None
    g.add("RotaryEmbedding", [x, where, *tables], "mixing", domain=CONTRIB, **given)
