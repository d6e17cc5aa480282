"""Programs of what moves elements, of sums, and of images."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from agreed_values import (
    DTYPES,
    FLOATS,
    INTEGERS,
    NUMBERS,
    Build,
    InRows,
    Program,
    noise,
    one,
    row_numbers,
)
from xdsl.ir import SSAValue

from nn_opt.dialects import graph

PLACES = np.array([[2, 0], [1, 1]], np.int64)
COLUMNS = np.array([3, 0, 5, 1, 1, 4], np.int64)
EACH = np.array([[2, 0, 1, 5, 4, 3]] * 4, np.int64)
BOTH = np.stack([EACH % 4, EACH], -1)
HALF = {"strides": [2, 1], "pads": [1, 0, 1, 0], "dilations": [1, 1]}


def part(x: SSAValue, starts: list[int], sizes: list[int], step: int = 1) -> SSAValue:
    """Return a part of a matrix, its rows maybe backwards."""
    return graph.SliceOp(x, starts, sizes, [step, 1]).result


MOVES: dict[str, Build] = {  # each from x [4, 6], z [6, 4] and a mask [4, 6] to [4, 6]
    "transpose": lambda x, z, m: graph.TransposeOp(z, [1, 0]).result,
    "concat": lambda x, z, m: (
        graph.ConcatOp([part(x, [0, 4], [4, 2]), part(x, [0, 1], [4, 4])], 1).result
    ),
    "where": lambda x, z, m: graph.WhereOp(m, x, part(x, [3, 0], [4, 6], -1)).result,
    "slice": lambda x, z, m: part(x, [3, 0], [4, 6], -1),
    "pad:constant": lambda x, z, m: graph.PadOp(part(x, [1, 1], [3, 4]), [1, 2, 0, 0]).result,
    "pad:reflect": lambda x, z, m: (
        graph.PadOp(part(x, [1, 1], [3, 4]), [1, 2, 0, 0], "reflect").result
    ),
    "pad:edge": lambda x, z, m: graph.PadOp(part(x, [1, 1], [3, 4]), [0, 0, 1, 2], "edge").result,
    "tile": lambda x, z, m: graph.TileOp(part(x, [2, 2], [2, 3]), [2, 2]).result,
    "expand": lambda x, z, m: graph.ExpandOp(part(x, [1, 0], [1, 6]), [4, 6]).result,
    "reshape": lambda x, z, m: graph.ReshapeOp(z, [4, 6]).result,
    "dropout": lambda x, z, m: graph.DropoutOp(part(x, [3, 0], [4, 6], -1)).result,
    "gather": lambda x, z, m: graph.GatherOp(x, graph.ConstantOp(COLUMNS).result, 1).result,
    "gather_elements": lambda x, z, m: (
        graph.GatherElementsOp(x, graph.ConstantOp(EACH).result, 1).result
    ),
    "gather_nd": lambda x, z, m: graph.GatherNDOp(x, graph.ConstantOp(BOTH).result).result,
}


def moves(dtype: str) -> list[Program]:
    """Return programs that only move elements, whose width counts."""
    n = partial(noise, dtype)
    inputs = (row_numbers(len(MOVES), 3), n(4, 6), n(6, 4), noise("i1", 4, 6))
    image = lambda x: graph.LayoutTransformOp(x, "NCHW", "NCHW4c")  # noqa: E731
    add = "add" if dtype != "i1" else "none"
    return [
        Program(tuple(MOVES), dtype, inputs, InRows(list(MOVES.values()))),
        one(dtype, "layout_transform", image, n(1, 6, 2, 3)),
        one(
            dtype,
            "scatter_nd",
            lambda x, i, u: graph.ScatterNDOp(x, i, u, add),
            n(3, 4),
            PLACES[:, :1],
            n(2, 4),
        ),
        one(
            dtype,
            "scatter_elements",
            lambda x, i, u: graph.ScatterElementsOp(x, i, u, 1),
            n(2, 4),
            PLACES,
            n(2, 2),
        ),
    ]


ALONE: dict[str, tuple[Build, tuple[int, ...]]] = {  # in kernels of their own, by size
    "transpose": (lambda x: graph.TransposeOp(x, [1, 0]), (18, 17)),
    "tile": (lambda x: graph.TileOp(x, [2, 1]), (2, 3)),
    "pad:reflect": (lambda x: graph.PadOp(x, [1, 2, 0, 1], "reflect"), (4, 5)),
}
KINDS = "sum mean max min prod l1 l2 log_sum log_sum_exp sum_square".split()
WHOLE = "sum mean max min prod l1 sum_square".split()  # kinds that integers have


def sums(dtype: str) -> Iterator[Program]:
    """Yield programs in which an element is made of many."""
    n = partial(noise, dtype)
    for kind in KINDS if dtype in FLOATS else WHOLE if dtype in INTEGERS else ["max", "min"]:
        shape = (4, 37) if kind == "sum" else (3, 5)
        low = 0.5 if kind in ("log_sum", "prod") else -2
        build = partial(graph.ReduceOp, kind=kind, axes=[1])
        yield one(dtype, f"reduce:{kind}", build, n(*shape, low=low))
    yield one(dtype, "reduce:max", lambda x: graph.ReduceOp(x, "max", [0], False), n(9, 5))
    if dtype in NUMBERS:
        yield one(dtype, "matmul", graph.MatmulOp, n(5, 7), n(7, 6))
        yield one(dtype, "arg_reduce", lambda x: graph.ArgReduceOp(x, "max", 1), n(4, 40))
        yield one(dtype, "cumsum", lambda x: graph.CumSumOp(x, 1, True), n(3, 20))
        yield one(dtype, "cumprod", lambda x: graph.CumProdOp(x, 1), n(3, 4))
    if dtype in FLOATS:
        yield one(dtype, "softmax", graph.SoftmaxOp, n(3, 40))
        yield one(dtype, "log_softmax", lambda x: graph.LogSoftmaxOp(x, 0), n(6, 5))


def images(dtype: str) -> Iterator[Program]:
    """Yield programs over images."""
    n = partial(noise, dtype)
    for kind in ("max", "average", "lp") if dtype in FLOATS else ("max", "average"):
        build = lambda x, k=kind: graph.PoolOp(x, k, [3, 2], **HALF)  # noqa: E731
        yield one(dtype, f"pool:{kind}", build, n(1, 2, 7, 5))
    conv = lambda x, w: graph.ConvOp(x, w, **HALF)  # noqa: E731
    each = lambda x, w: graph.ConvOp(x, w, group=3, **HALF)  # noqa: E731
    back = lambda x, w: graph.ConvTransposeOp(x, w, output_padding=[0, 0], **HALF)  # noqa: E731
    yield one(dtype, "conv", conv, n(1, 3, 6, 5), n(4, 3, 3, 2))
    yield one(dtype, "conv:depthwise", each, n(1, 3, 6, 5), n(3, 1, 3, 2))
    if dtype in FLOATS:
        yield one(dtype, "conv_transpose", back, n(1, 3, 4, 5), n(3, 2, 3, 2))
        given = (n(2, 3, 4), n(3), n(3), n(3), noise(dtype, 3, low=1))
        yield one(dtype, "batch_norm", graph.BatchNormOp, *given)


def resizes(dtype: str) -> Iterator[Program]:
    """Yield programs that change the number of an image's elements."""
    for mode in ("nearest", "linear"):
        build = lambda x, m=mode: graph.ResizeOp(x, [8, 9], [2.0, 1.5], mode=m)  # noqa: E731
        yield one(dtype, f"resize:{mode}", build, noise(dtype, 4, 6))


def kernels() -> list[Program]:
    """Return all programs of this page."""
    made: list[Program] = []
    for dtype in DTYPES:
        made += [*moves(dtype), *sums(dtype), *resizes(dtype)]
        made += images(dtype) if dtype in NUMBERS else []
    for dtype in ("f32", "f16", "i64", "ui8"):  # a type of each width
        made += [
            one(dtype, op, build, noise(dtype, *shape)) for op, (build, shape) in ALONE.items()
        ]
    return made
