"""Figures as a table for people, JSON for programs and a chart for docs/."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, files, version
from pathlib import Path
from typing import Any

from rich.table import Table

from bench.figures import Figures, Plan
from bench.fresh import Fresh
from bench.subjects import DISTRIBUTIONS, OURS


def latency_table(rows: Sequence[Figures], plan: Plan) -> Table:
    """Return the medians, and each peer's time over ours."""
    peers = [name for name in plan.subjects if name != OURS]
    titles = [OURS, *(text for peer in peers for text in (peer, "ratio")), "rel. error", "CPU"]
    table = _table(title_of(plan), titles)
    for row in rows:
        texts = [f"{row.milliseconds[OURS]:.3f}"]
        for peer in peers:
            texts += [f"{row.milliseconds[peer]:.3f}", f"{row.ratios[peer]:.2f}"]
        table.add_row(row.model, *texts, f"{row.relative_error:.1e}", f"{row.cpu_share:.0%}")
    return table


def start_table(rows: Sequence[Figures], plan: Plan) -> Table:
    """Return what it takes to the first result: seconds from the start of Python; of these, those
    of loading or compiling; milliseconds of the first call; the largest memory.
    """
    table = _table("a process that loads the model and runs it once", ["subject", *START])
    for row in rows:
        warm = f"{OURS}, warm"
        table.add_row(row.model, warm, f"{row.warm_seconds:.2f}", *[""] * (len(START) - 1))
        for name in plan.subjects:
            table.add_row("", name, *(text(row.cold[name]) for text in START.values()))
        table.add_section()
    return table


START: Mapping[str, Callable[[Fresh], str]] = {
    "s": lambda fresh: f"{fresh.seconds:.2f}",
    "load s": lambda fresh: f"{fresh.load_seconds:.2f}",
    "1st ms": lambda fresh: f"{fresh.first_call_ms:.1f}",
    "MB": lambda fresh: f"{fresh.peak_mb:.0f}",
}


def _table(title: str, titles: Sequence[str]) -> Table:
    table = Table(title=title)
    table.add_column("model", no_wrap=True)
    for text in titles:
        table.add_column(text, justify="right", overflow="fold")
    return table


def title_of(plan: Plan) -> str:
    """Return what the figures are of."""
    cores = "one core" if plan.threads == 1 else f"{plan.threads} threads"
    return f"{cores}, f32, medians in ms, taking turns; ratio: the peer's time over ours"


def summary_of(rows: Sequence[Figures], plan: Plan) -> dict[str, Any]:
    """Return all figures with what one has to know to compare them."""
    return {
        "title": title_of(plan),
        "machine": machine(),
        "versions": {name: version_of(DISTRIBUTIONS[name][0]) for name in plan.subjects},
        "installed_mb": {name: round(installed_mb(name)) for name in plan.subjects},
        "models": [asdict(row) for row in rows],
    }


def machine() -> str:
    """Return the processor's name."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def version_of(distribution: str) -> str:
    """Return the version of an installed distribution."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "not installed"


def installed_mb(subject: str) -> float:
    """Return the size of all files that running a subject needs, Python itself excepted."""
    return sum(_distribution_mb(name) for name in DISTRIBUTIONS[subject])


def _distribution_mb(name: str) -> float:
    try:
        entries = files(name) or []
    except PackageNotFoundError:
        return 0.0
    paths = (Path(str(entry.locate())) for entry in entries)
    return sum(path.stat().st_size for path in paths if path.is_file()) / 1e6


def write(rows: Sequence[Figures], plan: Plan, folder: Path) -> None:
    """Write bench.json and bench.svg, with the number of threads in the name if there are two."""
    from bench.chart import draw

    stem = "bench" if plan.threads == 1 else f"bench-{plan.threads}-threads"
    summary = json.dumps(summary_of(rows, plan), indent=2)
    (folder / f"{stem}.json").write_text(summary + "\n")
    ratios: dict[str, Mapping[str, float]] = {row.model: row.ratios for row in rows}
    draw(ratios, title_of(plan), folder / f"{stem}.svg")
