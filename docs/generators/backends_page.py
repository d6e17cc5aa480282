"""The page of what each backend runs, from docs/backends.json, which a test holds true."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

RECORD = Path(__file__).resolve().parent.parent / "backends.json"
HEAD = """\
# What each backend runs

Each operator of [the dialect graph](dialects/graph.md), and each element type, runs on every
backend in [a test](../test/unit/backends/consistency/test_consistency.py) that compares it with
the interpreter of the graph: integers bit by bit, f32 to 2e-5, f64 to 1e-12, f16 to 4e-3 and bf16
to 3e-2. Element types that a backend lacks are refused before anything is written, in the words
quoted here. Tests of their own have {elsewhere}.

Written by `docs/generate.py` from `docs/backends.json`, which the test checks.
"""
MACHINES = """\
## Where they run in the tests

{rows}

`fibers` are threads of a GPU on this machine's processor, one fiber each, in both orders; races
and barriers that not all reach are faults. PoCL is slow to compile: it runs f32, f16, i8, i64, ui32
and i1 in this test, the other types in those of operations. Texts in CUDA, Metal and WGSL, and
code for x86-64, armv7, Cortex-M, PTX and SPIR-V are compiled by the compilers that
[Targets](targets.md) names.
"""


def backends_page() -> str:
    """Return the page."""
    record = json.loads(RECORD.read_text(encoding="ascii"))
    elsewhere = ", ".join(f"`{name}`" for name in record["elsewhere"])
    machines = table(("backend", "by"), list(record["backends"].items()))
    parts = [
        HEAD.format(elsewhere=elsewhere),
        "## Element types\n\n" + table(*types(record)) + "\n",
        "## Operators\n\nEach runs with the types beside it, but for those refused above.\n",
        table(*operators(record)) + "\n",
        MACHINES.format(rows=machines),
    ]
    return "\n".join(parts)


def types(record: Mapping[str, Any]) -> tuple[Sequence[str], list[Sequence[str]]]:
    """Return the table of element types by backends."""
    names = list(dict.fromkeys(t for types in record["operators"].values() for t in types))
    refused = record["refused"]
    rows = [
        [name, *(status(refused.get(backend, {}), name) for backend in record["backends"])]
        for name in sorted(names, key=order)
    ]
    return ("type", *record["backends"]), rows


def order(name: str) -> tuple[bool, bool, int]:
    """Put floats before integers, signed before unsigned, narrow before wide."""
    bits = int(name.lstrip("buif"))
    return "f" not in name, name[0] == "u", bits


def status(refused: Mapping[str, str], dtype: str) -> str:
    """Return a cell of the table of types."""
    return f'refused: "{refused[dtype]}"' if dtype in refused else "runs"


def operators(record: Mapping[str, Any]) -> tuple[Sequence[str], list[Sequence[str]]]:
    """Return the table of operators by backends."""
    refused = record["refused"]
    rows = [
        [op, ", ".join(tested), *(cell(op, tested, refused.get(b, {})) for b in record["backends"])]
        for op, tested in record["operators"].items()
    ]
    return ("operator", "tested with", *record["backends"]), rows


def cell(op: str, tested: Sequence[str], refused: Mapping[str, str]) -> str:
    """Return whether an operator runs with any of its types."""
    if op in refused:
        return status(refused, op)
    return "runs" if set(tested) - set(refused) else "refused"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    return "\n".join(_lines(head, rows))


def _lines(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{' --- |' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"
