"""Dialects that others add: registered by a program, or found in an installed package."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TypeVar

from xdsl.context import Context
from xdsl.ir import Attribute, Dialect, Operation, TypeAttribute

from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.ir.plugins import Row, installed, load_object

GROUP = "nn_opt.dialects"
REGISTERED: dict[str, Dialect] = {}
AnyDialect = TypeVar("AnyDialect", bound=Dialect)


def register_dialect(dialect: AnyDialect) -> AnyDialect:
    """Let every text use a dialect from now on; a second one of its name takes its place.

    Raises: DiagnosticError for the name of one of nn-opt's or xDSL's own.

    >>> import nn_opt
    >>> from xdsl.ir import Dialect
    >>> from xdsl.irdl import IRDLOperation, irdl_op_definition
    >>> @irdl_op_definition
    ... class NopOp(IRDLOperation):
    ...     name = "demo.nop"
    ...     assembly_format = "attr-dict"
    >>> _ = nn_opt.register_dialect(Dialect("demo", [NopOp]))
    >>> print(nn_opt.print_module(nn_opt.parse("demo.nop\\n")), end="")
    builtin.module {
      demo.nop
    }
    """
    from nn_opt.ir.parsing import make_context

    if dialect.name not in REGISTERED and make_context().get_optional_dialect(dialect.name):
        raise DiagnosticError(f"error: there is a dialect '{dialect.name}' already")
    REGISTERED[dialect.name] = dialect
    return dialect


@cache
def installed_dialects() -> dict[str, Row]:
    """Return the dialects that installed packages offer, by name; finding them takes 50 ms."""
    return {row.name: row for row in installed(GROUP)}


def _load(row: Row) -> Dialect:
    what = f"dialect '{row.name}' of {row.source}"
    dialect = load_object(what, row.value)
    if not isinstance(dialect, Dialect) or dialect.name != row.name:
        raise DiagnosticError(f"error: {what}: {row.value} is no dialect of that name")
    return dialect


class OpenContext(Context):
    """A context that asks installed packages for a dialect that it does not know."""

    def get_optional_op(
        self, name: str, *, dialect_stack: Sequence[str] = ()
    ) -> type[Operation] | None:
        self._complete(name)
        return super().get_optional_op(name, dialect_stack=dialect_stack)

    def get_optional_type(self, name: str) -> type[TypeAttribute] | None:
        self._complete(name)
        return super().get_optional_type(name)

    def get_optional_attr(self, name: str) -> type[Attribute] | None:
        self._complete(name)
        return super().get_optional_attr(name)

    def get_optional_dialect(self, name: str) -> Dialect | None:
        self._complete(f"{name}.")
        return super().get_optional_dialect(name)

    def _complete(self, name: str) -> None:
        """Register the dialect of a name if only an installed package knows it."""
        dialect, dot, _ = name.partition(".")
        if not dot or dialect in self._registered_dialects or dialect in self._loaded_dialects:
            return
        row = installed_dialects().get(dialect)
        if row is not None:
            self.register_dialect(dialect, lambda: _load(row))
