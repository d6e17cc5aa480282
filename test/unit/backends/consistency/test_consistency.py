"""Every operator and element type that a backend claims computes what the graph means.

The claims are docs/backends.json, from which the page docs/backends.md is made.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tools
from agreed_programs import DTYPES, TOLERANCES, Array, Program, module_of, programs
from executors import BACKENDS, as_stored
from xdsl.utils.exceptions import PassFailedException

from nn_opt.dialects import graph
from nn_opt.reference import run

CLAIMS: dict[str, Any] = json.loads(
    (Path(__file__).resolve().parents[4] / "docs" / "backends.json").read_text(encoding="ascii")
)


@cache
def expected() -> list[tuple[Program, Array]]:
    """Return each program with what the interpreter of the graph makes of it."""
    made = programs()
    with np.errstate(all="ignore"):
        results = run(module_of(made), [array for p in made for array in p.inputs])
    return [(p, np.asarray(result)) for p, result in zip(made, results, strict=True)]


def differences(program: Program, result: Array, want: Array) -> list[str]:
    """Return what is wrong with a result, a line for each operator."""
    if program.dtype not in TOLERANCES or want.dtype.kind in "iub":
        wrong = result != want
    else:
        tolerance = TOLERANCES[program.dtype]
        got, right = result.astype(np.float64), want.astype(np.float64)
        wrong = ~np.isclose(got, right, rtol=tolerance, atol=tolerance, equal_nan=True)
    if len(program.ops) > 1:
        wrong = wrong.reshape(len(program.ops), -1).any(axis=1)
        names = [op for op, bad in zip(program.ops, wrong, strict=True) if bad]
    else:
        names = list(program.ops) if wrong.any() else []
    return [f"{name} of {program.dtype}" for name in names]


def test_claims_name_what_is_tested() -> None:
    tested: dict[str, list[str]] = {}
    for program in programs():
        for op in program.ops:
            types = tested.setdefault(op, [])
            types += [program.dtype] if program.dtype not in types else []
    order = list(DTYPES)
    assert {op: sorted(types, key=order.index) for op, types in tested.items()} == CLAIMS[
        "operators"
    ]
    names = {op.name.removeprefix("graph.") for op in graph.Graph.operations}
    assert names == {*tested, *CLAIMS["elsewhere"]}
    assert {name: backend.how for name, backend in BACKENDS.items()} == CLAIMS["backends"]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=tools.needs(*b.tools)) for name, b in BACKENDS.items()]
)
def test_backends_agree_with_the_graph(name: str, tmp_path: Path) -> None:
    refused: dict[str, str] = CLAIMS["refused"].get(name, {})
    some = [(p, want) for p, want in expected() if not {p.dtype, *p.ops} & {*refused}]
    types = BACKENDS[name].types or tuple(DTYPES)
    some = [(p, want) for p, want in some if p.dtype in types]
    results = results_on(name, [p for p, _ in some], tmp_path)
    stored = as_stored(results, [want for _, want in some])
    wrong = [
        line
        for (program, want), result in zip(some, stored, strict=True)
        for line in differences(program, result, want)
    ]
    assert not wrong


def results_on(name: str, some: Sequence[Program], folder: Path) -> list[Array]:
    inputs = [array for program in some for array in program.inputs]
    return BACKENDS[name].run(module_of(some), inputs, folder)


@pytest.mark.parametrize(
    ("name", "what"),
    [(name, what) for name, things in CLAIMS["refused"].items() for what in things],
)
def test_what_is_refused_is_refused_in_words(name: str, what: str, tmp_path: Path) -> None:
    program = next(p for p, _ in expected() if what in (p.dtype, *p.ops))
    with pytest.raises(PassFailedException, match=CLAIMS["refused"][name][what]):
        results_on(name, [program], tmp_path)
