"""One small program for each operator and element type: what all backends must agree on.

Elementwise operators share a program: row k of its result is that of the k-th operator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
from numpy.typing import NDArray
from xdsl.builder import ImplicitBuilder
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Region, SSAValue

from nn_opt.dialects import graph
from nn_opt.ir.resources import tensor_type_of
from nn_opt.ir.types import element_type, mlir_type, numpy_dtype

Array: TypeAlias = NDArray[Any]
Build: TypeAlias = Callable[..., SSAValue]
COLUMNS = 6  # of elementwise programs
DTYPES: dict[str, Any] = {
    "f32": np.float32,
    "f64": np.float64,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "ui8": np.uint8,
    "ui16": np.uint16,
    "ui32": np.uint32,
    "ui64": np.uint64,
    "i1": np.bool_,
}
# Half of a unit in the last place of results about 1, times the roundings of a few operations.
TOLERANCES = {"f32": 2e-5, "f64": 1e-12, "f16": 4e-3, "bf16": 3e-2}


@dataclass(frozen=True)
class Program:
    """A function of arrays: the operators that it is about, and their element type."""

    ops: tuple[str, ...]
    dtype: str
    inputs: tuple[Array, ...]
    build: Build


def noise(dtype: str, *shape: int, low: float = -2, high: float = 2) -> Array:
    """Return seeded numbers; integers from 0 to 5, or from -5 if they have a sign."""
    rng = np.random.default_rng(len(shape) + 7 * sum(shape))
    if dtype == "i1":
        return rng.integers(0, 2, shape).astype(np.bool_)
    if "i" in dtype:
        return rng.integers(0 if dtype[0] == "u" else -5, 6, shape).astype(DTYPES[dtype])
    return rng.uniform(low, high, shape).astype(DTYPES[dtype])


def number(value: float, dtype: str) -> SSAValue:
    """Return a constant without dimensions."""
    return graph.ConstantOp(np.array(value, DTYPES[dtype])).result


def in_rows(ops: Sequence[Callable[..., SSAValue]], dtype: str) -> Build:
    """Return a builder of row k of the k-th operator's result."""

    def build(rows: SSAValue, *operands: SSAValue) -> SSAValue:
        result = ops[0](*operands)
        for k, op in enumerate(ops[1:], 1):
            mine = graph.EqualOp(rows, number(k, "i32")).result
            result = graph.WhereOp(mine, op(*operands), result).result
        return result

    return build


def elementwise(
    dtype: str, names: str, low: float = -2, high: float = 2, arity: int = 1
) -> Program:
    """Return a program of some operators, of all combinations of a few numbers."""
    classes = {op.name: op for op in graph.Graph.operations}
    words = names.split()
    ops: list[Callable[..., SSAValue]] = [
        SPECIAL.get(word) or (lambda *x, c=classes[f"graph.{word}"]: c(*x).results[0])
        for word in words
    ]
    rows = np.arange(len(words), dtype=np.int32)[:, None]
    given = [noise(dtype, len(words), COLUMNS + k, low=low, high=high) for k in range(arity)]
    inputs = (rows, *(array[:, :COLUMNS] for array in given))
    return Program(tuple(words), dtype, inputs, in_rows(ops, dtype))


def widened(op: Any) -> Callable[..., SSAValue]:
    """Return an operator whose bits become numbers of its operands' type."""
    return lambda *x: graph.CastOp(op(*x).results[0], element_type(x[0])).result


def half_below(x: SSAValue) -> SSAValue:
    """Return -0.5 as a number of the type of x."""
    return graph.ConstantOp(np.array(-0.5, numpy_dtype(element_type(x)))).result


