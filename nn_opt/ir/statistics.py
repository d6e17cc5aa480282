"""What passes did, in numbers: counters that passes declare, for whoever wants them.

A pass lists its counters in `statistics`, a class attribute, and adds to them as it runs.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from xdsl.ir import Operation

_collected: ContextVar[tuple[dict[Statistic, int], ...]] = ContextVar("statistics", default=())


@dataclass(frozen=True)
class Statistic:
    """A counter of a pass."""

    pass_name: str
    name: str
    text: str

    def add(self, amount: int = 1) -> None:
        """Count, if anybody wants to know."""
        for counts in _collected.get():
            counts[self] = counts.get(self, 0) + amount


@contextmanager
def collect_statistics(
    into: dict[Statistic, int] | None = None,
) -> Generator[dict[Statistic, int]]:
    """While active, counters add to the table that this yields, and to those outside."""
    counts: dict[Statistic, int] = {} if into is None else into
    token = _collected.set((*_collected.get(), counts))
    try:
        yield counts
    finally:
        _collected.reset(token)


def is_counting() -> bool:
    """Return whether anybody wants statistics, so that costly ones are worth their time."""
    return bool(_collected.get())


@contextmanager
def count_ops(root: Operation, erased: Statistic, inserted: Statistic | None = None):
    """Add how many of the ops below `root` are gone at the end, and how many are new."""
    before = set(root.walk()) if is_counting() else None
    yield
    if before is not None:
        after = set(root.walk())
        erased.add(len(before - after))
        if inserted is not None:
            inserted.add(len(after - before))
