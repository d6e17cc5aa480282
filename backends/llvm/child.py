"""Code for machines of another kind than this one, made in a process that LLVM may end."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

from nn_opt.backends.llvm import worker
from nn_opt.backends.llvm.worker import Job
from nn_opt.ir.diagnostics import DiagnosticError

PROGRAM = (
    "import runpy, sys; sys.path[:] = {path!r}; runpy.run_path({program!r}, run_name='__main__')"
)
# What LLVM writes before it ends: its own words, or those of a failed assertion.
_REASONS = (
    re.compile(r"^LLVM ERROR: (.*)$", re.MULTILINE),
    re.compile(r"^fatal error: (?:error in backend: )?(.*)$", re.MULTILINE),
    re.compile(r"Assertion [`\"](.*)['\"] failed", re.MULTILINE),
    re.compile(r"^error: (.*)$", re.MULTILINE),
)


# What it writes of words that it then ignores.
_IGNORED = re.compile(r"^'(.*)' is not a recognized (feature|processor) for this target", re.M)


def make_in_child(job: Job, name: str) -> bytes:
    """Return what a job asks for; `name` is the target's, for messages.

    Raises: DiagnosticError with LLVM's words for what it cannot make code of, or for a feature or
    processor that it does not know; Refused.
    """
    done = _run(job)
    if ignored := _IGNORED.search(done.stderr.decode(errors="replace")):
        architecture = job.triple.partition("-")[0]
        raise DiagnosticError(
            f"error: target {name!r}: LLVM knows no {ignored[2]} {ignored[1]!r} of {architecture}"
            f"\n  hint: those of LLVM's own tools count: llc -mtriple={architecture} -mattr=help"
        )
    head, newline, rest = done.stdout.partition(b"\n")
    if done.returncode or head + newline not in (worker.DONE, worker.REFUSED, worker.UNKNOWN):
        said = done.stderr.decode(errors="replace")
        raise DiagnosticError(f"error: LLVM cannot make code for {name!r}: {reason(done, said)}")
    if head + newline == worker.REFUSED:
        raise worker.Refused(rest.decode())
    if head + newline == worker.UNKNOWN:
        raise DiagnosticError(f"error: LLVM does not know {job.triple!r}: {rest.decode().strip()}")
    return rest


def _run(job: Job) -> subprocess.CompletedProcess[bytes]:
    if not os.path.basename(sys.executable or "").startswith("python"):
        raise DiagnosticError(
            f"error: code for {job.triple} is made by a second Python, and there is none here"
            "\n  hint: run nn-opt by python, not as part of another program"
        )
    path = [str(entry) for entry in sys.path]
    program = PROGRAM.format(path=path, program=str(Path(worker.__file__)))
    return subprocess.run(
        [sys.executable, "-c", program],
        input=worker.to_json(job),
        capture_output=True,
        check=False,
    )


def reason(done: subprocess.CompletedProcess[bytes], said: str) -> str:
    """Return in one line why the process ended."""
    for pattern in _REASONS:
        if found := pattern.search(said):
            return found[1].strip()
    if done.returncode < 0:
        return f"its process ended by {signal.Signals(-done.returncode).name}"
    lines = [line for line in said.splitlines() if line.strip()]
    return lines[-1].strip() if lines else f"its process ended with status {done.returncode}"