SPECIAL: dict[str, Callable[..., SSAValue]] = {
    "acosh": lambda x: (
        graph.AcoshOp(graph.AddOp(graph.ExpOp(x).result, graph.ExpOp(x).result).result).result
    ),
    "clip": lambda x: graph.ClipOp(x, half_below(x), None).result,
    "pow": lambda x, y: graph.PowOp(graph.AbsOp(x).result, y).result,
    "equal": widened(graph.EqualOp),
    "less": widened(graph.LessOp),
    "less_equal": widened(graph.LessEqualOp),
    "greater": widened(graph.GreaterOp),
    "greater_equal": widened(graph.GreaterEqualOp),
    "isnan": widened(graph.IsNaNOp),
    "isinf": widened(graph.IsInfOp),
    "mod": lambda x, y: graph.ModOp(x, y, fmod=True).result,
    "shift": lambda x, y: graph.ShiftOp(x, y, "left").result,
}
POSITIVE = "acos acosh asin atanh log sqrt reciprocal"
UNARY = """abs neg ceil floor round sign exp tanh sigmoid erf relu leaky_relu elu selu celu gelu
    hard_sigmoid hard_swish thresholded_relu softplus softsign mish clip"""
TRIGONOMETRIC = "sin cos tan sinh cosh atan asinh isnan isinf dropout"
HALVES = "abs neg floor exp tanh relu sigmoid isnan"  # computed as f32, and rounded
BINARY = "add sub mul max min prelu div pow equal less less_equal greater greater_equal"
INTEGER = "add sub mul max min equal less less_equal greater greater_equal"
BITS = "bitwise_and bitwise_or bitwise_xor"
SIGNED = "abs neg sign bitwise_not"


def one(dtype: str, ops: str, build: Build, *inputs: Array) -> Program:
    """Return a program of a builder that returns an op."""
    return Program(tuple(ops.split()), dtype, inputs, lambda *x: build(*x).results[0])


def core(dtype: str) -> list[Program]:
    """Return programs of what all types of numbers have."""
    n = lambda *shape: noise(dtype, *shape)  # noqa: E731 (used in every line)
    other = "f32" if dtype != "f32" else "i32"
    programs = [
        one(dtype, "matmul", graph.MatmulOp, n(5, 7), n(7, 6)),
        one(dtype, "reduce", lambda x: graph.ReduceOp(x, "sum", [1]), n(4, 37)),
        one(dtype, "reduce", lambda x: graph.ReduceOp(x, "max", [0], False), n(9, 5)),
        one(dtype, "cast", lambda x: graph.CastOp(x, mlir_type(np.dtype(DTYPES[other]))), n(3, 5)),
    ]
    if "f" in dtype:
        programs.append(one(dtype, "softmax", graph.SoftmaxOp, n(3, 40)))
    return programs


def moves(dtype: str) -> list[Program]:
    """Return programs that only move elements, whose width counts."""
    n = lambda *shape: noise(dtype, *shape)  # noqa: E731
    places = np.array([[2, 0, 1]], np.int64)
    return [
        one(dtype, "transpose", lambda x: graph.TransposeOp(x, [1, 0]), n(18, 17)),
        one(dtype, "concat", lambda x, y: graph.ConcatOp([x, y], 1), n(3, 2), n(3, 4)),
        one(dtype, "gather", lambda x, i: graph.GatherOp(x, i, 1), n(2, 4), places),
        one(dtype, "where", graph.WhereOp, noise("i1", 3, 4), n(3, 4), n(4)),
    ]


