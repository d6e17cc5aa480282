"""The matrix of programs by backends: what is asked, what comes out, and what of it is wrong."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from agreed_programs import module_of, programs
from agreed_values import DTYPES, TOLERANCES, Array, Program
from executors import BACKENDS, as_stored

from nn_opt.dialects import graph
from nn_opt.reference import run

RECORD = Path(__file__).resolve().parents[4] / "docs" / "backends.json"
Question = tuple[Program, Array]  # and what the interpreter of the graph answers
# Operators that a program of this matrix does not hold: tests of their own have them.
ELSEWHERE = ("constant", "fused", "scan", "winograd_weights", "yield")


@cache
def questions() -> list[Question]:
    """Return each program with what the interpreter of the graph makes of it."""
    made = programs()
    with np.errstate(all="ignore"):
        results = run(module_of(made), [array for p in made for array in p.inputs])
    return [(p, np.asarray(result)) for p, result in zip(made, results, strict=True)]


def tested() -> dict[str, list[str]]:
    """Return the element types of each operator's programs."""
    found: dict[str, set[str]] = {}
    for program, _ in questions():
        for op in program.ops:
            found.setdefault(op, set()).add(program.dtype)
    return {op: sorted(types, key=[*DTYPES].index) for op, types in sorted(found.items())}


def operators() -> set[str]:
    """Return the names of all operators of the graph, without its prefix."""
    return {op.name.removeprefix("graph.") for op in graph.Graph.operations}


def part(name: str, number: int) -> list[Question]:
    """Return one of a backend's parts of the questions, all of which are about as dear."""
    return questions()[number % (one_in := BACKENDS[name].one_in) :: one_in]


def without(asked: Sequence[Question], refused: Collection[str]) -> list[Question]:
    """Return what is left of questions where operators, element types, or both are refused."""
    left = ((program.without(refused), want) for program, want in asked)
    return [(program, want) for program, want in left if program]


def faults(name: str, asked: Sequence[Question], folder: Path) -> list[str]:
    """Return what is wrong with a backend's answers, a line for each operator."""
    results = answers(name, [program for program, _ in asked], folder)
    if results is None:
        return []
    stored = as_stored(results, [want for _, want in asked])
    pairs = zip(asked, stored, strict=True)
    return [line for (p, want), got in pairs for line in _differences(p, got, want)]


def answers(name: str, some: Sequence[Program], folder: Path) -> list[Array] | None:
    """Return what a backend makes of programs in one module; None if it only compiles them."""
    inputs = [array for program in some for array in program.inputs]
    return BACKENDS[name].run(module_of(some), inputs, folder)


def _differences(program: Program, result: Array, want: Array) -> Iterator[str]:
    if program.dtype not in TOLERANCES or want.dtype.kind in "iub":
        wrong = result != want
    else:
        tolerance = TOLERANCES[program.dtype]
        got, right = result.astype(np.float64), want.astype(np.float64)
        wrong: Any = ~np.isclose(got, right, rtol=tolerance, atol=tolerance, equal_nan=True)
    by_op = wrong.reshape(len(program.ops), -1).any(axis=1)
    for op, is_wrong in zip(program.ops, by_op, strict=True):
        if op and is_wrong:
            yield f"{op} of {program.dtype}"
