"""`--debug-counter=PASS=N`: only the first N rewrites of a pass happen."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from nn_opt.instrument import Instrument
from nn_opt.ir.counters import Counter, activate, counting
from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.pass_specs import suggestion
from nn_opt.registry import PASSES


def parse_counters(texts: Sequence[str]) -> dict[str, Counter]:
    """Return a counter for each `PASS=N`.

    Raises: DiagnosticError for an unknown pass or a bad number.
    """
    counters: dict[str, Counter] = {}
    for text in texts:
        name, _, limit = text.partition("=")
        if not limit.isdecimal():
            raise DiagnosticError(f"error: --debug-counter is '{text}', expected PASS=NUMBER")
        if name not in PASSES:
            hint = suggestion(name, list(PASSES))
            raise DiagnosticError(f"error: --debug-counter: unknown pass '{name}'{hint}")
        counters[name] = Counter(int(limit))
    return counters


@dataclass
class Counters(Instrument):
    """Make the passes that have a counter obey it; it runs on through all uses of the pass."""

    by_pass: dict[str, Counter]

    @contextmanager
    def watching(self) -> Generator[None]:
        """Leave no counter active behind, however the passes end."""
        with counting(None):
            yield

    def before_pass(self, step: ModulePass, module: ModuleOp) -> None:
        activate(self.by_pass.get(step.name))

    def after_pass(self, step: ModulePass, module: ModuleOp) -> None:
        activate(None)

    def left(self) -> list[str]:
        """Return the texts of the counters, less what they have counted."""
        return [
            f"{name}={(counter.limit or 0) - counter.seen}"
            for name, counter in self.by_pass.items()
        ]
