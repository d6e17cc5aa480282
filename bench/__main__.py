"""Whole-model latency against onnxruntime, taking turns in one process on one core.

    python -m bench                        the models that PERF tables name
    python -m bench resnet18 mobilenet_v1  some of them
    python -m bench --json out.json        write the figures too

Prints the median milliseconds of each, the ratio (peer's time over ours: above 1 is faster than
the peer), the relative error, and the seconds that compiling took without the cache.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import nn_opt
from bench.models import MODELS, build

Array = NDArray[Any]
SECONDS = 3.0  # of measuring a model, warm-up not counted
LARGE = ("bert_base",)  # only when named: building and compiling takes long


@dataclass(frozen=True)
class Figures:
    """What was measured of one model; times in milliseconds unless the name says otherwise."""

    model: str
    ours: float
    onnxruntime: float
    ratio: float
    relative_error: float
    compile_seconds: float
    rounds: int


def pin_to_one_core() -> None:
    """Keep this process, and the threads it starts, on its last allowed core."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def session_of(model: onnx.ModelProto) -> onnxruntime.InferenceSession:
    """Return onnxruntime on one thread with all its optimisations."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(
        model.SerializeToString(), options, ["CPUExecutionProvider"]
    )


def random_feeds(model: nn_opt.Model) -> dict[str, Array]:
    """Return seeded inputs: normal floats, and integers that any vocabulary has."""
    rng = np.random.default_rng(0)
    feeds: dict[str, Array] = {}
    for spec in model.inputs:
        dtype = np.dtype(spec.dtype)
        shape = tuple(int(size) for size in spec.shape)
        if dtype.kind == "f":
            feeds[spec.name] = rng.standard_normal(shape).astype(dtype)
        else:
            feeds[spec.name] = rng.integers(0, 2, shape).astype(dtype)
    return feeds


def take_turns(calls: Mapping[str, Callable[[], object]]) -> tuple[dict[str, float], int]:
    """Return each call's median in milliseconds, and the number of rounds."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        call()
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end or len(times[next(iter(calls))]) < 5:
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            times[name].append((time.perf_counter() - start) * 1e3)
    rounds = len(times[next(iter(calls))])
    return {name: statistics.median(taken) for name, taken in times.items()}, rounds


def measure(name: str) -> Figures:
    """Compile, check and time one model."""
    proto = build(name)
    start = time.perf_counter()
    model = nn_opt.compile(proto, threads=1, cache=False)
    feeds = random_feeds(model)
    got = next(iter(model.run(feeds).values()))
    compiled = time.perf_counter() - start
    session = session_of(proto)
    want = session.run(None, feeds)[0]
    error = float(np.linalg.norm(got - want) / np.linalg.norm(want))
    medians, rounds = take_turns(
        {"ours": lambda: model.run(feeds), "onnxruntime": lambda: session.run(None, feeds)}
    )
    ratio = medians["onnxruntime"] / medians["ours"]
    return Figures(name, medians["ours"], medians["onnxruntime"], ratio, error, compiled, rounds)


def show(console: Console, rows: list[Figures]) -> None:
    """Print the table of all figures."""
    table = Table(title="one core, batch 1, f32; medians")
    for title in ("model", "nn-opt ms", "onnxruntime ms", "ratio", "rel. error", "compile s"):
        table.add_column(title, justify="left" if title == "model" else "right")
    for row in rows:
        table.add_row(
            row.model,
            f"{row.ours:.3f}",
            f"{row.onnxruntime:.3f}",
            f"{row.ratio:.2f}",
            f"{row.relative_error:.1e}",
            f"{row.compile_seconds:.1f}",
        )
    console.print(table)


def main() -> None:
    """Parse the command line and measure."""
    parser = argparse.ArgumentParser(prog="python -m bench")
    parser.add_argument("models", nargs="*", metavar="MODEL", help=", ".join(MODELS))
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    options = parser.parse_args()
    unknown = set(options.models) - set(MODELS)
    if unknown:
        parser.error(f"unknown model {', '.join(sorted(unknown))}")
    pin_to_one_core()
    console = Console()
    rows: list[Figures] = []
    for name in options.models or [name for name in MODELS if name not in LARGE]:
        with console.status(name):
            rows.append(measure(name))
    show(console, rows)
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=2) + "\n")


if __name__ == "__main__":
    main()
