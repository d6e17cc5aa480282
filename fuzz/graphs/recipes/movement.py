"""Operators that move elements: views, slices, joins, pads."""

from __future__ import annotations

import numpy as np

from fuzz.graphs.graph import Graph, recipe, schema_types
from fuzz.graphs.numbers import SIGNED, UNSIGNED


def axis_of(g: Graph, x: str, extra: int = 0) -> int:
    """Draw an axis, counted from either end."""
    rank = len(g.shape(x)) + extra
    return g.whole(-rank, rank - 1)


@recipe("Transpose")
def transpose(g: Graph, op: str) -> None:
    x = g.value(schema_types(op))
    perm = g.pick([None, "drawn"]) and list(
        np.random.default_rng(g.whole(0, 20)).permutation(len(g.shape(x)))
    )
    g.add(op, [x], "exact", perm=[int(k) for k in perm] if perm else None)


@recipe("Reshape")
def reshape(g: Graph, op: str) -> None:
    x = g.value(schema_types(op))
    shape = g.shape(x)
    total = int(np.prod(shape))
    if total == 0:
        g.add(op, [x, g.known(shape)], "exact", allowzero=1)
        return
    first = g.pick([d for d in range(1, total + 1) if total % d == 0])
    sizes = [first, total // first]
    if g.flag():
        sizes[g.whole(0, 1)] = -1
    if shape and g.whole(0, 3) == 3:
        sizes = [0, -1]
    g.add(op, [x, g.known(sizes)], "exact")


@recipe("Flatten")
def flatten(g: Graph, op: str) -> None:
    x = g.value(schema_types(op))
    rank = len(g.shape(x))
    g.add(op, [x], "exact", axis=g.whole(-rank, rank))


@recipe("Squeeze")
def squeeze(g: Graph, op: str) -> None:
    x = g.value(schema_types(op))
    ones = [k for k, size in enumerate(g.shape(x)) if size == 1]
    some = [k for k in ones if g.flag()]
    g.add(op, [x, g.known(some)] if some else [x], "exact")


@recipe("Unsqueeze")
def unsqueeze(g: Graph, op: str) -> None:
    x = g.value(schema_types(op))
    rank = len(g.shape(x)) + 2
    first = g.whole(0, rank - 1)
    second = (first + g.whole(1, rank - 1)) % rank
    g.add(op, [x, g.known([first, second - rank])], "exact")


@recipe("Concat")
def concat(g: Graph, op: str) -> None:
    x = g.value(schema_types(op), least=1)
    axis = axis_of(g, x)
    operands = [x]
    for _ in range(g.whole(0, 2)):
        shape = list(g.shape(x))
        shape[axis] = g.size()
        operands.append(g.operand(g.dtype(x), tuple(shape)))
    g.add(op, operands, "exact", axis=axis)


@recipe("Split")
def split(g: Graph, op: str) -> None:
    x = g.value(schema_types(op), least=1)
    axis = axis_of(g, x)
    size = g.shape(x)[axis]
    if g.flag() and size:
        parts = g.whole(1, min(size, 3))
        g.add(op, [x], "exact", outputs=parts, num_outputs=parts, axis=axis)
        return
    first = g.whole(0, size)
    g.add(op, [x, g.known([first, size - first])], "exact", outputs=2, axis=axis)


@recipe("Slice")
def cut(g: Graph, op: str) -> None:
    x = g.value(schema_types(op), least=1)
    rank = len(g.shape(x))
    axes = sorted({g.whole(0, rank - 1) for _ in range(g.whole(1, 2))})
    starts, stops, steps = list[int](), list[int](), list[int]()
    for axis in axes:
        size = g.shape(x)[axis]
        ends = [g.whole(-size - 1, size + 1) for _ in range(2)]
        steps.append(g.pick([1, 1, 2, 3, -1, -2]))
        starts.append(ends[0])
        stops.append(
            g.pick([ends[1], 2**31 - 1, 2**63 - 1] if steps[-1] > 0 else [ends[1], -(2**31)])
        )
    axes = [axis - rank if g.flag() else axis for axis in axes]
    g.add(op, [x, *map(g.known, (starts, stops, axes, steps))], "exact")


@recipe("Pad")
def pad(g: Graph, op: str) -> None:
    x = g.value(schema_types(op), least=1)
    shape = g.shape(x)
    mode = g.pick(["constant", "reflect", "edge", "wrap", None])
    most = [max(min(size - 1, 3), 0) if mode == "reflect" else min(size, 3) for size in shape]
    if mode in (None, "constant"):
        most = [3] * len(shape)
    pads = [g.whole(0, high) for high in most * 2]
    if mode in (None, "constant") and g.whole(0, 3) == 3 and shape[0] > 1:
        pads[0] = -1
    value = [g.operand(g.dtype(x), (), "whole")] if mode in (None, "constant") and g.flag() else []
    g.add(op, [x, g.known(pads), *value], "exact", mode=mode)


@recipe("Expand")
def expand(g: Graph, op: str) -> None:
    x = g.value(schema_types(op))
    shape = [g.pick([1, 2, 3]) if size == 1 else g.pick([size, 1]) for size in g.shape(x)]
    shape = [g.pick([1, 2]) for _ in range(g.whole(0, 1))] + shape
    g.add(op, [x, g.known(shape)], "exact")


@recipe("Tile")
def tile(g: Graph, op: str) -> None:
    x = g.value(schema_types(op))
    g.add(op, [x, g.known([g.whole(0 if g.empty else 1, 2) for _ in g.shape(x)])], "exact")


@recipe("DepthToSpace", "SpaceToDepth")
def depth(g: Graph, op: str) -> None:
    n, c, h, w = g.whole(1, 2), g.whole(1, 3), g.whole(1, 4), g.whole(1, 4)
    block = g.whole(1, 3)
    dtype = g.pick([t for t in schema_types(op) if t in g.types])
    if op == "DepthToSpace":
        x = g.operand(dtype, (n, c * block * block, h, w))
        g.add(op, [x], "exact", blocksize=block, mode=g.pick([None, "DCR", "CRD"]))
    else:
        x = g.operand(dtype, (n, c, h * block, w * block))
        g.add(op, [x], "exact", blocksize=block)


@recipe("Trilu")
def trilu(g: Graph, op: str) -> None:
    x = g.value(schema_types(op), least=2)
    k = [g.known(g.whole(-4, 4))] if g.flag() else []
    g.add(op, [x, *k], "exact", upper=g.pick([None, 0, 1]))


@recipe("CenterCropPad")
def center(g: Graph, op: str) -> None:
    x = g.value(schema_types(op), least=1)
    rank = len(g.shape(x))
    axes = sorted({g.whole(0, rank - 1) for _ in range(2)})
    g.add(op, [x, g.known([g.whole(1, 9) for _ in axes])], "exact", axes=axes)


@recipe("ReverseSequence")
def reverse(g: Graph, op: str) -> None:
    x = g.value(schema_types(op), least=2)
    time, batch = g.pick([(0, 1), (1, 0)])
    steps, rows = g.shape(x)[time], g.shape(x)[batch]
    lengths = g.known([g.whole(1, steps) if steps else 0 for _ in range(rows)])
    g.add(op, [x, lengths], "exact", time_axis=time, batch_axis=batch)


@recipe("Shape", "Size")
def sizes(g: Graph, op: str) -> None:
    x = g.value(schema_types(op))
    given = {}
    if op == "Shape" and g.flag():
        given = {"start": g.whole(-3, 3), "end": g.whole(-3, 5)}
    g.add(op, [x], "exact", **given)


@recipe("ConstantOfShape")
def constant_of_shape(g: Graph, op: str) -> None:
    from onnx import numpy_helper

    shape = g.known(g.sizes(g.whole(0, 3), 200))
    types = [t for t in schema_types(op, "T2") if t in g.types]
    value = g.operand(g.pick(types), (1,))
    tensor = numpy_helper.from_array(g.values[value].array, "")
    g.add(op, [shape], "exact", value=g.pick([None, tensor]))


@recipe("Range")
def count(g: Graph, op: str) -> None:
    dtype = g.pick([t for t in schema_types(op) if t in g.types])
    low = g.whole(-5, 5) if dtype not in UNSIGNED else 0
    step = g.pick([1, 2, 3, -1] if dtype not in UNSIGNED else [1, 2])
    ends = low + step * g.whole(0, 6)
    how = "exact" if dtype in (*SIGNED, *UNSIGNED) else "local"
    g.add(op, [g.known(v, dtype) for v in (low, ends, step)], how)


@recipe("EyeLike")
def eye(g: Graph, op: str) -> None:
    x = g.value(schema_types(op, "T1"), rank=2)
    g.add(op, [x], "exact", k=g.pick([None, -1, 2]))


@recipe("OneHot")
def one_hot(g: Graph, op: str) -> None:
    depth_, rank = g.whole(1, 6), g.whole(0, 3)
    kinds = [t for t in ("int64", "int32", "float32") if t in g.types]
    x = g.operand(g.pick(kinds), g.sizes(rank, 100), f"between:{-depth_}:{depth_}")
    if g.dtype(x) == "float32":
        x = g.add("Floor", [x], "exact")[0]
    dtype = g.pick([t for t in schema_types(op, "T3") if t in g.types])
    values = g.operand(dtype, (2,), "distinct")
    depth = g.known(depth_ if g.flag() else [depth_])
    g.add(op, [x, depth, values], "exact", axis=g.whole(-rank - 1, rank))


@recipe("Constant")
def constant(g: Graph, op: str) -> None:
    from onnx import numpy_helper

    x = g.value([t for t in schema_types("Identity", "V") if t in g.types])
    if x in g.weights:
        g.add(op, [], "exact", value=numpy_helper.from_array(g.weights[x], ""))


@recipe("Col2Im")
def col_to_image(g: Graph, op: str) -> None:
    n, c, block = g.whole(1, 2), g.whole(1, 3), (g.whole(1, 2), g.whole(1, 3))
    image = (g.whole(block[0], 5), g.whole(block[1], 5))
    count_ = (image[0] - block[0] + 1) * (image[1] - block[1] + 1)
    types = [t for t in schema_types(op) if t in g.types]
    x = g.operand(g.pick(types), (n, c * block[0] * block[1], count_), "whole")
    g.add(op, [x, g.known(image), g.known(block)], "mixing")
