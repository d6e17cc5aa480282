"""Numbers in launch plans, manifests and files of weights are checked before they are used."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fuzz.targets import CORPUS
from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.ir.weights import WeightsFile
from nn_opt.runtime.launch_plan import LaunchPlan, PlanError
from nn_opt.runtime.manifest import ManifestError, from_json


def plan(**changes: Any) -> str:
    record = json.loads((CORPUS / "plan" / "small").read_text())
    for path, value in changes.items():
        at: Any = record
        *outer, last = [int(word) if word.isdigit() else word for word in path.split("__")]
        for key in outer:
            at = at[key]
        at[last] = value
    return json.dumps(record)


def test_the_plan_is_right():
    LaunchPlan.from_json(plan())


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"buffers__0__size": -8}, "buffer sizes hold -8, expected a size"),
        ({"buffers__0__size": 2.5}, "buffer sizes hold 2.5, expected a size"),
        ({"buffers__0__shape": [1 << 40]}, "bytes, less than its elements"),
        ({"buffers__0__dtype": "O8"}, "no element type is called 'O8'"),
        (
            {"steps__0__repeat__steps__1__launch__arguments__0__offset": 4000},
            "a place has the bytes 4000 to",
        ),
        ({"steps__0__repeat__steps__1__launch__arguments": []}, "has 0 arguments"),
        ({"kernels": 3}, "not a launch plan"),
    ],
)
def test_plans(changes: dict[str, Any], words: str):
    with pytest.raises(PlanError, match=words):
        LaunchPlan.from_json(plan(**changes))


def test_manifests():
    record = json.loads((CORPUS / "manifest" / "small").read_bytes())
    record["inputs"][0][2] = "f4,f4"
    with pytest.raises(ManifestError, match="no element type is called 'f4,f4'"):
        from_json(json.dumps(record).encode())


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("no-shape", "array 'a' has no type, shape and place"),
        ("no-place", "array 'a' has no type, shape and place"),
        ("one-offset", "array 'a' has no type, shape and place"),
        ("negative-sizes", "array 'a' has a bad size or the unknown type F32"),
    ],
)
def test_weights(file: str, words: str):
    path: Path = CORPUS / "weights" / file
    with pytest.raises(DiagnosticError, match=words):
        WeightsFile(path)["a"]
