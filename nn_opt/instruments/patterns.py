"""`--print-patterns`, `--pattern-statistics`: which patterns are tried, and which of them fire."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass
from functools import partial
from typing import Any, TextIO

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import RewritePattern

from nn_opt.instrument import Instrument
from nn_opt.ir.diagnostics import locate
from nn_opt.ir.watching import Tried, title_of

_HEADER = f"{'tried':>9} {'fired':>9} {'seconds':>9}  pattern\n"


def name_of(pattern: Tried) -> str:
    """Return the name of a pattern: its own, or that of its function or class."""
    if isinstance(pattern, RewritePattern):
        return title_of(pattern)
    inner: Any = pattern
    while isinstance(inner, partial):
        inner = inner.func
    return getattr(inner, "__qualname__", type(inner).__name__).rpartition("<locals>.")[2]


class PrintPatterns(Instrument):
    """Print a line for each pattern that changed something: the place, the op, the pattern.

    >>> import nn_opt, sys
    >>> module = nn_opt.parse('''func.func @f(%x: f32) -> f32 {
    ...   %one = arith.constant 1.0 : f32
    ...   %y = arith.mulf %x, %one : f32
    ...   func.return %y : f32
    ... }''')
    >>> show = nn_opt.PrintPatterns(file=sys.stdout)
    >>> _ = nn_opt.Pipeline("canonicalize").run(module, instruments=[show])
    <text>:3:8: arith.mulf: NeutralOperand [canonicalize]
    """

    def __init__(self, file: TextIO | None = None) -> None:
        self.file = file
        self._step = ""

    def before_pass(self, step: ModulePass, module: ModuleOp) -> None:
        self._step = step.name

    def after_pattern(self, pattern: Tried, op: Operation, changed: bool) -> None:
        if changed:
            line = f"{locate(op)}: {op.name}: {name_of(pattern)} [{self._step}]\n"
            (self.file or sys.stderr).write(line)


@dataclass
class Count:
    """What became of a pattern."""

    tried: int = 0
    fired: int = 0
    seconds: float = 0.0


class PatternStatistics(Instrument):
    """Counts how often each pattern of each pass is tried and fires, and how long it takes.

    `str()` is a table, the slowest pattern of a pass first; `json()` the same for programs.

    >>> import nn_opt
    >>> module = nn_opt.parse('''func.func @f(%x: f32) -> f32 {
    ...   %one = arith.constant 1.0 : f32
    ...   %y = arith.mulf %x, %one : f32
    ...   func.return %y : f32
    ... }''')
    >>> counts = nn_opt.PatternStatistics()
    >>> _ = nn_opt.Pipeline("canonicalize").run(module, instruments=[counts])
    >>> count = counts.of("canonicalize")["NeutralOperand"]
    >>> count.tried, count.fired
    (1, 1)
    """

    def __init__(self) -> None:
        self._passes: dict[str, dict[str, Count]] = {}
        self._now: dict[str, Count] = {}
        self._begun: list[float] = []

    def before_pass(self, step: ModulePass, module: ModuleOp) -> None:
        self._now, self._begun = self._passes.setdefault(step.name, {}), []

    def before_pattern(self, pattern: Tried, op: Operation) -> None:
        self._begun.append(time.perf_counter())

    def after_pattern(self, pattern: Tried, op: Operation, changed: bool) -> None:
        spent = time.perf_counter() - self._begun.pop()
        count = self._now.setdefault(name_of(pattern), Count())
        count.tried += 1
        count.fired += changed
        count.seconds += spent

    def of(self, name: str) -> dict[str, Count]:
        """Return the patterns of a pass, the slowest first."""
        rows = self._passes.get(name, {}).items()
        return dict(sorted(rows, key=lambda row: -row[1].seconds))

    def json(self) -> str:
        """Return the counts of each pass as JSON."""
        tables = {
            step: {name: vars(count) for name, count in self.of(step).items()}
            for step in self._passes
            if self._passes[step]
        }
        return json.dumps(tables, indent=1) + "\n"

    def __str__(self) -> str:
        return "".join(
            f"{step}\n{_HEADER}{''.join(_line(*row) for row in self.of(step).items())}"
            for step, counts in self._passes.items()
            if counts
        )


def _line(name: str, count: Count) -> str:
    return f"{count.tried:9} {count.fired:9} {count.seconds:9.4f}  {name}\n"
