"""`--timing`: how long reading, each pass and printing took, as a tree or as JSON."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from nn_opt.instrument import Instrument
from nn_opt.plans import Group, Member

RULE = f"==={'-' * 73}===\n"
_HEADER = "  ----Wall Time----  ----Name----\n"
_LAST = "(print)"  # the phase that comes after the passes


@dataclass(frozen=True)
class Row:
    """A step, its time, and the steps that it is made of."""

    name: str
    seconds: float
    inner: tuple[Row, ...] = ()


@dataclass
class Clock(Instrument):
    """Times phases by name, and passes; the rest is what instruments such as the verifier take."""

    phases: dict[str, float] = field(default_factory=dict[str, float])
    _passes: dict[int, float] = field(default_factory=dict[int, float])
    _start: float = 0.0
    _begin: float = field(default_factory=time.perf_counter)

    def start(self) -> None:
        """Begin a phase."""
        self._start = time.perf_counter()

    def stop(self, name: str) -> None:
        """End the phase that was begun last."""
        self.phases[name] = self.phases.get(name, 0.0) + time.perf_counter() - self._start

    def before_pass(self, step: ModulePass, module: ModuleOp) -> None:
        self.start()

    def after_pass(self, step: ModulePass, module: ModuleOp) -> None:
        spent = time.perf_counter() - self._start
        self._passes[id(step)] = self._passes.get(id(step), 0.0) + spent

    def report(self, plan: Sequence[Member], form: str) -> str:
        """Return the times as `tree` or `json`; each share is one of the whole run."""
        whole = time.perf_counter() - self._begin
        rows = [Row(name, spent) for name, spent in self.phases.items() if name != _LAST]
        rows += map(self._row, plan)
        rows += [Row(name, spent) for name, spent in self.phases.items() if name == _LAST]
        rows.append(Row("(rest)", max(0.0, whole - sum(row.seconds for row in rows))))
        if form == "json":
            total = {"seconds": round(whole, 6), "steps": _json(rows, whole)}
            return json.dumps(total, indent=1) + "\n"
        title = f"{RULE}{'... Execution time report ...':>54}\n{RULE}"
        lines = "".join(_lines([*rows, Row("Total", whole)], whole, ""))
        return f"{title}  Total Execution Time: {whole:.4f} seconds\n\n{_HEADER}{lines}"

    def _row(self, member: Member) -> Row:
        if isinstance(member, Group):
            inner = tuple(map(self._row, member.members))
            return Row(member.title, sum(row.seconds for row in inner), inner)
        return Row(member.name, self._passes.get(id(member), 0.0))


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
