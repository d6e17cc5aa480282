"""`--statistics`: the counters of the passes that ran, as text or as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from nn_opt.instrument import Instrument
from nn_opt.instruments.timing import RULE
from nn_opt.ir.statistics import Statistic, collect_statistics
from nn_opt.plans import OnFunctions


def declared(cls: type[ModulePass]) -> tuple[Statistic, ...]:
    """Return the counters of a pass."""
    return getattr(cls, "statistics", ())


class Statistics(Instrument):
    """Counts what passes did: `str()` is a table for each pass, `json()` the same for programs.

    >>> import nn_opt
    >>> module = nn_opt.parse('''func.func @f(%x: f32) {
    ...   %y = arith.mulf %x, %x : f32
    ...   func.return
    ... }''')
    >>> counts = nn_opt.Statistics()
    >>> _ = nn_opt.Pipeline("cse,dce").run(module, instruments=[counts])
    >>> counts.of("dce")
    {'ops-erased': 1}
    """

    def __init__(self) -> None:
        self.counts: dict[Statistic, int] = {}
        self._tables: dict[str, tuple[Statistic, ...]] = {}
        self._scopes = ExitStack()

    def before_pipeline(self, pipeline: object, module: ModuleOp) -> None:
        self._scopes.enter_context(collect_statistics(self.counts))

    def after_pipeline(self, pipeline: object, module: ModuleOp) -> None:
        self._scopes.close()

    def before_pass(self, step: ModulePass, module: ModuleOp) -> None:
        own = step.step if isinstance(step, OnFunctions) else step
        if table := declared(type(own)):
            self._tables.setdefault(own.name, table)

    def of(self, name: str) -> dict[str, int]:
        """Return the counters of a pass that ran, also those at zero."""
        return {each.name: self.counts.get(each, 0) for each in self._tables.get(name, ())}

    def json(self) -> str:
        """Return the counters of each pass as JSON."""
        import json

        return json.dumps({name: self.of(name) for name in self._tables}, indent=1) + "\n"

    def __str__(self) -> str:
        lines = [f"{name}\n{_table(each, self.counts)}" for name, each in self._tables.items()]
        return f"{RULE}{'... Pass statistics report ...':>54}\n{RULE}{''.join(lines)}"


def _table(table: Sequence[Statistic], counts: Mapping[Statistic, int]) -> str:
    numbers = [str(counts.get(counter, 0)) for counter in table]
    wide, name_wide = max(map(len, numbers)), max(len(counter.name) for counter in table)
    return "".join(
        f"  (S) {number:>{wide}} {counter.name:{name_wide}} - {counter.text}\n"
        for number, counter in zip(numbers, table, strict=True)
    )
