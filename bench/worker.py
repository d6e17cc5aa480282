"""One subject in a process of its own, which calls its model when it is told to.

python -m bench.worker SUBJECT MODEL INPUTS THREADS RESULTS

Writes the first call's results, then answers with one line: CPU seconds up to there and the
largest memory. After that each line N on its input means: call N times, answer the median
milliseconds of the second half, when caches hold again what is this subject's.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from select import select
from typing import TYPE_CHECKING, TextIO

from bench.feeds import load_feeds, save_feeds

if TYPE_CHECKING:
    from bench.cases import Case
    from bench.feeds import Array

CACHES = ("NN_OPT_CACHE", "TORCHINDUCTOR_CACHE_DIR", "XDG_CACHE_HOME")  # each model's own


class Failure(Exception):
    """Why a subject does not run a model, in one line."""


@dataclass(frozen=True)
class Ready:
    """What it took until the first result, compilation and its child processes included."""

    cpu_seconds: float
    first_call_ms: float  # with what a subject puts off until then
    peak_mb: float


class Worker:
    """The parent's side of such a process. Every method raises Failure."""

    def __init__(self, subject: str, case: Case, threads: int, folder: Path) -> None:
        """Start it; it begins to load at once."""
        self.subject = subject
        self._results = folder / f"{subject}.npz"
        self._errors = tempfile.TemporaryFile("w+", errors="replace")
        arguments = [subject, str(case.path), str(case.feeds_path), str(threads)]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "bench.worker", *arguments, str(self._results)],
            env={**os.environ, **{name: str(folder / name) for name in CACHES}},
            cwd=Path(__file__).resolve().parent.parent,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            start_new_session=True,  # its compilers end with it
        )

    def ready(self, limit: float) -> tuple[Ready, list[Array]]:
        """Wait for the first results, for so many seconds at most."""
        ready = Ready(**json.loads(self._line(limit)))
        return ready, list(load_feeds(self._results).values())

    def call(self, count: int, limit: float) -> float:
        """Return the median milliseconds of the second half of some calls."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{count}\n")
        self.process.stdin.flush()
        return float(self._line(limit))

    def close(self) -> None:
        """End the process, whatever it does, and those it started."""
        try:
            os.killpg(self.process.pid, 9)
        except ProcessLookupError:
            pass
        self.process.communicate()
        self._errors.close()

    def _line(self, limit: float) -> str:
        output = self.process.stdout
        assert output is not None
        if not select([output], [], [], limit)[0]:
            raise Failure(f"no answer within {limit:.0f} s")
        line = output.readline()
        if not line:
            self.process.wait()
            raise Failure(self._reason())
        return line

    def _reason(self) -> str:
        if self.process.returncode < 0:
            return f"ended by signal {-self.process.returncode}"
        self._errors.seek(0)
        rows = [row.strip() for row in self._errors if row.strip()]
        told = [row for row in rows if row.split(":")[0].endswith(("Error", "Exception"))]
        return (told or rows or ["no reason given"])[-1][:160]


def main() -> None:
    """Load, run once, then obey."""
    subject, model, inputs, threads, results = sys.argv[1:]
    answers = _own_output()
    from bench.compiler_peers import PEERS
    from bench.fresh import peak_mb
    from bench.subjects import LOADS

    feeds = load_feeds(Path(inputs))
    run = {**LOADS, **PEERS}[subject](Path(model), int(threads))
    start = time.perf_counter()
    outputs = run(feeds)
    first = (time.perf_counter() - start) * 1e3
    save_feeds(Path(results), {str(k): array for k, array in enumerate(outputs)})
    ready = Ready(_cpu_seconds(), first, peak_mb())
    print(json.dumps(ready.__dict__), file=answers, flush=True)
    for line in sys.stdin:
        taken: list[float] = []
        for _ in range(int(line)):
            start = time.perf_counter()
            run(feeds)
            taken.append((time.perf_counter() - start) * 1e3)
        print(statistics.median(taken[len(taken) // 2 :]), file=answers, flush=True)


def _own_output() -> TextIO:
    """Return what was standard output; what packages print goes to the errors from now on."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return answers


def _cpu_seconds() -> float:
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


if __name__ == "__main__":
    main()
