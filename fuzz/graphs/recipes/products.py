"""Matrix products."""

from __future__ import annotations

from fuzz.graphs.graph import Graph, recipe, schema_types
from fuzz.graphs.numbers import FLOATS
from fuzz.graphs.recipes.reductions import tame

EQUATIONS = {
    "ij,jk->ik": "ij jk",
    "bij,bjk->bik": "bij bjk",
    "ij->ji": "ij",
    "ij->": "ij",
    "ii->i": "ii",
    "ij,ij->i": "ij ij",
    "i,j->ij": "i j",
    "bhqd,bhkd->bhqk": "bhqd bhkd",
    "ij,jk": "ij jk",
    "...ij,...jk->...ik": "bij jk",
    "abc,cd,d->ab": "abc cd d",
    "ij,kj->ik": "ij kj",
    "bij,kj->bki": "bij kj",
}


@recipe("MatMul")
def matmul(g: Graph, op: str) -> None:
    x = tame(g, schema_types(op), least=1)
    *batch, k = g.shape(x)
    lead = batch[:-1]
    kept = lead[g.whole(0, len(lead)) :]
    tail = (k, g.size()) if g.flag() else (k, g.pick([1, 16, 33]))
    y = g.operand(g.dtype(x), (k,) if g.whole(0, 7) == 7 else (*kept, *tail), "normal")
    g.add(op, [x, y], "mixing" if g.dtype(x) in FLOATS else "exact")


@recipe("Gemm")
def gemm(g: Graph, op: str) -> None:
    x = tame(g, schema_types(op), rank=2)
    flips = {"transA": g.whole(0, 1), "transB": g.whole(0, 1)}
    rows, k = g.shape(x)[:: -1 if flips["transA"] else 1]
    columns = g.size()
    y = g.operand(g.dtype(x), (columns, k) if flips["transB"] else (k, columns), "normal")
    shapes = [(columns,), (1, columns), (rows, 1), (rows, columns), ()]
    c = [g.operand(g.dtype(x), g.pick(shapes), "normal")] if g.flag() else []
    scales = {}
    if g.dtype(x) in FLOATS:
        scales = {"alpha": g.pick([None, 0.5]), "beta": g.pick([None, 2.0])}
    how = "mixing" if g.dtype(x) in FLOATS else "exact"
    most = 0 if g.dtype(x) in FLOATS else 1000  # the reference scales integers as floats
    g.add(op, [x, y, *c], how, most=most, **flips, **scales)


@recipe("Einsum")
def einsum(g: Graph, op: str) -> None:
    equation = g.pick(list(EQUATIONS))
    sizes = {letter: g.pick([1, 2, 3, 5, 8]) for letter in "abcdhijkq"}
    dtype = g.pick([t for t in schema_types(op) if t in g.types])
    shapes = [tuple(sizes[c] for c in term) for term in EQUATIONS[equation].split()]
    operands = [g.operand(dtype, shape, g.pick(["normal", "whole"])) for shape in shapes]
    g.add(op, operands, "mixing" if dtype in FLOATS else "exact", equation=equation)


@recipe("com.microsoft.FusedMatMul")
def fused(g: Graph, op: str) -> None:
    flips = {"transA": g.whole(0, 1), "transB": g.whole(0, 1)}
    m, k, n = g.size(), g.size(), g.size()
    a = g.operand("float32", (k, m) if flips["transA"] else (m, k), "normal")
    b = g.operand("float32", (n, k) if flips["transB"] else (k, n), "normal")
    g.add("FusedMatMul", [a, b], "mixing", domain="com.microsoft", alpha=0.5, **flips)


@recipe("com.microsoft.MatMulNBits")
def few_bits(g: Graph, op: str) -> None:
    n, k, block, bits = g.whole(1, 9), g.pick([16, 32, 48]), g.pick([16, 32]), g.pick([4, 8])
    blocks = -(-k // block)
    x = g.operand("float32", (*g.sizes(g.whole(1, 2), 20), k), "normal")
    b = g.operand("uint8", (n, blocks, block * bits // 8), "between:0:256")
    scales = g.operand("float32", (n, blocks), "positive")
    zeros = []
    if g.flag():
        zeros = [g.operand("uint8", (n, -(-blocks * bits // 8)), "between:0:256")]
    sizes = {"K": k, "N": n, "bits": bits, "block_size": block}
    g.add("MatMulNBits", [x, b, scales, *zeros], "mixing", domain="com.microsoft", **sizes)
