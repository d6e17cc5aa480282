"""Facts about attributes and index expressions, found once.

What is asked about is known again by where it is, not by its hash: the hash of a vector type visits
a dozen objects, and a kernel asks for thousands of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

LIMIT = 8192  # objects that one function keeps alive at most
_Asked = TypeVar("_Asked")
_Fact = TypeVar("_Fact")


def remembered(find: Callable[[_Asked], _Fact]) -> Callable[[_Asked], _Fact]:
    """Let a function of an object that never changes keep its results."""
    known: dict[int, tuple[_Asked, _Fact]] = {}  # what is kept alive keeps its place

    @wraps(find)
    def quick(asked: _Asked) -> _Fact:
        entry = known.get(id(asked))
        if entry is not None:
            return entry[1]
        fact = find(asked)
        if len(known) >= LIMIT:
            known.clear()
        known[id(asked)] = (asked, fact)
        return fact

    return quick
