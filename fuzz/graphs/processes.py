"""Runs the process that draws graphs, anew when one ends it, and counts what it did."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from fuzz.graphs.oracle import ASKED

LATE = 124
SLACK = 120  # seconds beyond its time, after which the process hangs


def fuzz_graphs(seconds: int, findings: Path, seed: int | None = None) -> int:
    """Return how many examples were run; what is found, and what was drawn, is in the folder."""
    end, number = time.monotonic() + seconds, seed or int(time.time())
    counts: Counter[str] = Counter()
    while (left := end - time.monotonic()) > 1:
        command = [
            sys.executable,
            "-m",
            "fuzz.graphs.runner",
            str(left),
            str(findings),
            str(number),
        ]
        said, status = _finished(command, left + SLACK)
        lines = [json.loads(line) for line in said.splitlines()]
        last: dict[str, Any] = lines[-1] if lines else {"seed": number, "counts": {}, "fates": {}}
        counts.update(last["counts"] | {f"nodes, {k}": n for k, n in last["fates"].items()})
        number = last["seed"] + 1
        if status != 0:
            counts[_crash(findings, status)] += 1
    (findings / "graphs.json").write_text(json.dumps(counts, indent=1) + "\n")
    return counts["examples"]


def _finished(command: list[str], limit: float) -> tuple[str, int]:
    """Return what a command says and its status; one that takes longer than the limit is killed."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        try:
            return child.communicate(timeout=limit)[0], child.returncode
        except subprocess.TimeoutExpired:
            child.kill()
            return child.communicate()[0], LATE


def _crash(findings: Path, status: int) -> str:
    """Keep the model that ended the process, if it was ours to run; return who ended it."""
    if status == LATE and (findings / ASKED).exists():
        return "ends while a graph was drawn"
    if (findings / ASKED).exists():
        (findings / ASKED).replace(findings / "ended-onnxruntime.onnx")
        return "crashes of onnxruntime"
    content = (findings / "last.onnx").read_bytes()
    file = findings / f"graphs-crash-{hashlib.sha1(content).hexdigest()[:8]}.onnx"
    file.write_bytes(content)
    file.with_suffix(".txt").write_text(f"the process ended with status {status}\n")
    return "crashes"
