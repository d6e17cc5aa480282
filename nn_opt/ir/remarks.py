"""Why a pass did or did not fire: remarks that whoever wants them collects."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

from nn_opt.ir.diagnostics import Diagnostic, locate


@dataclass(frozen=True)
class Remark:
    """One decision of a pass, and the op it is about."""

    location: str
    pass_name: str
    operation: str
    text: str
    function: str = ""

    @property
    def diagnostic(self) -> Diagnostic:
        """The remark in the form that all messages have."""
        text = f"{self.text} [{self.pass_name}]"
        return Diagnostic("remark", self.location, text, self.operation)

    def __str__(self) -> str:
        return f"{self.location}: remark: {self.operation}: {self.text} [{self.pass_name}]"


_collected: ContextVar[tuple[list[Remark], ...]] = ContextVar("remarks", default=())


@contextmanager
def collect_remarks(into: list[Remark] | None = None) -> Generator[list[Remark]]:
    """While active, remarks are appended to the list that this yields, and to those outside."""
    remarks: list[Remark] = [] if into is None else into
    token = _collected.set((*_collected.get(), remarks))
    try:
        yield remarks
    finally:
        _collected.reset(token)


def is_collecting() -> bool:
    """Return whether anybody wants remarks."""
    return bool(_collected.get())


def remark(op: Operation, pass_name: str, text: str) -> None:
    """State a decision about `op`."""
    if collected := _collected.get():
        made = Remark(locate(op), pass_name, op.name, text, _function_of(op))
        for remarks in collected:
            remarks.append(made)


def _function_of(op: Operation) -> str:
    """Return the name of what is around an op and has one, or nothing."""
    outer: Operation | None = op
    while outer is not None:
        name = outer.get_attr_or_prop("sym_name")
        if isinstance(name, StringAttr):
            return name.data
        outer = outer.parent_op()
    return ""
