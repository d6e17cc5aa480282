"""Latency, start-up and memory of nn-opt and of the peers that are installed.

    python -m bench                        all models; writes bench.json and bench.svg into docs/
    python -m bench resnet18 mobilenet_v1  some of them; prints alone
    python -m bench --threads 2            on two cores
    python -m bench --output FOLDER        write the files there

Subjects take turns in one process that is pinned. Start-up and memory are those of processes
that load the model and run it once; for nn-opt, cold is without and warm with its cache.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from bench.cases import NAMES, default_names, prepare
from bench.figures import Figures, Plan, measure
from bench.report import installed_mb, latency_table, start_table, write
from bench.subjects import installed
from bench.timing import pin

DOCS = Path(__file__).resolve().parent.parent / "docs"


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the command line, measure, report."""
    options = parse(arguments)
    pin(options.threads)
    names = options.models or default_names()
    output = options.output or (None if options.models else DOCS)
    plan = Plan(installed(), options.threads, options.seconds, not options.no_fresh)
    console = Console()
    rows = run(names, plan, console)
    console.print(latency_table(rows, plan))
    if plan.fresh:
        console.print(start_table(rows, plan))
    sizes = (f"{name} {installed_mb(name):.0f} MB" for name in plan.subjects)
    console.print("installed, with what it needs:", ", ".join(sizes))
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
        write(rows, plan, output)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return the options; leaves with a message if a name is unknown."""
    parser = argparse.ArgumentParser(prog="python -m bench")
    parser.add_argument("models", nargs="*", metavar="MODEL", help=", ".join(NAMES))
    parser.add_argument("--threads", type=int, default=1, help="cores to use (default 1)")
    parser.add_argument("--seconds", type=float, default=3.0, help="of taking turns, a model")
    parser.add_argument("--no-fresh", action="store_true", help="latency alone")
    parser.add_argument("--output", type=Path, metavar="FOLDER", help="write JSON and SVG here")
    options = parser.parse_args(arguments)
    unknown = sorted(set(options.models) - set(NAMES))
    if unknown:
        parser.error(f"unknown model {', '.join(unknown)}")
    return options


def run(names: Sequence[str], plan: Plan, console: Console) -> list[Figures]:
    """Measure models one by one, with a cache of our own, so that others' stay as they are."""
    rows: list[Figures] = []
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NN_OPT_CACHE"] = str(Path(folder) / "cache")
        for name in names:
            with console.status(name):
                rows.append(measure(prepare(name, Path(folder)), plan))
    return rows


if __name__ == "__main__":
    main()
