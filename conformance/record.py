"""The recorded run: docs/conformance.json, a line for each test."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from conformance.groups import GROUPS, Facts

FILE = Path(__file__).resolve().parent.parent / "docs" / "conformance.json"
Result = dict[str, Any]


def write(results: Mapping[str, Result], versions: Mapping[str, str], path: Path = FILE) -> None:
    """Write results, one test a line so that a change shows as such."""
    head = json.dumps(dict(versions))
    lines = ",\n".join(f"{json.dumps(n)}: {json.dumps(results[n])}" for n in results)
    path.write_text(f'{{"versions": {head},\n"tests": {{\n{lines}\n}}}}\n')


def read(path: Path = FILE) -> tuple[dict[str, Result], dict[str, str]]:
    """Return the results and the versions that they are of."""
    data = json.loads(path.read_text())
    return data["tests"], data["versions"]


def facts_of(name: str, result: Mapping[str, Any]) -> Facts:
    """Return what a recorded line says of its test."""
    return Facts(name, tuple(result["operators"]), tuple(result["dtypes"]))


def totals(results: Mapping[str, Result]) -> dict[str, Counter[str]]:
    """Return for each group how many tests ended how."""
    known = [(facts_of(name, result), result["status"]) for name, result in results.items()]
    return {
        group: Counter(status for facts, status in known if belongs(facts))
        for group, belongs in GROUPS.items()
    }


def passed(counts: Mapping[str, int]) -> str:
    """Return counts as 'passed / all'."""
    return f"{counts.get('pass', 0)} / {sum(counts.values())}"


def names_with(results: Mapping[str, Result], statuses: Iterable[str]) -> list[str]:
    """Return the tests that ended in one of some ways."""
    wanted = set(statuses)
    return [name for name, result in results.items() if result["status"] in wanted]
