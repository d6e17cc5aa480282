"""Quantised tensors."""

from __future__ import annotations

from fuzz.graphs.graph import Graph, recipe, schema_types
from fuzz.graphs.recipes.movement import axis_of

BYTES = ("uint8", "int8")
CONTRIB = "com.microsoft"


def some(g: Graph, types: tuple[str, ...]) -> str:
    """Draw one of the types that the graph may use."""
    return g.pick([t for t in types if t in g.types] or list(types))


@recipe("QuantizeLinear")
def quantize(g: Graph, op: str) -> None:
    x = g.value([t for t in schema_types(op, "T1") if "float" in t], least=1)
    axis = axis_of(g, x)
    shape = g.pick([(), (g.shape(x)[axis],)])
    scale = g.operand(g.dtype(x), shape, "positive")
    to = some(g, schema_types(op, "T3"))
    zero = [g.operand(to, shape, "zero" if "float" in to else "whole")] if g.whole(0, 3) else []
    g.add(op, [x, scale, *zero], "exact", most=1e3, axis=axis)


@recipe("DequantizeLinear")
def dequantize(g: Graph, op: str) -> None:
    x = g.value(schema_types(op, "T1"), least=1)
    axis = axis_of(g, x)
    shape = g.pick([(), (g.shape(x)[axis],)])
    scale = g.operand(some(g, schema_types(op, "T2")[:3]), shape, "positive")
    kind = "zero" if "float" in g.dtype(x) or g.dtype(x) == "int32" else "whole"
    zero = [g.operand(g.dtype(x), shape, kind)] if g.whole(0, 3) else []
    g.add(op, [x, scale, *zero], "local", axis=axis)


@recipe("DequantizeLinear.blocked")
def dequantize_blocks(g: Graph, op: str) -> None:
    block, blocks, columns = g.pick([2, 3, 16]), g.whole(1, 3), g.whole(1, 5)
    dtype = some(g, ("int4", "uint4", "int8", "uint8", "int2", "uint2"))
    x = g.operand(dtype, (block * blocks, columns), "whole")
    scale = g.operand(some(g, ("float32", "float16")), (blocks, columns), "positive")
    zero = [g.operand(dtype, (blocks, columns), "whole")] if g.flag() else []
    g.add("DequantizeLinear", [x, scale, *zero], "local", axis=0, block_size=block)


@recipe("DynamicQuantizeLinear")
def dynamic(g: Graph, op: str) -> None:
    g.add(
        op,
        [g.operand("float32", g.sizes(g.whole(0, 3)), g.pick(["normal", "whole"]))],
        "local",
        outputs=3,
    )


@recipe("MatMulInteger")
def matmul_integer(g: Graph, op: str) -> None:
    m, k, n = g.size(), g.size(), g.size()
    types = [g.pick(BYTES) for _ in range(2)]
    a = g.operand(types[0], (*g.sizes(g.whole(0, 1), 5), m, k), g.pick(["whole", "extreme"]))
    b = g.operand(types[1], (k, n), g.pick(["whole", "extreme"]))
    zeros = [g.operand(types[0], (), "whole"), g.operand(types[1], g.pick([(), (n,)]), "whole")]
    g.add(op, [a, b, *zeros[: g.whole(0, 2)]], "exact")


def three(g: Graph, kinds: list[str], channels: int | None = None) -> list[list[str]]:
    """Return scale and zero point of each of two operands and the result."""
    shapes = [(), () if channels is None or g.flag() else (channels,), ()]
    return [
        [g.operand("float32", s, "positive"), g.operand(k, s, "whole" if s == () else "zero")]
        for k, s in zip(kinds, shapes, strict=True)
    ]


@recipe("QLinearMatMul")
def qlinear_matmul(g: Graph, op: str) -> None:
    m, k, n = g.size(), g.size(), g.size()
    kinds = [g.pick(BYTES) for _ in range(2)]
    kinds.append(kinds[0])
    a = g.operand(kinds[0], (m, k), g.pick(["whole", "extreme"]))
    b = g.operand(kinds[1], (k, n), g.pick(["whole", "extreme"]))
    left, right, result = three(g, kinds, n)
    g.add(op, [a, *left, b, *right, *result], "exact")


@recipe("QLinearConv", "ConvInteger")
def qlinear_conv(g: Graph, op: str) -> None:
    rank, channels, features = g.whole(1, 2), g.whole(1, 4), g.whole(1, 5)
    kinds = [g.pick(BYTES) for _ in range(2)]
    kinds.append(kinds[0])
    sizes = [g.whole(3, 6) for _ in range(rank)]
    x = g.operand(kinds[0], (g.whole(1, 2), channels, *sizes), g.pick(["whole", "extreme"]))
    kernel = [g.whole(1, 3) for _ in range(rank)]
    w = g.operand(kinds[1], (features, channels, *kernel), g.pick(["whole", "extreme"]))
    given = {"pads": [g.whole(0, 1) for _ in range(2 * rank)], "strides": [1] * rank}
    left, right, result = three(g, kinds, features)
    if op == "ConvInteger":
        g.add(
            op,
            [x, w, left[1], g.operand(kinds[1], (), "whole")][: g.pick([2, 3, 4])],
            "exact",
            **given,
        )
        return
    bias = [g.operand("int32", (features,), "whole")] if g.flag() else []
    g.add(op, [x, *left, w, *right, *result, *bias], "exact", **given)


@recipe(f"{CONTRIB}.QLinearAdd", f"{CONTRIB}.QLinearMul")
def qlinear_binary(g: Graph, op: str) -> None:
    kind = g.pick(BYTES)
    shape = g.sizes(g.whole(1, 3), 200)
    a, b = (g.operand(kind, shape, g.pick(["whole", "extreme"])) for _ in range(2))
    left, right, result = three(g, [kind] * 3)
    g.add(op.rpartition(".")[2], [a, *left, b, *right, *result], "exact", domain=CONTRIB)


@recipe(f"{CONTRIB}.DynamicQuantizeMatMul", f"{CONTRIB}.MatMulIntegerToFloat")
def to_float(g: Graph, op: str) -> None:
    m, k, n = g.size(), g.size(), g.size()
    kind = g.pick(BYTES)
    b = g.operand(kind, (k, n), g.pick(["whole", "extreme"]))
    scale, zero = g.operand("float32", (), "positive"), g.operand(kind, (), "whole")
    if op.endswith("Float"):
        a = g.operand("uint8", (m, k), "extreme")
        more = [g.operand("float32", (), "positive"), scale, g.operand("uint8", (), "whole"), zero]
        g.add("MatMulIntegerToFloat", [a, b, *more], "mixing", domain=CONTRIB)
    else:
        a = g.operand("float32", (m, k), "normal")
        g.add("DynamicQuantizeMatMul", [a, b, scale, zero], "mixing", domain=CONTRIB)
