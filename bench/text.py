"""CPU time of the tool itself beside xdsl-opt and mlir-opt, on the same files.

    python -m bench.text                     10,000 and 100,000 ops, 1,000,000 weights, start-up
    python -m bench.text 1000 --rounds 5     another length; several may be named
    python -m bench.text --only loops        one program: see bench/programs.py

nn-opt and xdsl-opt take turns, in processes that do one step after the other (bench/text_steps.py)
with the limits of garbage collection that their tools set; mlir-opt, where there is one, reports
its own times. Then the tools themselves read and print a file. Medians; a ratio is a peer's time by
nn-opt's, and `x10 ops` is how the time grows with ten times the operations. Less than a millisecond
is no time: the steps before it have left nothing to do.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import TypeAlias

from rich.console import Console
from rich.table import Table

from bench.programs import OPS, WEIGHTS, chain
from bench.text_steps import STEPS, TOOLS

MLIR_STEPS = {
    "Parser": "parse",
    "CSE": "cse",
    "Canonicalizer": "canonicalize",
    "Output": "print",
}
NO_TIME = 0.001  # seconds
MLIR_TIME = re.compile(r"^ +([0-9.]+) \([ 0-9.]+%\)  (\w+)$", re.MULTILINE)
Figures: TypeAlias = dict[str, dict[str, float]]  # seconds by tool and step
Tool: TypeAlias = tuple[str, dict[str, str]]


def turn(tool: str, path: Path) -> dict[str, float]:
    """Measure a tool once, in a process; return its times."""
    command = [sys.executable, "-m", "bench.text_steps", tool, str(path)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def mlir_opt() -> Tool | None:
    """Return the command and environment of an installed mlir-opt."""
    environment = dict(os.environ)
    if found := shutil.which("mlir-opt"):
        return found, environment
    package = find_spec("mlir")
    for folder in package.submodule_search_locations or () if package else ():
        command = Path(folder) / "bin" / "mlir-opt"
        if command.exists():
            environment["LD_LIBRARY_PATH"] = str(Path(folder).parent / "llvm" / "lib")
            return str(command), environment
    return None


def mlir_turn(tool: Tool, path: Path) -> dict[str, float]:
    """Run mlir-opt once; return the times it reports."""
    flags = "--mlir-timing --mlir-timing-display=list --mlir-disable-threading --cse --canonicalize"
    command = [tool[0], *flags.split(), str(path), "-o", os.devnull]
    report = subprocess.run(command, env=tool[1], check=True, capture_output=True, text=True)
    rows = {name: float(value) for value, name in MLIR_TIME.findall(report.stderr)}
    return {step: rows[name] for name, step in MLIR_STEPS.items() if name in rows}


def measure(text: str, rounds: int) -> Figures:
    """Return seconds by tool and step; the tools take turns."""
    peer = mlir_opt()
    turns: dict[str, list[dict[str, float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.mlir"
        path.write_text(text)
        for _ in range(rounds):
            for tool in TOOLS:
                turns.setdefault(tool, []).append(turn(tool, path))
            if peer is not None:
                turns.setdefault("mlir-opt", []).append(mlir_turn(peer, path))
    return {
        name: {step: median(row[step] for row in rows) for step in rows[0]}
        for name, rows in turns.items()
    }


def table(title: str, length: int, figures: Figures, shorter: Figures | None) -> Table:
    """Return thousands of ops a second, ratios, and how times grew since a tenth of the length."""
    peers = [name for name in figures if name != "nn-opt"]
    grown = ["nn-opt: x10 ops", "xdsl-opt: x10 ops"] if shorter else []
    columns = ("step", *figures, *(f"{peer} / nn-opt" for peer in peers), *grown)
    result = Table(*columns, title=f"{title}: thousands a second")
    for step in STEPS:
        rates = [_rate(length, row.get(step)) for row in figures.values()]
        ratios = [_ratio(figures[peer].get(step), figures["nn-opt"][step]) for peer in peers]
        growth = [
            _ratio(figures[tool][step], shorter[tool][step])
            for tool in ("nn-opt", "xdsl-opt")
            if shorter
        ]
        result.add_row(step, *rates, *ratios, *growth)
    return result


def _rate(length: int, seconds: float | None) -> str:
    return f"{length / seconds / 1e3:,.0f}" if seconds and seconds > NO_TIME else "-"


def _ratio(value: float | None, by: float) -> str:
    return "-" if not value or max(value, by) < NO_TIME else f"{value / by:.1f}x"


def commands() -> dict[str, Tool]:
    """Return what reads and prints a file as a process."""
    folder = Path(sys.executable).parent
    found: dict[str, Tool] = {}
    for name in ("nn-opt", "xdsl-opt"):
        if command := shutil.which(name, path=f"{folder}{os.pathsep}{os.environ['PATH']}"):
            found[name] = (command, dict(os.environ))
    if (peer := mlir_opt()) is not None:
        found["mlir-opt"] = peer
    return found


def process_times(text: str, rounds: int) -> dict[str, float]:
    """Return the CPU seconds of processes that read and print a text; they take turns."""
    times: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.mlir"
        path.write_text(text)
        for _ in range(rounds):
            for name, (command, environment) in commands().items():
                before = _children()
                subprocess.run([command, str(path), "-o", os.devnull], env=environment, check=True)
                times.setdefault(name, []).append(_children() - before)
    return {name: median(rows) for name, rows in times.items()}


def _children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def process_table(texts: dict[str, str], rounds: int, first_rounds: int) -> Table:
    """Return the times of whole processes; the first text, which is tiny, runs more often."""
    rows = {
        name: process_times(text, rounds if k else first_rounds)
        for k, (name, text) in enumerate(texts.items())
    }
    tools = list(next(iter(rows.values())))
    result = Table("process", *tools, "xdsl-opt / nn-opt", title="read and print, CPU seconds")
    for name, row in rows.items():
        ratio = _ratio(row.get("xdsl-opt"), row["nn-opt"])
        result.add_row(name, *(f"{row[tool]:.3f}" for tool in tools), ratio)
    return result


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the command line, measure, report."""
    parser = argparse.ArgumentParser(prog="python -m bench.text")
    parser.add_argument("lengths", nargs="*", type=int, metavar="OPS", default=[10_000, 100_000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=[*OPS, *WEIGHTS, "processes"])
    parser.add_argument("--weights", type=int, default=1_000_000, help="numbers of a constant")
    options = parser.parse_args(arguments)
    console = Console(width=120)
    chosen = [options.only] if options.only else [*OPS, *WEIGHTS, "processes"]
    for name in [name for name in OPS if name in chosen]:
        shorter = None
        for length in sorted(options.lengths):
            figures = measure(OPS[name](length), options.rounds)
            tenth = shorter[1] if shorter and shorter[0] * 10 == length else None
            console.print(table(f"{name}, {length:,} ops", length, figures, tenth))
            shorter = (length, figures)
    texts = {"tiny": chain(1), "10,000 ops": chain(10_000)}
    texts |= {name: WEIGHTS[name](options.weights) for name in WEIGHTS if name in chosen}
    if "processes" in chosen or options.only in WEIGHTS:
        console.print(process_table(texts, options.rounds, 5 * options.rounds))


if __name__ == "__main__":
    main()
