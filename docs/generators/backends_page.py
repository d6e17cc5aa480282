"""The page of what each backend runs, from docs/backends.json, which a test holds true."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

RECORD = Path(__file__).resolve().parent.parent / "backends.json"
HEAD = """\
# What each backend runs

Each operator of [the dialect graph](dialects/graph.md) has programs in every element type that it
takes, and every backend compiles them. `runs`: the results are those of the interpreter of the
graph, integers bit by bit, f32 to 2e-5, f64 to 1e-12, f16 to 4e-3 and bf16 to 3e-2. `compiles
only`: the vendor's or Khronos' program accepts the code, and nothing here runs it. `refused`:
before anything is written, in the words quoted here. Tests of their own have {elsewhere}.

`make consistency` runs all programs on all backends, and `make test` one in eight on each, or in
sixteen where that takes long ([test](../test/unit/backends/consistency/test_consistency.py)).
What they claim is in `docs/backends.json`, which
`PYTHONPATH=test/unit/support python test/unit/backends/consistency/record.py` writes; of that,
`docs/generate.py` makes this page.
"""
MACHINES = """\
## Where they run in the tests

{rows}

`fibers` are threads of a GPU on this machine's processor, one fiber each, in both orders; races
and barriers that not all reach are faults. PTX and SPIR-V of whole models run on fibers, too, as
their LLVM IR. Texts in CUDA, Metal and WGSL, and code for x86-64 and Cortex-M, are compiled by the
compilers that [Targets](targets.md) names.
"""


def backends_page() -> str:
    """Return the page."""
    record = json.loads(RECORD.read_text(encoding="ascii"))
    elsewhere = ", ".join(f"`{name}`" for name in record["elsewhere"])
    machines = table(("backend", "by"), list(record["backends"].items()))
    parts = [
        HEAD.format(elsewhere=elsewhere),
        "## Element types\n\n" + table(*types(record)) + "\n",
        "## Operators\n\nEach in the types beside it, but for those refused above.\n",
        table(*operators(record)) + "\n",
        MACHINES.format(rows=machines),
    ]
    return "\n".join(parts)


def types(record: Mapping[str, Any]) -> tuple[Sequence[str], list[Sequence[str]]]:
    """Return the table of element types by backends."""
    names = list(dict.fromkeys(t for types in record["operators"].values() for t in types))
    rows: list[Sequence[str]] = [
        [name, *(type_cell(record, backend, name) for backend in record["backends"])]
        for name in sorted(names, key=order)
    ]
    return ("type", *record["backends"]), rows


def type_cell(record: Mapping[str, Any], backend: str, dtype: str) -> str:
    """Return a cell of the table of types."""
    reason = record["refused"].get(backend, {}).get(dtype)
    return done(record, backend) if reason is None else f'refused: "{reason}"'


def order(name: str) -> tuple[bool, bool, int]:
    """Put floats before integers, signed before unsigned, narrow before wide."""
    bits = int(name.lstrip("buif"))
    return "f" not in name, name[0] == "u", bits


def done(record: Mapping[str, Any], backend: str) -> str:
    """Return what becomes of a program that a backend does not refuse."""
    return "compiles only" if backend in record["compiled"] else "runs"


def operators(record: Mapping[str, Any]) -> tuple[Sequence[str], list[Sequence[str]]]:
    """Return the table of operators by backends."""
    rows: list[Sequence[str]] = [
        [op.replace(":", " "), ", ".join(types), *(cell(record, op, b) for b in record["backends"])]
        for op, types in record["operators"].items()
    ]
    return ("operator", "types", *record["backends"]), rows


def cell(record: Mapping[str, Any], op: str, backend: str) -> str:
    """Return what a backend does with an operator: in all its types, or in some only."""
    types, refused = record["operators"][op], record["refused"].get(backend, {})
    halted = record["not run"].get(backend, {})
    left = [t for t in types if not {t, op, f"{op} {t}"} & {*refused, *halted}]
    by_reason: dict[str, list[str]] = {}
    for t in types:
        if reason := refused.get(f"{op} {t}"):
            by_reason.setdefault(reason, []).append(t)
    said = [f'{", ".join(ts)} refused: "{reason}"' for reason, ts in by_reason.items()]
    said += [f"{t} compiles only: {halted[key]}" for t in types if (key := f"{op} {t}") in halted]
    if op in refused:
        said.append(f'refused: "{refused[op]}"')
    return "; ".join(([done(record, backend)] if left else []) + said) or "refused"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    return "\n".join(_lines(head, rows))


def _lines(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{' --- |' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"
