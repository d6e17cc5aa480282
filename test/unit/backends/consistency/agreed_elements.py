"""Programs of what computes each element by itself, many operators in each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from agreed_values import (
    DTYPES,
    FLOATS,
    INTEGERS,
    Build,
    InRows,
    Program,
    noise,
    one,
    row_numbers,
)
from xdsl.ir import SSAValue

from nn_opt.dialects import graph
from nn_opt.ir.types import element_type, mlir_type, numpy_dtype

COLUMNS = 6


def elementwise(
    dtype: str, names: str, low: float = -2, high: float = 2, arity: int = 1
) -> Program:
    """Return a program of some operators, of all combinations of a few numbers."""
    classes = {op.name: op for op in graph.Graph.operations}
    words = names.split()
    ops: list[Build] = [
        SPECIAL.get(word) or (lambda *x, c=classes[f"graph.{word}"]: c(*x).results[0])
        for word in words
    ]
    given = [noise(dtype, len(words), COLUMNS + k, low=low, high=high) for k in range(arity)]
    inputs = (row_numbers(len(words), 2), *(array[:, :COLUMNS] for array in given))
    return Program(tuple(words), dtype, inputs, InRows(ops))


def widened(op: Any) -> Build:
    """Return an operator whose bits become numbers of its operands' type."""
    return lambda *x: graph.CastOp(op(*x).results[0], element_type(x[0])).result


def like(value: float, x: SSAValue) -> SSAValue:
    """Return a number of the type of x."""
    return graph.ConstantOp(np.array(value, numpy_dtype(element_type(x)))).result


def no_zero(x: SSAValue) -> SSAValue:
    """Return x with 1 in place of 0."""
    return graph.WhereOp(graph.EqualOp(x, like(0, x)).result, like(1, x), x).result


def size(x: SSAValue) -> SSAValue:
    """Return |x|."""
    return graph.AbsOp(x).result


SPECIAL: dict[str, Callable[..., SSAValue]] = {
    "acosh": lambda x: (
        graph.AcoshOp(graph.AddOp(graph.ExpOp(x).result, graph.ExpOp(x).result).result).result
    ),
    "sqrt": lambda x: graph.SqrtOp(size(x)).result,
    "clip": lambda x: graph.ClipOp(x, like(-0.5, x), like(1, x)).result,
    "pow": lambda x, y: graph.PowOp(size(x), size(y)).result,
    "equal": widened(graph.EqualOp),
    "less": widened(graph.LessOp),
    "less_equal": widened(graph.LessEqualOp),
    "greater": widened(graph.GreaterOp),
    "greater_equal": widened(graph.GreaterEqualOp),
    "isnan": widened(graph.IsNaNOp),
    "isinf": widened(graph.IsInfOp),
    "div": lambda x, y: graph.DivOp(x, no_zero(y)).result,
    "mod": lambda x, y: graph.ModOp(x, no_zero(y)).result,
    "mod:fmod": lambda x, y: graph.ModOp(x, no_zero(y), fmod=True).result,
    "shift:left": lambda x, y: graph.ShiftOp(x, size(y), "left").result,
    "shift:right": lambda x, y: graph.ShiftOp(x, size(y), "right").result,
}
WITHIN_1 = "acos acosh asin atanh log"
UNARY = """abs neg ceil floor round sign relu leaky_relu hard_sigmoid hard_swish thresholded_relu
    softsign clip sqrt reciprocal isnan isinf"""
EXPONENTIAL = "exp tanh sigmoid erf elu selu celu gelu softplus mish"
TRIGONOMETRIC = "sin cos tan sinh cosh atan asinh"
BINARY = "add sub mul max min prelu div equal less less_equal greater greater_equal"
POWERS = "pow mod mod:fmod"
BITS = "bitwise_and bitwise_or bitwise_xor shift:left shift:right"
INTEGER = "abs neg sign relu clip bitwise_not"
# There and back: only floats that a type of integers has stay what they are.
CASTS = [name for name in DTYPES if name != "f64"]


def casts(dtype: str, others: Sequence[str]) -> Program:
    """Return a program that makes numbers other types', and their own again."""
    element = mlir_type(np.dtype(DTYPES[dtype]))

    def by_way_of(other: str) -> Build:
        middle = mlir_type(np.dtype(DTYPES[other]))
        return lambda x: graph.CastOp(graph.CastOp(x, middle).result, element).result

    inputs = (row_numbers(len(others), 2), noise(dtype, len(others), COLUMNS, low=0))
    build = InRows([by_way_of(other) for other in others])
    return Program(tuple(f"cast:{name}" for name in others), dtype, inputs, build)


def bits(dtype: str) -> Program:
    """Return a program of the bits of numbers: those of floats as integers, of others unsigned."""
    size = np.dtype(DTYPES[dtype]).itemsize * 8
    other = f"i{size}" if dtype[0] != "i" else f"ui{size}"
    element = mlir_type(np.dtype(DTYPES[other]))
    return one(dtype, "bitcast", lambda x: graph.BitcastOp(x, element), noise(dtype, 2, COLUMNS))


def elements() -> list[Program]:
    """Return all programs of this page."""
    made = [*map(bits, DTYPES)]
    for dtype in DTYPES:
        others = [name for name in CASTS if name != dtype]
        by_f64 = ["bf16"] if dtype in ("i64", "ui64") else []
        made.append(casts(dtype, [name for name in others if name not in by_f64]))
        made += [casts(dtype, by_f64)] if by_f64 else []
    made += [elementwise("i1", "and or xor equal", arity=2), elementwise("i1", "not")]
    for dtype in FLOATS:
        made += [elementwise(dtype, WITHIN_1, 0.1, 0.9), elementwise(dtype, UNARY)]
        made += [elementwise(dtype, EXPONENTIAL), elementwise(dtype, TRIGONOMETRIC, -1.2, 1.2)]
        made += [elementwise(dtype, names, 0.5, 2, arity=2) for names in (BINARY, POWERS)]
    for dtype in INTEGERS:
        made += [
            elementwise(dtype, f"{BINARY} {POWERS} {BITS}", arity=2),
            elementwise(dtype, INTEGER),
        ]
    return made
