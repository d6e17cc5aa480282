"""What installed packages offer through entry points: names, and what they stand for."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeVar

from nn_opt.ir.diagnostics import DiagnosticError

T = TypeVar("T")


@dataclass(frozen=True)
class Row:
    """A name of an entry-point group, `package.module:attribute`, and the package."""

    name: str
    value: str
    source: str


def installed(group: str) -> list[Row]:
    """Return the entry points of a group; of several with one name, the first on the path."""
    from importlib.metadata import entry_points  # takes 50 ms

    rows: dict[str, Row] = {}
    for point in entry_points(group=group):
        package = point.dist
        source = f"{package.name} {package.version}" if package is not None else "a package"
        rows.setdefault(point.name, Row(point.name, point.value, source))
    return list(rows.values())


def load_installed(what: str, value: str, kind: type[T]) -> type[T]:
    """Return a class that a package names.

    Raises: DiagnosticError if it has none of that kind.
    """
    found = load_object(what, value)
    if not (isinstance(found, type) and issubclass(found, kind)):
        raise DiagnosticError(f"error: {what}: {value} is no {kind.__name__}")
    return found


def load_object(what: str, value: str) -> Any:
    """Return what a package names.

    Raises: DiagnosticError if it cannot be imported.
    """
    module, _, path = value.partition(":")
    try:
        found: Any = import_module(module)
        for name in path.split("."):
            found = getattr(found, name)
    except (ImportError, AttributeError) as error:
        raise DiagnosticError(f"error: {what} cannot be loaded: {error}") from error
    return found
