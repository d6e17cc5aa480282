"""Messages that say where, what and how to fix it. Every user-facing error uses `complaint`."""

from __future__ import annotations

from xdsl.dialects.builtin import ArrayAttr, FileLineColLoc, FusedLoc, NameLoc
from xdsl.ir import Attribute, Operation


class DiagnosticError(Exception):
    """A user's mistake; the text is a finished diagnostic, so tools print it alone."""


def locate(op: Operation) -> str:
    """Return `file:line:col`, else a node's name, else a placeholder; of several, the first."""
    return _place(op.location)


def _place(location: Attribute) -> str:
    match location:
        case FileLineColLoc(filename=file, line=line, column=column):
            return f"{file.data}:{line.data}:{column.data}"
        case NameLoc(desc=node):
            return f"node '{node.data}'"
        case FusedLoc(locations=ArrayAttr(data=[first, *_])):
            return _place(first)
        case _:
            return "<unknown location>"


def complaint(op: Operation, problem: str, *, hint: str = "") -> str:
    """Format one diagnostic; `problem` states actual versus expected, `hint` the next step."""
    text = f"{locate(op)}: error: {op.name}: {problem}"
    return f"{text}\n  hint: {hint}" if hint else text
