"""bf16 against bf16: nn-opt with that precision asked for, OpenVINO as it is by default.

    python -m bench.bf16                  all models, one after the other
    python -m bench.bf16 resnet18 lstm    some of them
    python -m bench.bf16 --json FILE      also write the figures

Both, and nn-opt in f32, take turns in one process on one core. The errors are those against
onnxruntime, which computes in f32.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.cases import NAMES, Case, prepare
from bench.feeds import Array, Feeds
from bench.figures import relative_error
from bench.models import MODELS
from bench.subjects import LOADS, OURS, REFERENCE, Run, load_openvino
from bench.timing import pin, take_turns

BF16 = "bf16"


@dataclass(frozen=True)
class Compared:
    """Median milliseconds and errors of one model; `ratio` is OpenVINO's time over ours."""

    model: str
    ours: float
    openvino: float
    ours_f32: float
    ratio: float
    error: float
    openvino_error: float
    cpu_share: float


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the command line, measure, report."""
    options = parse(arguments)
    pin(1)
    console = Console()
    rows: list[Compared] = []
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NN_OPT_CACHE"] = str(Path(folder) / "cache")
        for name in options.models or list(MODELS):
            with console.status(name):
                rows.append(compare(prepare(name, Path(folder)), options.seconds))
    console.print(table_of(rows))
    if options.json is not None:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=2) + "\n")


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return the options; leaves with a message if a name is unknown."""
    parser = argparse.ArgumentParser(prog="python -m bench.bf16")
    parser.add_argument("models", nargs="*", metavar="MODEL", help=", ".join(NAMES))
    parser.add_argument("--seconds", type=float, default=3.0, help="of taking turns, a model")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here")
    options = parser.parse_args(arguments)
    unknown = sorted(set(options.models) - set(NAMES))
    if unknown:
        parser.error(f"unknown model {', '.join(unknown)}")
    return options


def compare(case: Case, seconds: float) -> Compared:
    """Measure one model in turns."""
    feeds = case.feeds()
    exact = LOADS[REFERENCE](case.path, 1)(feeds)
    runs: dict[str, Run] = {
        BF16: load_bf16(case.path),
        "openvino": load_openvino(case.path, 1, BF16),
        OURS: LOADS[OURS](case.path, 1),
    }
    errors = {name: relative_error(run(feeds), exact) for name, run in runs.items()}
    times = take_turns({name: lambda run=run: run(feeds) for name, run in runs.items()}, seconds)
    ours, theirs = times.medians[BF16], times.medians["openvino"]
    return Compared(
        model=case.name,
        ours=ours,
        openvino=theirs,
        ours_f32=times.medians[OURS],
        ratio=theirs / ours,
        error=errors[BF16],
        openvino_error=errors["openvino"],
        cpu_share=times.cpu_share,
    )


def load_bf16(path: Path) -> Run:
    """Compile with nn-opt in bf16, for one thread."""
    import nn_opt

    model = nn_opt.compile(path, threads=1, precision=BF16)

    def run(feeds: Feeds) -> list[Array]:
        return list(model.run(feeds).values())

    return run


def table_of(rows: Sequence[Compared]) -> Table:
    """Return the figures as a table."""
    table = Table(title="one core, bf16, medians in ms, taking turns; ratio: OpenVINO's over ours")
    titles = ("nn-opt", "openvino", "ratio", "nn-opt f32", "rel. error", "openvino's", "CPU")
    table.add_column("model", no_wrap=True)
    for title in titles:
        table.add_column(title, justify="right", overflow="fold")
    for row in rows:
        figures = (row.ours, row.openvino, row.ratio, row.ours_f32)
        texts = [f"{figure:.2f}" if figure >= 10 else f"{figure:.3f}" for figure in figures]
        errors = (f"{row.error:.1e}", f"{row.openvino_error:.1e}", f"{row.cpu_share:.0%}")
        table.add_row(row.model, *texts, *errors)
    return table


if __name__ == "__main__":
    main()
