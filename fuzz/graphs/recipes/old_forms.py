"""Forms that older versions of ai.onnx have: attributes where there are operands now."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto, helper

from fuzz.graphs.graph import Graph, old
from fuzz.graphs.numbers import FLOATS, SIGNED, UNSIGNED
from fuzz.graphs.recipes.elementwise import partner
from fuzz.graphs.recipes.movement import axis_of
from fuzz.graphs.recipes.reductions import REDUCTIONS, tame

REAL = FLOATS[:3]
NUMBERS = (*REAL, *SIGNED, *UNSIGNED)
MOST_USED = ("float32", "float64", "float16", "int32", "int64")


def new_axis(g: Graph, axis: int, rank: int) -> int:
    """Return an axis, from the other end where the version allows that."""
    return axis - rank if g.opset >= 11 and g.flag() else axis


@old("Softmax", "LogSoftmax", "Hardmax")
def flattened_softmax(g: Graph, op: str) -> None:
    x = tame(g, REAL, least=1)
    axis = g.pick([None, axis_of(g, x)])
    g.add(op, [x], "exact" if op == "Hardmax" else "mixing", axis=axis)


@old(*(f"Reduce{kind}" for kind in REDUCTIONS))
def reduce_axes(g: Graph, op: str) -> None:
    whole = op.startswith("ReduceLog")  # how integers round there is open
    x = tame(g, REAL if whole or op == "ReduceMean" else MOST_USED)
    if 0 in g.shape(x):
        return
    rank = len(g.shape(x))
    axes = sorted({g.whole(0, rank - 1) for _ in range(g.whole(1, 2))}) if rank else []
    axes = [new_axis(g, axis, rank) for axis in axes]
    exact = op in ("ReduceMax", "ReduceMin") or g.dtype(x) not in FLOATS
    most = 1000 if g.dtype(x) not in FLOATS else 0
    given = {"keepdims": g.pick([None, 0, 1]), "axes": g.pick([None, axes]) if axes else None}
    g.add(op, [x], "exact" if exact else "mixing", most=most, **given)


@old("Clip")
def clip(g: Graph, op: str) -> None:
    ends = {"min": g.pick([None, -1.5, 0.0, 1.0]), "max": g.pick([None, 0.5, 1.0, -2.0])}
    g.add(op, [g.value(REAL)], "exact", **ends)


@old("Pad")
def pad(g: Graph, op: str) -> None:
    x = g.value(REAL, least=1)
    mode = g.pick([None, "constant", "reflect", "edge"])
    room = [min(size - 1, 2) if mode == "reflect" else 2 for size in g.shape(x)]
    pads = [g.whole(0, max(most, 0)) for most in room * 2]
    if mode in (None, "constant") and g.shape(x)[0] > 1 and g.flag():
        pads[0] = -1
    name = "pads" if g.opset > 1 else "paddings"
    g.add(op, [x], "exact", mode=mode, value=g.pick([None, 1.5]), **{name: pads})


@old("Slice")
def cut(g: Graph, op: str) -> None:
    x = g.value(NUMBERS, least=1)
    rank = len(g.shape(x))
    axes = sorted({g.whole(0, rank - 1) for _ in range(g.whole(1, rank))})
    ends = [[g.whole(-g.shape(x)[a] - 1, g.shape(x)[a] + 1) for a in axes] for _ in range(2)]
    if g.flag():
        ends[1][0] = g.pick([2**31 - 1, 2**63 - 1])
    whole = axes == list(range(len(axes))) and g.flag()
    if g.opset < 10:
        named = None if whole else axes
        g.add(op, [x], "exact", starts=ends[0], ends=ends[1], axes=named)
        return
    dtype = g.pick(["int32", "int64"])
    ends[1] = [min(end, 2**31 - 1) for end in ends[1]]
    operands = [x, *(g.known(end, dtype) for end in ends)]
    open_ended = ends[1][0] == 2**31 - 1  # onnxruntime takes that backwards, too
    steps = g.known([g.pick([1, 2] if open_ended else [1, 2, -1]) for _ in axes], dtype)
    last = [] if g.flag() else [steps]
    operands += [g.known(axes, dtype), *last] if not whole else ["", *last] if last else []
    g.add(op, operands, "exact")


@old("Split")
def split(g: Graph, op: str) -> None:
    x = g.value(NUMBERS, least=1)
    axis = g.pick([None, axis_of(g, x)])
    size = g.shape(x)[axis or 0]
    if g.flag():
        first = g.whole(0, size)
        parts = [first, size - first]
    else:
        count = g.pick([n for n in (1, 2, 3) if size % n == 0])
        g.add(op, [x], "exact", outputs=count, axis=axis)
        return
    g.add(op, [x], "exact", outputs=2, axis=axis, split=parts)


@old("Squeeze")
def squeeze(g: Graph, op: str) -> None:
    x = g.value(NUMBERS)
    ones = [k for k, size in enumerate(g.shape(x)) if size == 1]
    some = [new_axis(g, k, len(g.shape(x))) for k in ones if g.flag()]
    g.add(op, [x], "exact", axes=some or None)


@old("Unsqueeze")
def unsqueeze(g: Graph, op: str) -> None:
    x = g.value(NUMBERS)
    rank = len(g.shape(x)) + 2
    axes = g.draw(_pairs(rank))
    g.add(op, [x], "exact", axes=[new_axis(g, k, rank) for k in axes])


def _pairs(rank: int) -> Any:
    from hypothesis import strategies as st

    pair = st.lists(st.integers(0, rank - 1), min_size=2, max_size=2, unique=True)
    return pair


@old("TopK")
def top(g: Graph, op: str) -> None:
    x = g.value(REAL if g.opset < 11 else MOST_USED, least=1, kind=g.pick(["distinct", "whole"]))
    axis = g.pick([None, axis_of(g, x)])
    k = g.whole(0 if g.empty else 1, g.shape(x)[-1 if axis is None else axis])
    if g.opset < 10:
        g.add(op, [x], "exact", outputs=2, axis=axis, k=k)
        return
    flags = {"largest": g.pick([None, 0, 1])} if g.opset > 10 else {}
    g.add(op, [x, g.known([k])], "exact", outputs=2, axis=axis, **flags)


CAST_TYPES = ("FLOAT", "DOUBLE", "FLOAT16", "INT32", "INT64", "UINT8", "BOOL", "INT8")


@old("Cast")
def cast(g: Graph, op: str) -> None:
    x = g.value(NUMBERS, kind="positive")
    to = g.pick(CAST_TYPES)
    g.add(op, [x], "exact", to=to if g.opset < 6 else getattr(TensorProto, to))


@old("Gemm")
def gemm(g: Graph, op: str) -> None:
    m, k, n = g.whole(1, 5), g.whole(1, 5), g.whole(1, 5)
    flips = [g.pick([None, 0, 1]) for _ in range(2)]
    dtype = g.pick(["float32", "float64", "float16"])
    a = g.operand(dtype, (k, m) if flips[0] else (m, k), "normal")
    b = g.operand(dtype, (n, k) if flips[1] else (k, n), "normal")
    c = g.operand(dtype, g.pick([(m, n), (1, n), (n,), (m, 1), (1,), (), (1, 1)]), "normal")
    given: dict[str, Any] = {"alpha": g.pick([None, 0.5, 0.0]), "beta": g.pick([None, 2.0, 0.0])}
    if g.opset < 7:
        given["broadcast"] = int(g.shape(c) != (m, n))
    g.add(op, [a, b, c], "mixing", transA=flips[0], transB=flips[1], **given)


@old("Add", "Sub", "Mul", "Div", "And", "Or", "Xor", "Equal", "Less", "Greater", "Pow")
def broadcast(g: Graph, op: str) -> None:
    """Before version 7 operands broadcast by attributes, from an axis on."""
    types = ["bool"] if op in ("And", "Or", "Xor") else ["int32", "int64"]
    types = [*types, "float32", "float64"] if op in ("Add", "Sub", "Mul", "Less") else types
    types = ["float32", "float64"] if op in ("Div", "Pow", "Less", "Greater") else types
    x = g.value(types, least=1, kind="whole")
    rank = len(g.shape(x))
    start = g.whole(0, rank)
    end = g.whole(start, rank)
    y = g.operand(g.dtype(x), g.shape(x)[start:end], "positive")
    axis = None if end == rank and g.flag() else start
    g.add(op, [x, y], "local", broadcast=1, axis=axis)


@old("Relu", "Sigmoid", "Tanh", "Abs", "Exp", "Sqrt", "Neg", "Floor", "Ceil", "Log", "Reciprocal")
@old("LeakyRelu", "Elu", "Selu", "HardSigmoid")
def consumed(g: Graph, op: str) -> None:
    """Version 1 said which operands a runtime may write over; it means nothing."""
    g.add(op, [g.value(["float32", "float64"])], consumed_inputs=g.pick([None, [1]]))


@old("Sum", "Mean", "Max", "Min")
def of_one_shape(g: Graph, op: str) -> None:
    x = g.value(["float32", "float64"])
    g.add(op, [x, *(partner(g, x) for _ in range(g.whole(0, 2)))])


@old("Dropout")
def dropout(g: Graph, op: str) -> None:
    x = g.value(["float32", "float64"])
    outputs = g.whole(1, 2) if g.opset >= 12 else 1  # before, what a mask holds is open
    if g.opset < 12:
        test = {"is_test": 1} if g.opset < 7 else {}
        g.add(op, [x], "exact", outputs=outputs, ratio=g.pick([None, 0.3]), **test)
        return
    ratio = g.pick(["", g.known(0.3, "float32"), g.known(0.0, "float32")])
    training = [g.known(False, "bool")] if g.flag() else []
    operands = [x, ratio, *training] if ratio or training else [x]
    g.add(op, operands, "exact", outputs=outputs, seed=g.pick([None, 3]))


@old("BatchNormalization")
def batch_norm(g: Graph, op: str) -> None:
    x = tame(g, ("float32", "float64"), least=2)
    count = g.shape(x)[1]
    kinds = ("normal", "normal", "normal", "positive")
    spatial = g.pick([None, 1, 0]) if g.opset < 9 else None
    shape = g.shape(x)[1:] if spatial == 0 else (count,)
    vectors = [g.operand(g.dtype(x), shape, kind) for kind in kinds]
    given = {"epsilon": g.pick([None, 0.01]), "spatial": spatial}
    given["is_test"] = 1 if g.opset == 6 else None
    given["momentum"] = g.pick([None, 0.5])
    outputs = 1
    if g.opset >= 14 and g.flag():
        given["training_mode"], outputs = 1, 3
    g.add(op, [x, *vectors], "mixing", outputs=outputs, **given)


@old("Reshape")
def reshape(g: Graph, op: str) -> None:
    x = g.value(["float32", "float64"], least=1)
    total = int(np.prod(g.shape(x)))
    shape = g.pick([[total], [-1], [0, -1], [total, 1]])
    g.add(op, [x], "exact", shape=shape)


@old("Tile")
def tile(g: Graph, op: str) -> None:
    x = g.value(["float32", "float64"], least=1)
    axis = g.whole(0, len(g.shape(x)) - 1)
    g.add(op, [x, *(g.known(n, "float32") for n in (g.whole(1, 3), axis))], "exact")


@old("Concat")
def concat(g: Graph, op: str) -> None:
    x = g.value(["float32", "float64", "float16"], least=2)
    g.add(op, [x, x], "exact", axis=g.pick([None, 0]))


@old("Scatter")
def scatter(g: Graph, op: str) -> None:
    x = g.value(NUMBERS, least=1)
    axis = axis_of(g, x)
    size = g.shape(x)[axis]
    if not size:
        return
    shape = list(g.shape(x))
    count = g.whole(1, size)
    shape[axis] = count
    places = np.random.default_rng(g.whole(0, 9)).permutation(size)[:count]
    places = places - size * (g.opset >= 11 and g.flag())
    spread = [1] * len(shape)
    spread[axis] = count
    index = g.known(np.broadcast_to(places.reshape(spread), shape), g.pick(["int32", "int64"]))
    g.add(op, [x, index, g.operand(g.dtype(x), tuple(shape))], "exact", axis=axis)


@old("Scan")
def batched_scan(g: Graph, op: str) -> None:
    """Version 8 goes over batches, each of which may be shorter than the sequence."""
    if g.opset != 8:
        return
    batch, steps, shape = g.whole(1, 3), g.whole(1, 4), g.sizes(g.whole(0, 2), 30)
    dtype = g.pick(["float32", "int64", "float64"])
    state = g.operand(dtype, (batch, *shape), "whole")
    x = g.operand(dtype, (batch, steps, *shape), "whole")
    code = helper.np_dtype_to_tensor_dtype(g.values[x].array.dtype)
    info = helper.make_tensor_value_info
    nodes = [
        helper.make_node(g.pick(["Add", "Sub", "Mul"]), ["s", "e"], ["n"], "a"),
        helper.make_node("Neg", ["n"], ["o"], "b"),
    ]
    ins, outs = [info(n, code, shape) for n in "se"], [info(n, code, shape) for n in "no"]
    body = helper.make_graph(nodes, "body", ins, outs)
    lengths = g.known([g.whole(1, steps) for _ in range(batch)]) if g.flag() else ""
    directions = g.pick([None, [0], [1]])
    given = {"body": body, "num_scan_inputs": 1, "directions": directions}
    g.add(op, [lengths, state, x], "mixing", outputs=2, **given)


@old("GroupNormalization")
def groups(g: Graph, op: str) -> None:
    x = tame(g, ("float32",), least=3)
    count = g.shape(x)[1]
    if not count or g.opset >= 21:
        return
    number = g.pick([d for d in range(1, count + 1) if count % d == 0])
    vectors = [g.operand("float32", (number,), "normal") for _ in range(2)]
    g.add(op, [x, *vectors], "mixing", num_groups=number, epsilon=g.pick([None, 0.01]))


@old("Constant")
def constant(g: Graph, op: str) -> None:
    given: dict[str, Any] = g.pick(
        [
            {"value_float": 1.5},
            {"value_floats": [1.5, -2.0]},
            {"value_int": -3},
            {"value_ints": [1, 2**40]},
            {"value_ints": [7]},
        ]
    )
    if g.opset >= 12:
        g.add(op, [], "exact", **given)


@old("OneHot")
def one_hot(g: Graph, op: str) -> None:
    """A depth of any type, places beyond it."""
    x = g.operand("int64", g.sizes(g.whole(0, 2), 50), "between:-6:6")
    depth = g.known(g.pick([4, [4]]), g.pick(["int64", "int32", "float32"]))
    values = g.operand(g.pick(["float32", "int64"]), (2,), "distinct")
    g.add(op, [x, depth, values], "exact", axis=g.pick([None, 0, -1]))
