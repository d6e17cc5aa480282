"""The page docs/conformance.md, made of the recorded run."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

from conformance import record
from conformance.record import Result, facts_of, passed, read, totals

FILE = Path(__file__).resolve().parent.parent / "docs" / "conformance.md"
STATUSES = ("pass", "unsupported", "wrong", "error", "crash", "hang")
HEAD = """# ONNX's test suite

The package `onnx` {onnx} brings {count} tests of operators and models. `make conformance` runs all
of them through [`nn_opt.onnx_backend`](python-api.md), each in a process of its own, and writes
`docs/conformance.json` and this page; `make test` runs some for each operator. An unsupported model
gets a message that names node and operator; *wrong* is an output that is not what the suite
expects, *error* any other message. Arrays in sequences are compared whole; the suite's own runner
takes them for sequences and stops at one without axes, in `test_loop16_seq_none`.

CORE are the tests of single operators on float32, int64, int32 and bool, without control flow,
random numbers, losses, sequences, optionals and strings. REAL-OPS are those of them whose operators
occur in some thirty real models. Function bodies are tests in which the standard's own definition
of an operator stands in place of the operator.
"""
NETWORKS = """
## The light networks with random weights

The suite's own nine networks have weights that are all alike, so that their outputs say little.
`python -m conformance --networks` draws weights and compares with onnxruntime.
"""
# Why tests that end "wrong" or "error" do so, by the beginning of their names.
KNOWN = {
    "node/test_bernoulli": (
        "the expected values are what NumPy happened to draw, though the standard leaves draws open"
    ),
    "node/test_dft_inverse": (
        "the expected values have float32 errors, 1.9e-7 where the result is 0, beyond the"
        " tolerance of 1e-7: what is right, to the last place, does not pass"
    ),
    "node/test_attention_4d_causal_fp16_expanded": (
        "the expected weights were rounded to float16 four times inside of one Softmax; with one"
        " rounding for each operator 2 of 192 elements are beyond the tolerance"
    ),
}
BY_TYPE = """
## Operators by element type

Passed / all of the tests of a single operator that have the type among their inputs and outputs.
"""


def page() -> str:
    """Return the page's text."""
    results, versions = read()
    parts = [HEAD.format(count=len(results), **versions), *_totals(results), NETWORKS]
    parts += [*_host(results), BY_TYPE, *_by_type(results), *_failures(results)]
    return "\n".join(parts).rstrip() + "\n"


def _totals(results: Mapping[str, Result]) -> Iterator[str]:
    yield "| tests | passed / all | unsupported | wrong | error | crash | hang |"
    yield "|---|---|---|---|---|---|---|"
    for group, counts in totals(results).items():
        rest = " | ".join(str(counts.get(status, 0)) for status in STATUSES[1:])
        yield f"| {group} | {passed(counts)} | {rest} |"


def _host(results: Mapping[str, Result]) -> Iterator[str]:
    """The operators that ran on the host, where there are some."""
    used = Counter(step for result in results.values() for step in result.get("host", ()))
    if not used:
        return
    yield "\n## On the host\n"
    yield "Sequences, optionals, strings and images are handled between compiled regions:"
    yield ", ".join(f"{step} ({count} tests)" for step, count in sorted(used.items())) + "."


def _by_type(results: Mapping[str, Result]) -> Iterator[str]:
    cells: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for name, result in results.items():
        facts = facts_of(name, result)
        if facts.is_plain and len(facts.operators) == 1:
            for dtype in facts.dtypes:
                cells[facts.operators[0]][dtype][result["status"]] += 1
    yield "| operator | by element type |"
    yield "|---|---|"
    for operator in sorted(cells, key=lambda name: ("." in name, name)):
        counts = cells[operator]
        listed = ", ".join(f"{dtype} {passed(counts[dtype])}" for dtype in sorted(counts))
        yield f"| {operator} | {listed} |"


def _failures(results: Mapping[str, Result]) -> Iterator[str]:
    names = record.names_with(results, STATUSES[1:])
    yield f"\n## What does not pass: {len(names)} tests\n"
    groups: dict[str, list[str]] = defaultdict(list)
    for name in names:
        groups[_reason(name, results[name])].append(name)
    for reason in sorted(groups):
        yield f"- {reason}: {', '.join(f'`{name}`' for name in groups[reason])}"


def _reason(name: str, result: Result) -> str:
    """Return the status and why, or the message without what differs from test to test."""
    known = [why for beginning, why in KNOWN.items() if name.startswith(beginning)]
    if known and result["status"] != "unsupported":
        return f"**{result['status']}** {known[0]}"
    text = re.sub(r"^\S+: error: ", "", " ".join(result.get("message", "").split()))
    text = re.sub(r"hint: .*", "", text).strip()
    return f"**{result['status']}** {text}".replace("|", "\\|").replace("<", "\\<")
