"""com.microsoft on quantised tensors: results may be a unit off, where a runtime rounds twice."""

from __future__ import annotations

from typing import Any

from fuzz.graphs.graph import Graph, recipe

CONTRIB = "com.microsoft"
BYTES = ("uint8", "int8")


def named(op: str) -> str:
    """Return the name of an operator without its domain."""
    return op.rpartition(".")[2]


def pair(g: Graph, kind: str) -> list[str]:
    """Return a scale and a zero point."""
    return [g.operand("float32", (), "between:0.02:0.2"), g.operand(kind, (), "whole")]


def flag_of(g: Graph, operands: list[str]) -> list[str]:
    """Return a scale and a zero point, or the scale alone."""
    return operands if g.flag() else [operands[0], ""]


@recipe(f"{CONTRIB}.QLinearSigmoid", f"{CONTRIB}.QLinearLeakyRelu")
def activation(g: Graph, op: str) -> None:
    kind = g.pick(BYTES)
    x = g.operand(kind, g.sizes(g.whole(1, 3), 200), g.pick(["whole", "extreme"]))
    given = {"alpha": g.pick([None, 0.25])} if op.endswith("Relu") else {}
    scales = [*flag_of(g, pair(g, kind)), *pair(g, kind)]
    g.add(named(op), [x, *scales], "unit", domain=CONTRIB, **given)


@recipe(f"{CONTRIB}.QLinearSoftmax")
def softmax(g: Graph, op: str) -> None:
    kind = g.pick(BYTES)
    x = g.operand(kind, g.sizes(g.whole(1, 3), 200), g.pick(["whole", "extreme"]))
    axis = g.whole(-len(g.shape(x)), len(g.shape(x)) - 1)
    given = {"axis": axis, "opset": g.pick([11, 13])}
    scales = [*flag_of(g, pair(g, kind)), *pair(g, kind)]
    g.add(named(op), [x, *scales], "unit", domain=CONTRIB, **given)


@recipe(f"{CONTRIB}.QLinearAveragePool", f"{CONTRIB}.QLinearGlobalAveragePool")
def pool(g: Graph, op: str) -> None:
    kind = g.pick(BYTES)
    last = g.pick([0, 1])
    sizes = [g.whole(2, 6), g.whole(2, 6)]
    channels = g.whole(1, 3)
    shape = (1, *sizes, channels) if last else (1, channels, *sizes)
    x = g.operand(kind, shape, g.pick(["whole", "extreme"]))
    given: dict[str, Any] = {"channels_last": last}
    if "Global" not in op:
        given["kernel_shape"] = [g.whole(1, 2), g.whole(1, 2)]
        given["strides"] = g.pick([None, [2, 1]])
        given["pads"] = g.pick([None, [0, 0, *(k - 1 for k in given["kernel_shape"])]])
        given["count_include_pad"] = g.pick([None, 1])
        given["ceil_mode"] = g.pick([None, 1])
    g.add(named(op), [x, *pair(g, kind), *pair(g, kind)], "unit", domain=CONTRIB, **given)


@recipe(f"{CONTRIB}.QLinearConcat")
def concat(g: Graph, op: str) -> None:
    kind = g.pick(BYTES)
    shape = list(g.sizes(g.whole(1, 3), 100))
    axis = g.whole(-len(shape), len(shape) - 1)
    operands = pair(g, kind)
    for _ in range(g.whole(1, 3)):
        shape[axis] = g.whole(1, 4)
        operands += [g.operand(kind, tuple(shape), "extreme"), *pair(g, kind)]
    g.add(named(op), operands, "unit", domain=CONTRIB, axis=axis)


@recipe(f"{CONTRIB}.QLinearWhere")
def where(g: Graph, op: str) -> None:
    kind = g.pick(BYTES)
    shape = g.sizes(g.whole(1, 3), 100)
    condition = g.operand("bool", tuple(s if g.flag() else 1 for s in shape))
    operands = [condition]
    for _ in range(2):
        operands += [g.operand(kind, shape, "extreme"), *pair(g, kind)]
    g.add(named(op), [*operands, *pair(g, kind)], "unit", domain=CONTRIB)


@recipe(f"{CONTRIB}.QGemm")
def gemm(g: Graph, op: str) -> None:
    m, k, n = g.whole(1, 5), g.whole(1, 9), g.whole(1, 5)
    left, right = g.pick([("uint8", "int8"), ("uint8", "uint8"), ("int8", "int8")])
    flips = [g.pick([None, 0, 1]) for _ in range(2)]
    a = g.operand(left, (k, m) if flips[0] else (m, k), "extreme")
    b = g.operand(right, (n, k) if flips[1] else (k, n), "extreme")
    shape = g.pick([(), (n,)])
    scale = g.operand("float32", shape, "between:0.02:0.2")
    zero = g.operand(right, shape, "whole")
    c = g.operand("int32", g.pick([(n,), (m, n), (1, n)]), "whole") if g.flag() else ""
    result = pair(g, left) if g.flag() else []
    operands = [a, *pair(g, left), b, scale, zero, *([c] if c or result else []), *result]
    given = {"transA": flips[0], "transB": flips[1], "alpha": g.pick([None, 0.5])}
    g.add(named(op), operands, "unit" if result else "mixing", domain=CONTRIB, **given)


