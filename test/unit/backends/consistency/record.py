"""Writes docs/backends.json: runs all programs on all backends, and notes what is refused.

    PYTHONPATH=test/unit/support python test/unit/backends/consistency/record.py [BACKEND ...]

Backends that are not named keep what the file says of them. A wrong result, or a tool that is
missing, ends it.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agreed_values import DTYPES, Program
from executors import BACKENDS
from matrix import ELSEWHERE, RECORD, Question, faults, is_refused, questions, tested
from xdsl.utils.exceptions import PassFailedException

Refusals = list[tuple[Program, str]]


def refusals(name: str, asked: Sequence[Question]) -> Refusals:
    """Return programs that a backend refuses, and the reason."""
    try:
        with tempfile.TemporaryDirectory() as folder:
            wrong = faults(name, asked, Path(folder))
    except PassFailedException as refusal:
        if len(asked) == 1:
            return [(asked[0][0], reason_of(refusal))]
        return [found for part in halves(asked) for found in refusals(name, part)]
    if wrong:
        sys.exit(f"{name} is wrong: {', '.join(wrong)}")
    return []


def runnable(name: str, record: dict[str, Any]) -> list[Question]:
    """Return the questions but those that a fault of an emulator keeps from being answered."""
    return [q for q in questions() if not is_refused(q[0], record["not run"].get(name, {}))]


def halves(asked: Sequence[Question]) -> list[Sequence[Question]]:
    """Return parts of what is asked: by element type, if there are several."""
    types = list(dict.fromkeys(program.dtype for program, _ in asked))
    if len(types) > 1:
        return [[q for q in asked if q[0].dtype == dtype] for dtype in types]
    return [asked[: len(asked) // 2], asked[len(asked) // 2 :]]


def reason_of(refusal: PassFailedException) -> str:
    """Return what a message says after the name of what is refused."""
    return str(refusal).partition("\n")[0].rpartition(": ")[2]


def summary(found: Refusals, asked: Sequence[Question]) -> dict[str, str]:
    """Return reasons by element type where all of it is refused, else by operator and type."""
    made: dict[str, str] = {}
    for dtype in DTYPES:
        reasons = [reason for program, reason in found if program.dtype == dtype]
        if reasons and len(reasons) == sum(p.dtype == dtype for p, _ in asked):
            made[dtype] = reasons[0]
    for program, reason in found:
        if program.dtype not in made:
            made |= {f"{op} {program.dtype}": reason for op in program.ops}
    return made


def text_of(record: dict[str, Any]) -> str:
    """Return a record as JSON, a line for each operator."""
    parts = []
    for key, value in record.items():
        if isinstance(value, dict):
            rows = [f"    {json.dumps(name)}: {json.dumps(row)}" for name, row in value.items()]
            parts.append(f"  {json.dumps(key)}: {{\n" + ",\n".join(rows) + "\n  }")
        else:
            parts.append(f"  {json.dumps(key)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def main(names: Sequence[str]) -> None:
    """Write the record."""
    before = json.loads(RECORD.read_text(encoding="ascii"))
    refused: dict[str, dict[str, str]] = before["refused"]
    for name in names or BACKENDS:
        print(name, flush=True)
        refused[name] = summary(refusals(name, asked := runnable(name, before)), asked)
    record = {
        "backends": {name: backend.how for name, backend in BACKENDS.items()},
        "compiled": [name for name, backend in BACKENDS.items() if not backend.runs],
        "operators": tested(),
        "elsewhere": [*ELSEWHERE],
        "refused": {name: refused[name] for name in BACKENDS if refused.get(name)},
        "not run": before["not run"],
    }
    RECORD.write_text(text_of(record), encoding="ascii")


if __name__ == "__main__":
    main(sys.argv[1:])
