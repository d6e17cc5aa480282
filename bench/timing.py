"""Cores, turns and medians: how calls are timed against each other."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

Call = Callable[[], object]
LEAST_ROUNDS = 5
BURST = 5  # calls a turn on several threads
PAUSE = 0.005  # seconds of sleep in which a pool that still spins shows itself
PATIENCE = 100  # pauses after which a pool that never rests is let be


@dataclass(frozen=True)
class Times:
    """Median milliseconds of each call, the rounds, and which part of the time a core was ours."""

    medians: dict[str, float]
    rounds: int
    cpu_share: float


def pin(threads: int) -> None:
    """Keep this process, and the threads and processes it starts, on its last allowed cores."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-threads:])


def take_turns(calls: Mapping[str, Call], seconds: float, burst: int = 1) -> Times:
    """Time calls in turns for about so many seconds; of a burst, the first call does not count.

    A burst begins when no thread of the process runs: pools of threads spin for some milliseconds
    after a call, and would take a core from whoever comes next.
    On one core a share of the CPU below 0.97 means that somebody else used it meanwhile.
    """
    times: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        call()
    begin, cpu = time.perf_counter(), time.process_time()
    rounds = 0
    while rounds < LEAST_ROUNDS or time.perf_counter() - begin < seconds:
        for name, call in calls.items():
            if burst > 1:
                _wait_for_rest()
            taken = [_milliseconds(call) for _ in range(burst)]
            times[name] += taken[1:] or taken
        rounds += 1
    share = (time.process_time() - cpu) / (time.perf_counter() - begin)
    medians = {name: statistics.median(taken) for name, taken in times.items()}
    return Times(medians, rounds, share)


def _wait_for_rest() -> None:
    """Sleep until no thread of this process uses a core."""
    for _ in range(PATIENCE):
        before = time.process_time()
        time.sleep(PAUSE)
        if time.process_time() - before < PAUSE / 10:
            return


def _milliseconds(call: Call) -> float:
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1e3
