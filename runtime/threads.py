"""How many threads this process may use."""

from __future__ import annotations

import math
import os
from pathlib import Path

from nn_opt.runtime.loader import RuntimeFault

MOST = 256  # threads a pool can hold


def thread_count(asked: int | None = None) -> int:
    """Return the number of threads to use: what was asked for, else what the process is allowed.

    Raises: RuntimeFault if `asked` is not between 1 and 256.
    """
    if asked is None:
        return min(available_threads(), MOST)
    if not 1 <= asked <= MOST:
        raise RuntimeFault(f"error: threads is {asked}, expected 1 to {MOST}")
    return asked


def available_threads() -> int:
    """Return the least of CPU affinity, the control group's quota and OMP_NUM_THREADS."""
    limits = [_affinity(), _quota(Path("/sys/fs/cgroup"))]
    asked = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    if asked.isdecimal() and int(asked) > 0:
        limits.append(int(asked))
    return max(1, min(limits))


def _affinity() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _quota(root: Path, own: Path = Path("/proc/self/cgroup")) -> int:
    """Return the CPUs that control groups (version 2, then 1) grant, rounded up; 256 if unlimited.

    `own` names this process's groups, whose quotas hold as those of the groups around them do.
    """
    paths = ["", *(line.split(":", 2)[-1].strip("/") for line in _read(own))]
    quotas = [_read(root / folder / "cpu.max") for path in paths for folder in _ancestors(path)]
    for path in paths:
        for group in (root / "cpu" / folder for folder in _ancestors(path)):
            quotas.append([*_read(group / "cpu.cfs_quota_us"), *_read(group / "cpu.cfs_period_us")])
    return max(1, min([MOST, *map(_cpus, quotas)]))


def _ancestors(path: str) -> list[str]:
    """Return a path and all that it lies in: "a/b", "a" and ""."""
    parts = path.split("/")
    return ["/".join(parts[:length]) for length in range(len(parts), -1, -1)]


def _cpus(words: list[str]) -> int:
    if len(words) == 2 and all(word.isdecimal() for word in words) and int(words[1]) > 0:
        return math.ceil(int(words[0]) / int(words[1]))
    return MOST


def _read(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii").split()
    except (OSError, UnicodeDecodeError):
        return []
