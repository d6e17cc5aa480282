"""`--timing`: how long each pass took, and what was around them, as a tree or as JSON."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from nn_opt.instrument import Instrument
from nn_opt.pipeline import Pipeline
from nn_opt.plans import Group, Member

RULE = f"==={'-' * 73}===\n"
_HEADER = "  ----Wall Time----  ----Name----\n"


@dataclass(frozen=True)
class Row:
    """A step, its time, and the steps that it is made of."""

    name: str
    seconds: float
    inner: tuple[Row, ...] = ()


@dataclass
class _Times:
    """The times of the passes of one pipeline, by position."""

    pipeline: Pipeline
    seconds: list[float]
    at: int = -1

    def reach(self, step: ModulePass) -> None:
        """Go to the next place of a pass; some may have been left out."""
        places = range(self.at + 1, len(self.seconds))
        self.at = next(k for k in places if self.pipeline.passes[k] is step)

    def rows(self) -> tuple[Row, ...]:
        """Return the rows of the plan."""
        pending = iter(self.seconds)
        return tuple(_row(member, pending) for member in self.pipeline.plan)


def _row(member: Member, seconds: Iterator[float]) -> Row:
    if isinstance(member, Group):
        inner = tuple(_row(each, seconds) for each in member.members)
        return Row(member.title, sum(row.seconds for row in inner), inner)
    return Row(member.name, next(seconds))


@dataclass
class Timing(Instrument):
    """Times each pass; `str()` is a tree with shares of the whole, `json()` the same for programs.

    What other instruments take, such as the verifier, is no pass's time: it is in `(rest)`. A run
    of the same pipeline on another module adds to its times.

    >>> import nn_opt
    >>> timing = nn_opt.Timing()
    >>> module = nn_opt.parse("func.func private @f()\\n")
    >>> _ = nn_opt.Pipeline("canonicalize,func.func(cse)").run(module, instruments=[timing])
    >>> [row.name for row in timing.rows()]
    ['canonicalize', 'func.func', '(rest)']
    >>> timing.total > 0
    True
    """

    innermost = True

    total: float = 0.0
    """Seconds of all pipelines and phases."""
    _before: dict[str, float] = field(default_factory=dict[str, float])
    _after: dict[str, float] = field(default_factory=dict[str, float])
    _pipelines: list[_Times] = field(default_factory=list[_Times])
    _running: list[tuple[_Times, float]] = field(default_factory=list[tuple[_Times, float]])
    _start: float | None = None  # of the pass that runs

    @contextmanager
    def phase(self, name: str) -> Generator[None]:
        """Time what is done inside as a row of its own, before or after the passes as it comes."""
        rows = self._before if name in self._before or not self._pipelines else self._after
        start = time.perf_counter()
        try:
            yield
        finally:
            spent = time.perf_counter() - start
            rows[name] = rows.get(name, 0.0) + spent
            self.total += spent

    def before_pipeline(self, pipeline: Pipeline, module: ModuleOp) -> None:
        found = [each for each in self._pipelines if each.pipeline is pipeline]
        times = found[0] if found else _Times(pipeline, [0.0] * len(pipeline))
        if not found:
            self._pipelines.append(times)
        times.at = -1
        self._running.append((times, time.perf_counter()))

    def after_pipeline(self, pipeline: Pipeline, module: ModuleOp) -> None:
        _, start = self._running.pop()
        self.total += time.perf_counter() - start

    def before_pass(self, step: ModulePass, module: ModuleOp) -> None:
        self._running[-1][0].reach(step)
        self._start = time.perf_counter()

    def after_pass(self, step: ModulePass, module: ModuleOp) -> None:
        if self._start is None:
            return
        times, _ = self._running[-1]
        times.seconds[times.at] += time.perf_counter() - self._start
        self._start = None

    def pass_failed(self, step: ModulePass, module: ModuleOp, error: Exception) -> None:
        self.after_pass(step, module)

    def rows(self) -> list[Row]:
        """Return the phases, pipelines and passes in order; the last row is the rest."""
        rows = [Row(name, spent) for name, spent in self._before.items()]
        rows += [row for times in self._pipelines for row in times.rows()]
        rows += [Row(name, spent) for name, spent in self._after.items()]
        return [*rows, Row("(rest)", max(0.0, self.total - sum(row.seconds for row in rows)))]

    def json(self) -> str:
        """Return the times as JSON."""
        times = {"seconds": round(self.total, 6), "steps": _json(self.rows(), self.total)}
        import json

        return json.dumps(times, indent=1) + "\n"

    def __str__(self) -> str:
        title = f"{RULE}{'... Execution time report ...':>54}\n{RULE}"
        lines = "".join(_lines([*self.rows(), Row("Total", self.total)], self.total, ""))
        return f"{title}  Total Execution Time: {self.total:.4f} seconds\n\n{_HEADER}{lines}"


def _share(row: Row, whole: float) -> float:
    return 100 * row.seconds / whole if whole else 0.0


def _lines(rows: Iterable[Row], whole: float, indent: str) -> Iterator[str]:
    for row in rows:
        yield f"  {row.seconds:8.4f} ({_share(row, whole):5.1f}%)  {indent}{row.name}\n"
        yield from _lines(row.inner, whole, indent + "  ")


def _json(rows: Iterable[Row], whole: float) -> list[dict[str, Any]]:
    return [
        {
            "name": row.name,
            "seconds": round(row.seconds, 6),
            "percent": round(_share(row, whole), 2),
            **({"steps": _json(row.inner, whole)} if row.inner else {}),
        }
        for row in rows
    ]
