"""Who looks on while patterns and conversions run; nobody costs nothing."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from nn_opt.ir.diagnostics import locate

_ATTEMPT = " was tried here"

Rule: TypeAlias = Callable[[Any, PatternRewriter], None]
Tried: TypeAlias = RewritePattern | Rule
"""What is tried on an op: a pattern, or the rule of a conversion."""


def title_of(tried: Tried) -> str:
    """Return the name of a pattern or rule, as its author wrote it."""
    name = getattr(tried, "name", None) or getattr(tried, "__name__", None)
    return name if isinstance(name, str) else type(tried).__name__


def note_attempt(error: Exception, tried: Tried, op: Operation) -> None:
    """Note on an error what was tried, and where; a message with a place says that already."""
    if ": error: " not in str(error):
        error.add_note(f"{locate(op)}: note: {op.name}: {title_of(tried)}{_ATTEMPT}")


def attempt_of(error: BaseException) -> str:
    """Return what `note_attempt` has noted; nothing if it has not."""
    notes: list[str] = getattr(error, "__notes__", [])
    return next((note for note in notes if note.endswith(_ATTEMPT)), "")


class Watcher(Protocol):
    """Something that looks on."""

    def before_pattern(self, pattern: Tried, op: Operation) -> None: ...
    def after_pattern(self, pattern: Tried, op: Operation, changed: bool) -> None: ...


_active: ContextVar[tuple[Watcher, ...]] = ContextVar("watchers", default=())


def active_watchers() -> tuple[Watcher, ...]:
    """Return who has to be told of patterns that are tried now."""
    return _active.get()


@contextmanager
def watching(watchers: Sequence[Watcher]) -> Generator[None]:
    """While active, `watchers` are told of each pattern that is tried, after those outside."""
    token = _active.set((*_active.get(), *watchers))
    try:
        yield
    finally:
        _active.reset(token)


@dataclass(frozen=True)
class Watched(RewritePattern):
    """A pattern whose watchers are told when it is tried."""

    pattern: RewritePattern
    watchers: tuple[Watcher, ...]

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        for watcher in self.watchers:
            watcher.before_pattern(self.pattern, op)
        self.pattern.match_and_rewrite(op, rewriter)
        for watcher in reversed(self.watchers):
            watcher.after_pattern(self.pattern, op, rewriter.has_done_action)


def watched(rule: Rule, watchers: tuple[Watcher, ...]) -> Rule:
    """Return a rule of a conversion whose watchers are told when it is used."""

    def apply(op: Operation, rewriter: PatternRewriter) -> None:
        for watcher in watchers:
            watcher.before_pattern(rule, op)
        rule(op, rewriter)
        for watcher in reversed(watchers):
            watcher.after_pattern(rule, op, rewriter.has_done_action)

    return apply
