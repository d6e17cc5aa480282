"""nn-opt beside other compilers: PyTorch with and without inductor, IREE, TVM, tinygrad.

    python -m bench.compilers                  all models; writes into docs/
    python -m bench.compilers bert_tiny lstm   some of them; prints alone
    python -m bench.compilers --output FOLDER  write the files there

Needs `pip install .[bench,bench-compilers]`; what is missing is left out. Subjects live in
processes of their own, in turns on one core. A subject that fails, or answers nothing for two
minutes, has its reason in the table.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from pathlib import Path

from rich.console import Console
from rich.markdown import Markdown

from bench.cases import NAMES, Case, prepare
from bench.compiler_peers import MODULES, PEERS
from bench.figures import relative_error
from bench.models import MODELS
from bench.report import installed_mb, machine, version_of
from bench.subjects import DISTRIBUTIONS, LOADS, OURS, REFERENCE
from bench.timing import pin
from bench.worker import Failure, Ready, Worker

DOCS = Path(__file__).resolve().parent.parent / "docs"
PATIENCE = 120.0  # seconds for an answer
RIGHT = 1e-3  # relative error beyond which an answer is wrong, and its time worth nothing
TURN = 40.0  # milliseconds of calls in a turn, of which the first half does not count
MOST_CALLS = 40
MOST_ROUNDS = 200


@dataclass
class Row:
    """Figures of one model, by subject."""

    model: str
    milliseconds: dict[str, float] = field(default_factory=dict[str, float])
    relative_errors: dict[str, float] = field(default_factory=dict[str, float])
    start: dict[str, Ready] = field(default_factory=dict[str, Ready])
    failures: dict[str, str] = field(default_factory=dict[str, str])

    def ratio(self, subject: str) -> float:
        """Return a peer's time over ours; not a number if there is none of ours."""
        return self.milliseconds[subject] / self.milliseconds.get(OURS, float("nan"))


def subjects() -> list[str]:
    """Return what can be measured here: nn-opt, then the compilers that are installed."""
    return [OURS, *(name for name in PEERS if find_spec(MODULES[name]) is not None)]


def start(case: Case, names: Sequence[str], threads: int, folder: Path, row: Row) -> list[Worker]:
    """Start a worker for each subject, one after the other; return those with right answers."""
    reference = LOADS[REFERENCE](case.path, threads)(case.feeds())
    workers: list[Worker] = []
    for name in names:
        worker = Worker(name, case, threads, folder)
        try:
            row.start[name], outputs = worker.ready(PATIENCE)
            error = row.relative_errors[name] = relative_error(outputs, reference)
            if not error < RIGHT:
                raise Failure(f"wrong results: relative error {error:.1e}")
            worker.call(2, PATIENCE)  # the second may record what later ones replay
            workers.append(worker)
        except Failure as failure:
            row.failures[name] = str(failure)
            worker.close()
    return workers


def take_turns(workers: Sequence[Worker], seconds: float, row: Row) -> None:
    """Time the workers in turns; each sits out once its own calls took so many seconds."""
    times: dict[Worker, list[float]] = {worker: [] for worker in workers}
    spent = dict.fromkeys(workers, 0.0)
    for _ in range(MOST_ROUNDS):
        active = [worker for worker in times if spent[worker] < seconds * 1e3]
        if not active:
            break
        for worker in active:
            last = (times[worker] or [row.start[worker.subject].first_call_ms])[-1]
            calls = min(max(int(TURN / last), 1), MOST_CALLS)
            try:
                times[worker].append(worker.call(calls, PATIENCE))
                spent[worker] += calls * times[worker][-1]
            except Failure as failure:
                row.failures[worker.subject] = str(failure)
                del times[worker]
    medians = {worker.subject: statistics.median(taken) for worker, taken in times.items()}
    row.milliseconds.update(medians)


def measure(name: str, names: Sequence[str], seconds: float) -> Row:
    """Measure one model on one core."""
    row = Row(name)
    with tempfile.TemporaryDirectory() as text:
        workers = start(prepare(name, Path(text)), names, 1, Path(text), row)
        try:
            take_turns(workers, seconds, row)
        finally:
            for worker in workers:
                worker.close()
    return row


