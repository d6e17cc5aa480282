"""Implicit builders in several threads at once: what xDSL swaps on each use stays in place.

`with ImplicitBuilder(block)` replaces `Operation.__post_init__`, of which there is one, and puts
back what it has found. Of two threads the one that leaves last would put back the other's.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl import builder
from xdsl.ir import Operation

_current = builder._current_builder  # of each thread


def _plain(method: Any) -> Callable[[Operation], None]:
    """Return a method without what xDSL puts around it while a builder is in use."""
    while method.__module__ == builder.__name__:
        method = method.__closure__[
            method.__code__.co_freevars.index("old_post_init")
        ].cell_contents
    return method


_post_init = _plain(Operation.__post_init__)


def _insert(self: Operation) -> None:
    _post_init(self)
    if (implicit := _current.builder) is not None:
        implicit.insert(self)


def _install() -> Callable[[Operation], None]:
    """Return what is to be put back afterwards: the same."""
    Operation.__post_init__ = _insert
    return _insert


assert callable(builder._override_operation_post_init)
builder._override_operation_post_init = _install
_install()
