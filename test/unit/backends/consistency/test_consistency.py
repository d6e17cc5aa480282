"""Every operator and element type that a backend claims computes what the graph means.

The claims are docs/backends.json, from which the page docs/backends.md is made. Each backend runs
every fourth program here, and all of them where NN_OPT_WHOLE_MATRIX is set: `make consistency`.
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
from matrix import ELSEWHERE, RECORD, answers, faults, is_refused, operators, questions, tested
from xdsl.utils.exceptions import PassFailedException

from nn_opt.dialects import graph
from nn_opt.dialects.graph.traits import ACCEPTS, GraphOp
from nn_opt.ir.types import mlir_type

CLAIMS: dict[str, Any] = json.loads(RECORD.read_text(encoding="ascii"))
SHARES = 1 if os.environ.get("NN_OPT_WHOLE_MATRIX") else 4
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
    "name", [pytest.param(name, marks=tools.needs(*b.tools)) for name, b in BACKENDS.items()]
)
def test_backends_agree_with_the_graph(name: str, tmp_path: Path) -> None:
    left_out = {**CLAIMS["refused"].get(name, {}), **CLAIMS["not run"].get(name, {})}
    mine = [*BACKENDS].index(name)
    asked = [q for k, q in enumerate(questions()) if (k + mine) % SHARES == 0]
    assert not faults(name, [q for q in asked if not is_refused(q[0], left_out)], tmp_path)


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
    program = next(p for p, _ in questions() if is_refused(p, {what: reason}))
    with pytest.raises(PassFailedException) as refusal:
        answers(name, [program], tmp_path)
    assert reason in str(refusal.value)
