"""What reading and rewriting know of weights: kept apart from `ir.resources`, which needs NumPy."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from xdsl.ir import Operation

if TYPE_CHECKING:
    from nn_opt.ir.resources import Array

RESOURCE = "graph.resource"  # the name of the attribute that carries an array

_sidecar: ContextVar[Mapping[str, Array]] = ContextVar("sidecar")


@contextmanager
def sidecar(arrays: Mapping[str, Array]) -> Generator[None]:
    """While active, `#graph.resource<"key">` that is parsed takes its array from here."""
    token = _sidecar.set(arrays)
    try:
        yield
    finally:
        _sidecar.reset(token)


def beside(key: str) -> Array | None:
    """Return the array of a key that is being read; None if the text came without it."""
    return _sidecar.get({}).get(key)


def let_go(gone: Iterable[Operation]) -> None:
    """Free the arrays of ops that were erased: an op is garbage that only a search finds."""
    for op in gone:
        for name in [key for key, value in op.properties.items() if value.name == RESOURCE]:
            del op.properties[name]
