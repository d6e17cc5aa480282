"""Writes docs/backends.json: runs all programs on backends, and notes what is refused.

    PYTHONPATH=test/unit/support python test/unit/backends/consistency/record.py [BACKEND ...]

The file is written after each backend; those that are not named keep what it says of them. One
whose results are wrong keeps it, too: its faults are printed, and the exit status is 1.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agreed_values import DTYPES
from executors import BACKENDS
from matrix import ELSEWHERE, RECORD, Question, faults, part, tested, without
from xdsl.utils.exceptions import PassFailedException

FAULTS = (AssertionError, OSError, RuntimeError, ValueError, subprocess.SubprocessError)


@dataclass
class Findings:
    """What a backend refuses, as `op dtype` with the reason, and what it does wrong."""

    refused: dict[str, str] = field(default_factory=dict[str, str])
    wrong: list[str] = field(default_factory=list[str])

    def ask(self, name: str, asked: Sequence[Question]) -> None:
        """Run programs, together if they do, else each program or operator by itself."""
        try:
            with tempfile.TemporaryDirectory() as folder:
                self.wrong += faults(name, asked, Path(folder))
        except (PassFailedException, *FAULTS) as fault:
            if smaller := list(parts(asked)):
                for some in smaller:
                    self.ask(name, some)
            else:
                self._note(fault, asked[0])

    def _note(self, fault: Exception, question: Question) -> None:
        program = question[0]
        op = f"{next(filter(None, program.ops))} {program.dtype}"
        if isinstance(fault, PassFailedException):
            self.refused[op] = reason_of(fault)
        else:
            self.wrong.append(f"{op}: {fault}")


def parts(asked: Sequence[Question]) -> Iterator[list[Question]]:
    """Yield each program by itself, or each operator of a program, if there are several."""
    if len(asked) > 1:
        yield from ([question] for question in asked)
    elif asked:
        program, want = asked[0]
        names = [op for op in program.ops if op]
        yield from ([(program.only(name), want)] for name in names if len(names) > 1)


def reason_of(refusal: Exception) -> str:
    """Return what a message says after the name of what is refused."""
    return str(refusal).partition("\n")[0].rpartition(": ")[2]


def summary(refused: dict[str, str]) -> dict[str, str]:
    """Return reasons by element type where all of it is refused, else by operator and type."""
    made: dict[str, str] = {}
    for dtype in DTYPES:
        mine = {f"{op} {dtype}" for op, types in tested().items() if dtype in types}
        if mine <= {*refused}:
            made[dtype] = refused[min(mine)]
    return made | {key: why for key, why in refused.items() if key.split()[1] not in made}


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


def findings(name: str, halted: Sequence[str]) -> Findings:
    """Return what is found about a backend, but for what an emulator cannot run."""
    found = Findings()
    for number in range(BACKENDS[name].one_in):
        print(f"{name}, part {number + 1} of {BACKENDS[name].one_in}", flush=True)
        found.ask(name, without(part(name, number), halted))
    return found


def write(refused: dict[str, dict[str, str]], halted: dict[str, dict[str, str]]) -> None:
    """Write the record."""
    record = {
        "backends": {name: backend.how for name, backend in BACKENDS.items()},
        "compiled": [name for name, backend in BACKENDS.items() if not backend.runs],
        "operators": tested(),
        "elsewhere": [*ELSEWHERE],
        "refused": {name: refused[name] for name in BACKENDS if refused.get(name)},
        "not run": halted,
    }
    RECORD.write_text(text_of(record), encoding="ascii")


def main(names: Sequence[str]) -> int:
    """Write what is found about some backends, or all; return the exit status."""
    status = 0
    for name in names or BACKENDS:
        before = json.loads(RECORD.read_text(encoding="ascii"))
        found = findings(name, [*before["not run"].get(name, {})])
        for line in found.wrong:
            print(f"{name} is wrong: {line}", flush=True)
            status = 1
        if not found.wrong:
            write({**before["refused"], name: summary(found.refused)}, before["not run"])
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
