"""`--statistics`: the counters of the passes that ran, as text or as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from xdsl.passes import ModulePass

from nn_opt.driver.timing import RULE
from nn_opt.ir.statistics import Statistic
from nn_opt.plans import Member, OnFunctions, steps_of


def declared(cls: type[ModulePass]) -> tuple[Statistic, ...]:
    """Return the counters of a pass."""
    return getattr(cls, "statistics", ())


def report(plan: Sequence[Member], counts: Mapping[Statistic, int], form: str) -> str:
    """Return the counters of each pass of a plan as `text` or `json`, also those at zero."""
    steps = [step.step if isinstance(step, OnFunctions) else step for step in steps_of(plan)]
    tables = {step.name: declared(type(step)) for step in steps if declared(type(step))}
    if form == "json":
        numbers = {
            name: {counter.name: counts.get(counter, 0) for counter in table}
            for name, table in tables.items()
        }
        return json.dumps(numbers, indent=1) + "\n"
    lines = [f"{name}\n{_table(table, counts)}" for name, table in tables.items()]
    return f"{RULE}{'... Pass statistics report ...':>54}\n{RULE}{''.join(lines)}"


def _table(table: Sequence[Statistic], counts: Mapping[Statistic, int]) -> str:
    numbers = [str(counts.get(counter, 0)) for counter in table]
    wide, name_wide = max(map(len, numbers)), max(len(counter.name) for counter in table)
    return "".join(
        f"  (S) {number:>{wide}} {counter.name:{name_wide}} - {counter.text}\n"
        for number, counter in zip(numbers, table, strict=True)
    )
