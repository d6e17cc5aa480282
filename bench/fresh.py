"""One run in a process of its own: the whole time from start to the first result, and memory.

python -m bench.fresh SUBJECT MODEL INPUTS THREADS
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bench.feeds import load_feeds
from bench.subjects import LOADS

if TYPE_CHECKING:
    from bench.cases import Case

STATUS = Path("/proc/self/status")


@dataclass(frozen=True)
class Fresh:
    """Seconds of the whole process, start of Python included, and its largest memory."""

    seconds: float
    cpu_seconds: float  # of all its threads; what a busy machine cannot lengthen much
    load_seconds: float  # of importing the subject and loading or compiling the model
    first_call_ms: float  # with all that a subject puts off until then
    peak_mb: float


def run_fresh(subject: str, case: Case, threads: int, settings: Mapping[str, str]) -> Fresh:
    """Load a model in a new process and run it once; `settings` join its environment.

    Raises: CalledProcessError if the process fails.
    """
    arguments = [subject, str(case.path), str(case.feeds_path), str(threads)]
    start, cpu = time.perf_counter(), _children_cpu()
    done = subprocess.run(
        [sys.executable, "-m", "bench.fresh", *arguments],
        env={**os.environ, **settings},
        cwd=Path(__file__).resolve().parent.parent,
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    seconds, used = time.perf_counter() - start, _children_cpu() - cpu
    load, first, memory = map(float, done.stdout.split()[-3:])
    return Fresh(seconds, used, load, first, memory)


def _children_cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def peak_mb() -> float:
    """Return the largest memory of this process so far.

    What getrusage says would include the parent's, as the process began as its copy.
    """
    if STATUS.exists():
        line = next(row for row in STATUS.read_text().splitlines() if row.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Load, run once, print seconds of loading, milliseconds of the call, and the memory."""
    subject, model, inputs, threads = sys.argv[1:]
    feeds = load_feeds(Path(inputs))
    begin = time.perf_counter()
    run = LOADS[subject](Path(model), int(threads))
    loaded = time.perf_counter()
    run(feeds)
    called = time.perf_counter()
    print(loaded - begin, (called - loaded) * 1e3, peak_mb())


if __name__ == "__main__":
    main()
