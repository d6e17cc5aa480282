"""Every operator and element type that a backend claims computes what the graph means.

The claims are docs/backends.json, from which the page docs/backends.md is made. Each backend runs
one in eight programs here, or fewer, and all of them, in parts, where NN_OPT_WHOLE_MATRIX is set:
`make consistency`.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tools
from agreed_values import DTYPES
from executors import BACKENDS
from matrix import (
    ELSEWHERE,
    RECORD,
    answers,
    faults,
    operators,
    part,
    questions,
    tested,
    without,
)
from xdsl.utils.exceptions import PassFailedException

from nn_opt.dialects import graph
from nn_opt.dialects.graph.traits import ACCEPTS, GraphOp
from nn_opt.ir.types import mlir_type

CLAIMS: dict[str, Any] = json.loads(RECORD.read_text(encoding="ascii"))
WHOLE = "NN_OPT_WHOLE_MATRIX" in os.environ
# The others' first operand says it: those whose first one is a condition, or that have none.
TYPES = {"where": {*DTYPES}, "random_bits": {"ui32"}}


def test_claims_name_what_is_tested() -> None:
    assert tested() == CLAIMS["operators"]
    assert [*ELSEWHERE] == CLAIMS["elsewhere"]
    assert {name: backend.how for name, backend in BACKENDS.items()} == CLAIMS["backends"]
    assert [name for name, backend in BACKENDS.items() if not backend.runs] == CLAIMS["compiled"]


def test_each_operator_is_tested_with_all_types_that_it_takes() -> None:
    found: dict[str, set[str]] = {}
    for op, types in tested().items():
        found.setdefault(op.partition(":")[0], set()).update(types)
    assert operators() == {*found, *ELSEWHERE}
    for op in graph.Graph.operations:
        name = op.name.removeprefix("graph.")
        if name in found:
            assert issubclass(op, GraphOp)
            accepts = ACCEPTS[op.ELEMENTS]
            taken = {t for t, dtype in DTYPES.items() if accepts(mlir_type(np.dtype(dtype)))}
            assert (name, found[name]) == (name, TYPES.get(name, taken))


@pytest.mark.parametrize(
    ("name", "number"),
    [
        pytest.param(name, number, marks=tools.needs(*backend.tools))
        for mine, (name, backend) in enumerate(BACKENDS.items())
        for number in (range(backend.one_in) if WHOLE else [mine])
    ],
)
def test_backends_agree_with_the_graph(name: str, number: int, tmp_path: Path) -> None:
    left_out = {**CLAIMS["refused"].get(name, {}), **CLAIMS["not run"].get(name, {})}
    assert not faults(name, without(part(name, number), left_out), tmp_path)


@pytest.mark.parametrize(
    ("name", "what"),
    [
        (name, what)
        for name, things in CLAIMS["refused"].items()
        for what in {reason: what for what, reason in things.items()}.values()
    ],
)
def test_what_is_refused_is_refused_in_words(name: str, what: str, tmp_path: Path) -> None:
    reason = CLAIMS["refused"][name][what]
    program = next(p for p, _ in questions() if p.without([what]) is not p)
    alone = program.only(what.partition(" ")[0])
    with pytest.raises(PassFailedException) as refusal:
        answers(name, [alone], tmp_path)
    assert reason in str(refusal.value)