@recipe(f"{CONTRIB}.QLinearConv")
def conv(g: Graph, op: str) -> None:
    left, right = g.pick([("uint8", "int8"), ("uint8", "uint8"), ("int8", "int8")])
    last, group = g.pick([0, 1]), g.whole(1, 2)
    channels, sizes = group * g.whole(1, 2), [g.whole(3, 6), g.whole(3, 6)]
    shape = (1, *sizes, channels) if last else (1, channels, *sizes)
    x = g.operand(left, shape, "extreme")
    features = group * g.whole(1, 3)
    kernel = [g.whole(1, 3), g.whole(1, 3)]
    w = g.operand(right, (features, channels // group, *kernel), "extreme")
    shape = g.pick([(), (features,)])
    scale = g.operand("float32", shape, "between:0.02:0.2")
    zero = g.operand(right, shape, g.pick(["zero", "whole"]) if shape == () else "zero")
    b = [g.operand("int32", (features,), "whole")] if g.flag() else []
    operands = [x, *pair(g, left), w, scale, zero, *pair(g, left), *b]
    given = {"channels_last": last, "group": group, "pads": g.pick([None, [1, 0, 0, 1]])}
    given["strides"] = g.pick([None, [2, 1]])
    g.add(named(op), operands, "unit", domain=CONTRIB, **given)


@recipe(f"{CONTRIB}.QuantizeLinear", f"{CONTRIB}.DequantizeLinear")
def linear(g: Graph, op: str) -> None:
    kind = g.pick(["uint8", "int8", "int16", "uint16"])
    shape = g.sizes(g.whole(1, 3), 100)
    axis = g.whole(0, len(shape) - 1)
    each = (shape[axis],) if g.flag() else ()
    scale = g.operand("float32", each, "between:0.02:0.2")
    zero = g.operand(kind, each, "whole")
    given = {"axis": axis} if each else {}
    if named(op) == "QuantizeLinear":
        x = g.operand("float32", shape, "normal")
        g.add("QuantizeLinear", [x, scale, zero], "unit", domain=CONTRIB, **given)
    else:
        x = g.operand(kind, shape, "extreme")
        last = [] if g.flag() else [zero]
        g.add("DequantizeLinear", [x, scale, *last], domain=CONTRIB, **given)


@recipe(f"{CONTRIB}.QAttention")
def attention(g: Graph, op: str) -> None:
    batch, rows, heads, width = g.whole(1, 2), g.whole(1, 4), g.whole(1, 2), g.pick([2, 4])
    hidden = heads * width
    x = g.operand("uint8", (batch, rows, hidden), "extreme")
    kind = g.pick(BYTES)
    w = g.operand(kind, (hidden, 3 * hidden), "extreme")
    bias = g.operand("float32", (3 * hidden,), "normal")
    scales = [g.operand("float32", g.pick([(), (1,)]), "between:0.005:0.02") for _ in range(2)]
    mask = g.pick(["", "rows", "ends"])
    if mask == "rows":
        mask = g.operand("int32", (batch, rows), "between:0:2")
    elif mask == "ends":
        mask = g.operand("int32", (batch,), f"between:1:{rows + 1}")
    zeros = [g.operand("uint8", (), "whole"), g.operand(kind, (), "whole")]
    given = {"num_heads": heads, "unidirectional": g.pick([None, 0, 1])}
    g.add(named(op), [x, w, bias, *scales, mask, *zeros], "mixing", domain=CONTRIB, **given)


@recipe(f"{CONTRIB}.DynamicQuantizeLSTM")
def recurrent(g: Graph, op: str) -> None:
    steps, batch, width, hidden = g.whole(1, 3), g.whole(1, 2), g.whole(1, 4), g.whole(1, 4)
    direction = g.pick([None, "forward", "reverse", "bidirectional"])
    ways = 1 + (direction == "bidirectional")
    x = g.operand("float32", (steps, batch, width), "normal")
    kind = g.pick(BYTES)
    w = g.operand(kind, (ways, width, 4 * hidden), "extreme")
    r = g.operand(kind, (ways, hidden, 4 * hidden), "extreme")
    b = g.operand("float32", (ways, 8 * hidden), "normal") if g.flag() else ""
    scales: list[str] = []
    for _ in range(2):
        scales.append(g.operand("float32", (ways,), "between:0.005:0.02"))
        scales.append(g.operand(kind, (ways,), "zero"))
    operands = [x, w, r, b, "", "", "", "", *scales]
    given = {"hidden_size": hidden, "direction": direction}
    g.add(named(op), operands, "mixing", outputs=3, domain=CONTRIB, **given)
