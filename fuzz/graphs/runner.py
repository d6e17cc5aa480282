"""Draws examples until a time is over; what is wrong is made small and saved.

`python -m fuzz.graphs.runner SECONDS FOLDER SEED [FAMILY ...]` prints its counts as JSON, a line
for each batch. `last.onnx` in the folder is what runs now: after a crash, it is the finding.
"""

from __future__ import annotations

import hashlib
import json
import signal
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import onnxruntime
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from fuzz.graphs.examples import Example, examples, old_examples
from fuzz.graphs.graph import FATES
from fuzz.graphs.oracle import ASKED, WATCHED
from fuzz.graphs.subject import WAYS, Finding, problem_of

BATCH = 100  # examples of a seed
LIMIT = 60  # seconds of an example
SHRINKING = 30  # seconds for a finding
TURNS = 4  # of so many examples, one runs after each pass, one in other files and sizes
COUNTS: Counter[str] = Counter()
# Examples of some of the recipes.
FAMILIES = {"all": examples(), "old": old_examples()}


class Found(Exception):
    """Something is wrong with an example."""


def main() -> None:
    """Draw until the time is over."""
    seconds, folder, first = float(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
    wanted = sys.argv[4:] or list(FAMILIES)
    onnxruntime.set_default_logger_severity(4)
    warnings.simplefilter("ignore")  # of what the drawn models overflow
    WATCHED.append(folder)
    signal.signal(signal.SIGALRM, _late)
    end, known = time.monotonic() + seconds, set[tuple[str, ...]]()
    number = first
    while time.monotonic() < end:
        batch(number, folder, known, lambda: time.monotonic() > end, wanted)
        number += 1
        print(json.dumps({"seed": number, "counts": COUNTS, "fates": _fates()}), flush=True)


def _late(*_: Any) -> None:
    raise TimeoutError(f"more than {LIMIT} s")


def _fates() -> dict[str, int]:
    found: Counter[str] = Counter()
    for (what, _, _), count in FATES.items():
        found[what] += count
    return found


def batch(
    number: int,
    folder: Path,
    known: set[tuple[str, ...]],
    over: Callable[[], bool],
    wanted: Sequence[str] = tuple(FAMILIES),
) -> None:
    """Draw a batch; save what it finds, once for each kind of finding."""
    wrong: dict[bytes, tuple[float, Example, Finding]] = {}  # the models that fail: since when
    last: list[bytes] = []

    @seed(number)
    @settings(
        max_examples=BATCH, deadline=None, database=None, suppress_health_check=[*HealthCheck]
    )
    @given(st.one_of(*(FAMILIES[name] for name in wanted)), st.integers(1, TURNS))
    def look(example: Example, turn: int) -> None:
        content = example.model.SerializeToString()
        if content not in wrong:
            if _is_late(wrong) or (over() and not wrong):
                return
            finding = watched(example, ways_of(turn), folder)
            if finding is None or finding.key in known:
                return
            wrong[content] = (time.monotonic(), example, finding)
        last[:] = [content]
        raise Found

    try:
        look()
    except Found:
        COUNTS["findings"] += 1
        _, example, finding = wrong[last[0]]  # the smallest is run last
        known.add(finding.key)
        save(folder, example, finding)


def ways_of(turn: int) -> tuple[str, ...]:
    """Return the ways in which an example runs."""
    more = {1: ("checked",), 2: ("disguised", "symbolic")}
    return (*WAYS[:2], *more.get(turn, ()))


def _is_late(wrong: dict[bytes, tuple[float, Example, Finding]]) -> bool:
    """Return whether a finding has been made smaller for long enough."""
    return bool(wrong) and time.monotonic() - next(iter(wrong.values()))[0] > SHRINKING


def watched(example: Example, ways: tuple[str, ...], folder: Path) -> Finding | None:
    """Return what is wrong with an example, which a file holds meanwhile."""
    if not example.model.graph.output:
        return None
    (folder / ASKED).unlink(missing_ok=True)
    (folder / "last.onnx").write_bytes(example.model.SerializeToString())
    COUNTS["examples"] += 1
    COUNTS["nodes"] += len(example.model.graph.node)
    COUNTS.update(ways)
    signal.alarm(LIMIT)
    try:
        return problem_of(example, ways)
    finally:
        signal.alarm(0)


def save(folder: Path, example: Example, finding: Finding) -> None:
    """Keep the model of a finding, and what is wrong with it in words."""
    content = example.model.SerializeToString()
    kind = finding.operators[-1] if finding.operators else "none"
    file = folder / f"graphs-{kind}-{hashlib.sha1(content).hexdigest()[:8]}.onnx"
    file.write_bytes(content)
    file.with_suffix(".txt").write_text(f"{finding.way}: {finding.problem}\n")


if __name__ == "__main__":
    main()