def images() -> list[Program]:
    """Return programs over images, and what moves elements."""
    n = lambda *shape: noise("f32", *shape)  # noqa: E731 (used in every line)
    f32 = partial(one, "f32")
    half = {"strides": [2, 1], "pads": [1, 0, 1, 0], "dilations": [1, 1]}
    pools = [
        f32("pool", lambda x, k=kind: graph.PoolOp(x, k, [3, 2], **half), n(1, 2, 7, 5))
        for kind in ("max", "average", "lp")
    ]
    kinds = "mean min prod l1 l2 log_sum_exp sum_square".split()
    return [
        *pools,
        *(f32("reduce", lambda x, k=kind: graph.ReduceOp(x, k, [-1]), n(3, 9)) for kind in kinds),
        f32("conv", lambda x, w: graph.ConvOp(x, w, **half), n(1, 3, 6, 5), n(4, 3, 3, 2)),
        one(
            "f32",
            "conv",
            lambda x, w: graph.ConvOp(x, w, group=3, **half),
            n(1, 3, 6, 5),
            n(3, 1, 3, 2),
        ),
        one(
            "f32",
            "conv_transpose",
            lambda x, w: graph.ConvTransposeOp(x, w, output_padding=[0, 0], **half),
            n(1, 3, 4, 5),
            n(3, 2, 3, 2),
        ),
        one(
            "f32",
            "batch_norm",
            graph.BatchNormOp,
            n(2, 3, 4),
            n(3),
            n(3),
            n(3),
            noise("f32", 3, low=1),
        ),
        f32("log_softmax", lambda x: graph.LogSoftmaxOp(x, 0), n(6, 5)),
        f32("arg_reduce", lambda x: graph.ArgReduceOp(x, "max", 1), n(4, 40)),
        f32("cumsum", lambda x: graph.CumSumOp(x, 1, True), n(3, 70)),
        f32("resize", lambda x: graph.ResizeOp(x, [8, 9], [2.0, 1.5], mode="linear"), n(4, 6)),
        f32("pad", lambda x: graph.PadOp(x, [1, 2, 0, 1], "reflect"), n(4, 5)),
        f32("slice", lambda x: graph.SliceOp(x, [3, 0], [2, 3], [-2, 1]), n(5, 4)),
        f32("tile", lambda x: graph.TileOp(x, [2, 1]), n(2, 3)),
        f32("expand", lambda x: graph.ExpandOp(x, [4, 2, 3]), n(2, 3)),
        f32("reshape", lambda x: graph.ReshapeOp(graph.ReluOp(x).result, [6]), n(2, 3)),
        one(
            "f32",
            "layout_transform",
            lambda x: graph.LayoutTransformOp(x, "NCHW", "NCHW4c"),
            n(1, 6, 2, 3),
        ),
        f32("gather_elements", lambda x, i: graph.GatherElementsOp(x, i, 1), n(2, 4), PLACES),
        f32("gather_nd", graph.GatherNDOp, n(3, 4), PLACES),
        one(
            "f32",
            "scatter_nd",
            lambda x, i, u: graph.ScatterNDOp(x, i, u, "add"),
            n(3, 4),
            PLACES[:, :1],
            n(2, 4),
        ),
        one(
            "f32",
            "scatter_elements",
            lambda x, i, u: graph.ScatterElementsOp(x, i, u, 1),
            n(2, 4),
            PLACES,
            n(2, 2),
        ),
    ]


MOVED = ("f32", "f16", "i64", "ui8")  # a type of each width
RARE = ("i16", "ui16", "ui32", "ui64")
PLACES = np.array([[2, 0], [1, 1]], np.int64)


def programs() -> list[Program]:
    """Return all programs."""
    made = images()
    for dtype in DTYPES:
        if dtype == "i1":
            made += [elementwise(dtype, "and or xor", arity=2), elementwise(dtype, "not")]
            continue
        made += core(dtype) if dtype not in RARE else []
        made += moves(dtype) if dtype in MOVED else []
        if dtype in ("f32", "f64"):
            made.append(elementwise(dtype, "mod", 0.5, 2, arity=2))
        if dtype in ("f16", "bf16"):
            made += [elementwise(dtype, HALVES), elementwise(dtype, BINARY, 0.5, 2, arity=2)]
        elif "f" in dtype:
            made += [elementwise(dtype, POSITIVE, 0.1, 0.9), elementwise(dtype, UNARY)]
            made += [elementwise(dtype, TRIGONOMETRIC, -1.2, 1.2)]
            made += [elementwise(dtype, BINARY, 0.5, 2, arity=2)]
        else:
            shifts = " shift" if dtype[0] == "u" else ""
            made += [elementwise(dtype, f"{INTEGER} {BITS}{shifts}", arity=2)]
            made += [] if dtype[0] == "u" else [elementwise(dtype, SIGNED)]
    return made


def module_of(some: Sequence[Program]) -> ModuleOp:
    """Return one module whose @main runs programs side by side."""
    types = [tensor_type_of(array) for program in some for array in program.inputs]
    block = Block(arg_types=types)
    given, results = iter(block.args), list[SSAValue]()
    with ImplicitBuilder(block):
        for program in some:
            results.append(program.build(*(next(given) for _ in program.inputs)))
        func.ReturnOp(*results)
    kinds = [result.type for result in results]
    module = ModuleOp([func.FuncOp("main", (types, kinds), Region(block))])
    module.verify()
    return module
