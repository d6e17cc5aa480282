"""ONNX's own test suite through nn-opt: each test in a process of its own, with a time limit.

python -m conformance                 all; writes docs/conformance.json and its page
python -m conformance 'reduce|argm'   those whose names match; prints alone
python -m conformance --networks      light networks, random weights, against onnxruntime
"""

from __future__ import annotations

import argparse
import os
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from conformance import isolated, networks, page, record
from conformance.cases import all_cases, dtypes_of, operators_of
from conformance.judge import run_case, warm_up

Result = record.Result


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, report; return 1 if a test ends in another way than passing or being unsupported."""
    options = _parse(arguments)
    console = Console()
    if options.networks:
        results = run(list(networks.NAMES), networks.compare, options.jobs, options.limit, console)
    else:
        pattern = re.compile(options.pattern or "")
        names = [name for name in all_cases() if pattern.search(name)]
        results = run(names, run_case, options.jobs, options.limit, console)
    _report(results, console)
    if not options.networks and not options.pattern:
        recorded = {name: _with_facts(name, result) for name, result in results.items()}
        record.write(recorded, {"onnx": version("onnx"), "nn-opt": version("nn-opt")})
        page.FILE.write_text(page.page())
        console.print(_table(recorded))
    return int(any(r["status"] not in ("pass", "unsupported") for r in results.values()))


def run(
    names: Sequence[str],
    work: Callable[[str], Result],
    jobs: int,
    limit: float,
    console: Console,
) -> dict[str, Result]:
    """Return each name's result, in the order of the names, while a bar shows how far it is."""
    warm_up()
    results: dict[str, Result] = {}
    counts: Counter[str] = Counter()
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
    )
    with bar:
        task = bar.add_task("tests", total=len(names))
        for name, result in isolated.run_all(names, work, jobs, limit):
            results[name] = result
            counts[result["status"]] += 1
            said = " ".join(f"{count} {status}" for status, count in counts.items())
            bar.update(task, advance=1, description=said)
    return {name: results[name] for name in names}


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m conformance", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("pattern", nargs="?", help="regular expression that names have to match")
    parser.add_argument("--networks", action="store_true", help="networks with random weights")
    jobs = max(1, min(8, os.cpu_count() or 1))
    parser.add_argument("--jobs", type=int, default=jobs, help=f"at a time (default {jobs})")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds a test (default 300)")
    return parser.parse_args(arguments)


def _with_facts(name: str, result: Result) -> Result:
    model = all_cases()[name].model
    return {**result, "operators": operators_of(model), "dtypes": dtypes_of(model)}


def _report(results: Mapping[str, Result], console: Console) -> None:
    for name, result in results.items():
        if result["status"] != "pass":
            said = result.get("message", "")
            console.print(f"{name}: {result['status']}: {said}", markup=False, highlight=False)
    counts = Counter(result["status"] for result in results.values())
    console.print(", ".join(f"{count} {status}" for status, count in counts.items()))


def _table(results: Mapping[str, Result]) -> Table:
    table = Table("tests", "passed / all")
    for group, counts in record.totals(results).items():
        table.add_row(group, record.passed(counts))
    return table


if __name__ == "__main__":
    raise SystemExit(main())