def table(rows: Sequence[Row], names: Sequence[str]) -> str:
    """Return a table in Markdown: milliseconds, and the peer's time over ours behind them."""
    notes: dict[str, int] = {}

    def cell(row: Row, name: str) -> str:
        if name in row.milliseconds:
            ratio = "" if name == OURS else f" ({row.ratio(name):.2f})"
            return f"{row.milliseconds[name]:.3g}{ratio}"
        note = notes.setdefault(f"{name}: {row.failures.get(name, 'not measured')}", len(notes) + 1)
        return f"- [{note}]"

    lines = [_line("model", *names), _line("---", *("---:" for _ in names))]
    lines += [_line(row.model, *(cell(row, name) for name in names)) for row in rows]
    return "\n".join([*lines, "", *(f"[{note}] {text}  " for text, note in notes.items())])


def start_table(rows: Sequence[Row], names: Sequence[str]) -> str:
    """Return a table in Markdown: CPU seconds to the first result, and megabytes."""
    lines = [_line("model", *names), _line("---", *("---:" for _ in names))]
    for row in rows:
        found = (row.start.get(name) for name in names)
        cells = (f"{r.cpu_seconds:.1f} s, {r.peak_mb:.0f} MB" if r else "-" for r in found)
        lines.append(_line(row.model, *cells))
    return "\n".join(lines)


def _line(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


def sizes(names: Sequence[str]) -> Mapping[str, int]:
    """Return the megabytes that each subject takes when it is installed."""
    return {name: round(installed_mb(name)) for name in names}


def write(rows: Sequence[Row], names: Sequence[str], folder: Path) -> None:
    """Write bench-compilers.json and, as tables, bench-compilers.md."""
    summary = {
        "title": "one core, f32, medians in ms, taking turns",
        "machine": machine(),
        "versions": {name: version_of(DISTRIBUTIONS[name][0]) for name in names},
        "installed_mb": sizes(names),
        "models": [asdict(row) for row in rows],
    }
    (folder / "bench-compilers.json").write_text(json.dumps(summary, indent=2) + "\n")
    (folder / "bench-compilers.md").write_text(page(rows, names))


def page(rows: Sequence[Row], names: Sequence[str]) -> str:
    """Return the tables with what one has to know to read them."""
    megabytes = ", ".join(f"{name} {size} MB" for name, size in sizes(names).items())
    return (
        "# Beside other compilers\n\n"
        f"One core ({machine()}), f32, batch 1; written by `python -m bench.compilers`, see\n"
        "[benchmarks.md](benchmarks.md). Medians in ms, in brackets the peer's time over ours.\n\n"
        f"{table(rows, names)}\n\n"
        "CPU seconds of a process from its start to the first result, compilation included and\n"
        "nothing cached, and its largest memory:\n\n"
        f"{start_table(rows, names)}\n\n"
        f"Installed, with what they need: {megabytes}.\n"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the command line, measure, report."""
    parser = argparse.ArgumentParser(prog="python -m bench.compilers")
    parser.add_argument("models", nargs="*", metavar="MODEL", help=", ".join(NAMES))
    parser.add_argument("--seconds", type=float, default=2.0, help="of calls, a subject and model")
    parser.add_argument("--output", type=Path, metavar="FOLDER", help="write JSON and tables here")
    options = parser.parse_args(arguments)
    unknown = sorted(set(options.models) - set(NAMES))
    if unknown:
        parser.error(f"unknown model {', '.join(unknown)}")
    pin(1)
    names, console = subjects(), Console()
    rows: list[Row] = []
    for name in options.models or MODELS:
        with console.status(name):
            rows.append(measure(name, names, options.seconds))
    console.print(Markdown(page(rows, names)))
    output = options.output or (None if options.models else DOCS)
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
        write(rows, names, output)


if __name__ == "__main__":
    main()
