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
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agreed_values import DTYPES, Program
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
        """Run programs, together if they do, else those of a type, or each, or each operator."""
        fault = self._try(name, asked)
        if fault and (smaller := parts(asked)):
            for some in smaller:
                self.ask(name, some)
        elif fault:
            self._note(fault, asked[0][0])

    def ask_again(self, name: str, asked: Sequence[Question], known: Mapping[str, str]) -> None:
        """Run what was refused before: programs of a type, or operators by themselves."""
        for program, want in asked:
            if program.dtype in known:
                again = [program]
            else:
                again = [program.only(op) for op in program.ops if f"{op} {program.dtype}" in known]
            for one in again:
                if fault := self._try(name, [(one, want)]):
                    self._note(fault, one)

    def _try(self, name: str, asked: Sequence[Question]) -> Exception | None:
        try:
            with tempfile.TemporaryDirectory() as folder:
                self.wrong += faults(name, asked, Path(folder))
        except (PassFailedException, *FAULTS) as fault:
            return fault
        return None

    def _note(self, fault: Exception, program: Program) -> None:
        ops = [f"{op} {program.dtype}" for op in program.ops if op]
        if isinstance(fault, PassFailedException):
            self.refused |= dict.fromkeys(ops, reason_of(fault))
        else:
            self.wrong.append(f"{', '.join(ops)}: {fault}")


def parts(asked: Sequence[Question]) -> list[list[Question]]:
    """Return questions by type, or each by itself, or each operator of one; none if it is one."""
    by_type: dict[str, list[Question]] = {}
    for question in asked:
        by_type.setdefault(question[0].dtype, []).append(question)
    if len(asked) > 1:
        return [*by_type.values()] if len(by_type) > 1 else [[question] for question in asked]
    program, want = asked[0]
    names = [op for op in program.ops if op]
    return [[(program.only(name), want)] for name in names if len(names) > 1]


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


def findings(name: str, known: Mapping[str, str], halted: Collection[str]) -> Findings:
    """Return what is found about a backend, but for what an emulator cannot run."""
    found = Findings()
    for number in range(BACKENDS[name].one_in):
        print(f"{name}, part {number + 1} of {BACKENDS[name].one_in}", flush=True)
        asked = without(part(name, number), halted)
        found.ask(name, without(asked, known))
        found.ask_again(name, asked, known)
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
        known, halted = (before[key].get(name, {}) for key in ("refused", "not run"))
        found = findings(name, known, halted)
        for line in found.wrong:
            print(f"{name} is wrong: {line}", flush=True)
            status = 1
        if not found.wrong:
            write({**before["refused"], name: summary(found.refused)}, before["not run"])
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
