"""Debug counters: let only the first rewrites of a pass happen, to find the one that is wrong."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from xdsl.ir import Operation

from nn_opt.ir.diagnostics import locate


@dataclass
class Counter:
    """How many rewrites may happen (None: all of them), and how many did."""

    limit: int | None = None
    seen: int = 0
    last: str = ""

    @property
    def spent(self) -> bool:
        """Whether no rewrite is left."""
        return self.limit is not None and self.seen >= self.limit

    def count(self, what: str) -> None:
        """Note that a rewrite happened."""
        self.seen += 1
        self.last = what


_active: ContextVar[Counter | None] = ContextVar("counter", default=None)


def active_counter() -> Counter | None:
    """Return the counter that the pass which runs now has to obey."""
    return _active.get()


def activate(counter: Counter | None) -> None:
    """Let rewrites ask `counter` from now on; inside `counting`, which ends that."""
    _active.set(counter)


@contextmanager
def counting(counter: Counter | None) -> Generator[None]:
    """While active, rewrites ask `counter`, and are counted by it."""
    token = _active.set(counter)
    try:
        yield
    finally:
        _active.reset(token)


def describe(op: Operation) -> str:
    """Return the name and place of an op that is about to be rewritten."""
    return f"{op.name} at {locate(op)}"
