"""What is measured of one model, and how."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bench.cases import Case
from bench.feeds import Array
from bench.fresh import Fresh, run_fresh
from bench.subjects import LOADS, OURS, REFERENCE
from bench.timing import BURST, take_turns


@dataclass(frozen=True)
class Figures:
    """Figures of one model, by subject; `ratios` are the peer's time over ours."""

    model: str
    milliseconds: dict[str, float]
    ratios: dict[str, float]
    relative_error: float  # of our outputs against onnxruntime's, the worst of all outputs
    cold: dict[str, Fresh]  # nothing cached
    warm_seconds: float  # nn-opt, compiled before
    rounds: int
    cpu_share: float


@dataclass(frozen=True)
class Plan:
    """What to measure, and how long."""

    subjects: Sequence[str]
    threads: int = 1
    seconds: float = 3.0  # of taking turns, a model
    fresh: bool = True  # also start new processes, for start-up and memory


def measure(case: Case, plan: Plan) -> Figures:
    """Measure one model: start-up in processes of its own, then latency by turns in this one."""
    cold, warm = _start_up(case, plan) if plan.fresh else ({}, 0.0)
    feeds = case.feeds()
    runs = {name: LOADS[name](case.path, plan.threads) for name in plan.subjects}
    error = relative_error(runs[OURS](feeds), runs[REFERENCE](feeds))
    calls = {name: lambda run=run: run(feeds) for name, run in runs.items()}
    times = take_turns(calls, plan.seconds, burst=1 if plan.threads == 1 else BURST)
    ours = times.medians[OURS]
    ratios = {name: taken / ours for name, taken in times.medians.items() if name != OURS}
    return Figures(
        case.name, times.medians, ratios, error, cold, warm, times.rounds, times.cpu_share
    )


def _start_up(case: Case, plan: Plan) -> tuple[dict[str, Fresh], float]:
    """Return each subject's first start, and the seconds of nn-opt's second one."""
    with tempfile.TemporaryDirectory() as cache:
        settings = {"NN_OPT_CACHE": cache}
        cold = {name: run_fresh(name, case, plan.threads, settings) for name in plan.subjects}
        return cold, run_fresh(OURS, case, plan.threads, settings).seconds


def relative_error(got: Sequence[Array], want: Sequence[Array]) -> float:
    """Return the largest |got - want| / |want| of all outputs, in the Euclidean norm."""
    return max(_error(g, w) for g, w in zip(got, want, strict=True))


def _error(got: Array, want: Array) -> float:
    exact = want.astype(np.float64)
    scale = float(np.linalg.norm(exact)) or 1.0
    return float(np.linalg.norm(got.astype(np.float64) - exact)) / scale
