"""Messages that say where, what and how to fix it. Every user-facing error uses `complaint`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from xdsl.dialects.builtin import (
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    IntAttr,
    NameLoc,
    StringAttr,
)
from xdsl.ir import Attribute, Operation

MOST_SHOWN = 20  # errors of one run; the rest mostly follow from them
_WIDEST = 160  # columns of an excerpt; a line may hold megabytes of constants
_LONGEST = 4000  # characters of a message; it may spell an attribute
_HEAD = re.compile(r"\s*(?:(.+?): )?(error|warning|note|remark): (.*)", re.DOTALL)
_FILE_PLACE = re.compile(r"(.+):(\d+):(\d+)", re.DOTALL)
_OP = re.compile(r"([a-z_]\w*(?:\.\w+)+): (.*)", re.DOTALL)
UNKNOWN_PLACE = "<unknown location>"

Paint: TypeAlias = Callable[[str, str], str]
"""Give a part of a message, of a named role, its colour."""


@dataclass(frozen=True)
class Diagnostic:
    """One message: `place: severity: op: message`, then excerpt, hint and notes.

    place: `file:line:col`, a file, a node's name, or nothing.
    excerpt: the source line and a caret under the column, if the source is at hand.
    """

    severity: str
    place: str
    message: str
    op: str = ""
    hint: str = ""
    notes: tuple[Diagnostic, ...] = ()
    excerpt: str = ""

    @property
    def position(self) -> tuple[str, int, int] | None:
        """The file, line and column of the place, both from 1 on, if it has them."""
        match = _FILE_PLACE.fullmatch(self.place)
        return (match[1], int(match[2]), int(match[3])) if match else None

    @property
    def text(self) -> str:
        """What the first line says after the severity; a message may have more lines."""
        text = f"{self.op}: {self.message}" if self.op else self.message
        return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}... ({len(text)} characters)"

    def __str__(self) -> str:
        return self.render(lambda _, text: text)

    def render(self, paint: Paint) -> str:
        """Return the text, parts of which have been painted; notes come last."""
        place = f"{paint('place', f'{self.place}:')} " if self.place else ""
        indent = "  " if self.severity == "note" and not self.place else ""
        severity = paint(self.severity, f"{self.severity}:")
        lines = [f"{indent}{place}{severity} {paint(f'text of {self.severity}', self.text)}"]
        if self.excerpt:
            source, _, caret = self.excerpt.rpartition("\n")
            lines += [source, paint("caret", caret)]
        if self.hint:
            lines.append(f"  {paint('hint', 'hint:')} {self.hint}")
        return "\n".join([*lines, *(note.render(paint) for note in self.notes)])


class Complaints(str):
    """The text of an exception about user's mistakes, and the diagnostics that it is made of."""

    diagnostics: tuple[Diagnostic, ...]

    def __new__(cls, diagnostics: Iterable[Diagnostic]):
        kept = tuple(diagnostics)
        self = super().__new__(cls, "\n".join(map(str, shortened(kept))))
        self.diagnostics = kept
        return self


class DiagnosticError(Exception):
    """A user's mistake; the text is a finished diagnostic, so tools print it alone.

    >>> import nn_opt
    >>> try:
    ...     nn_opt.Pipeline("fuse-op")
    ... except nn_opt.DiagnosticError as error:
    ...     print(error)
    pipeline:1:1: error: unknown pass 'fuse-op'
      fuse-op
      ^
      hint: did you mean fuse-ops?
    """

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What the text says, in parts."""
        return diagnostics_of(self)


def diagnostics_of(error: BaseException) -> tuple[Diagnostic, ...]:
    """Return what an exception says, in parts; also of xDSL's VerifyException and its kin."""
    what = error.args[0] if error.args else ""
    return what.diagnostics if isinstance(what, Complaints) else read_diagnostics(str(error))


def shortened(diagnostics: Sequence[Diagnostic], limit: int = MOST_SHOWN) -> list[Diagnostic]:
    """Return the first diagnostics, and a closing one that counts those left out."""
    left = len(diagnostics) - limit
    if left < 1 or limit < 1:
        return list(diagnostics)
    return [*diagnostics[:limit], Diagnostic("note", "", f"{left} more error{'s'[: left - 1]}")]


def with_note(error: BaseException, text: str) -> Complaints:
    """Return what an exception says, and a note without a place at its end."""
    *others, last = diagnostics_of(error)
    noted = replace(last, notes=(*last.notes, Diagnostic("note", "", text)))
    return Complaints([*others, noted])


def read_diagnostics(text: str) -> tuple[Diagnostic, ...]:
    """Return the diagnostics that a finished text spells; one without a form is an error."""
    found: list[Diagnostic] = []
    for line in text.split("\n"):
        match = _HEAD.fullmatch(line)
        if match is None and not found:
            found.append(Diagnostic("error", "", line))
        elif match is None:
            found[-1] = _with_line(found[-1], line)
        elif found and match[2] == "note":
            note = Diagnostic("note", (match[1] or "").strip(), match[3])
            found[-1] = replace(found[-1], notes=(*found[-1].notes, note))
        elif found and line.startswith(" "):
            found[-1] = _with_line(found[-1], line)
        else:
            op, text = named.groups() if (named := _OP.fullmatch(match[3])) else ("", match[3])
            found.append(Diagnostic(match[2], match[1] or "", text, op))
    return tuple(found)


def _with_line(diagnostic: Diagnostic, line: str) -> Diagnostic:
    """Add a line of text: a hint, a caret under the line before it, or more of the message."""
    if diagnostic.notes:
        *others, last = diagnostic.notes
        return replace(diagnostic, notes=(*others, _with_line(last, line)))
    if line.startswith("  hint: ") and not diagnostic.hint:
        return replace(diagnostic, hint=line.removeprefix("  hint: "))
    if diagnostic.hint:
        return replace(diagnostic, hint=f"{diagnostic.hint}\n{line}")
    if line.strip() == "^" and not diagnostic.excerpt:
        message, _, source = diagnostic.message.rpartition("\n")
        return replace(diagnostic, message=message, excerpt=f"{source}\n{line}")
    return replace(diagnostic, message=f"{diagnostic.message}\n{line}")


def excerpt(line: str, column: int) -> str:
    """Return a source line and a caret under a column, counted from 1; long lines are cut."""
    start = max(0, column - 1 - _WIDEST // 2) if len(line) > _WIDEST else 0
    end = start + _WIDEST
    head, tail = "..." if start else "", "..." if end < len(line) else ""
    before = line[start : column - 1]
    indent = "".join("\t" if char == "\t" else " " for char in head + before)
    return f"{head}{line[start:end]}{tail}\n{indent}^"


def with_excerpts(diagnostic: Diagnostic, sources: Mapping[str, str]) -> Diagnostic:
    """Return the diagnostic, and its notes, with source lines where their files are at hand.

    sources: the texts of files, by the names that places have.
    """
    notes = tuple(with_excerpts(note, sources) for note in diagnostic.notes)
    shown = diagnostic.excerpt or _excerpt_at(diagnostic, sources)
    return replace(diagnostic, notes=notes, excerpt=shown)


def _excerpt_at(diagnostic: Diagnostic, sources: Mapping[str, str]) -> str:
    position = diagnostic.position
    if position is None or position[0] not in sources:
        return ""
    file, number, column = position
    lines = sources[file].split("\n", number)
    if not 0 < number <= len(lines) or not 0 < column <= len(lines[number - 1]):
        return ""
    return excerpt(lines[number - 1].rstrip("\r"), column)


def locate(op: Operation) -> str:
    """Return `file:line:col`, else a node's name, else a placeholder; of several, the first.

    What a front-end makes for no node has line 0: its place is the file, or a value's name.
    """
    return _place(op.location)


def _place(location: Attribute) -> str:
    match location:
        case FileLineColLoc(filename=file, line=IntAttr(data=0)):
            return file.data
        case FileLineColLoc(filename=file, line=line, column=column):
            return f"{file.data}:{line.data}:{column.data}"
        case NameLoc(desc=value, location=FileLineColLoc(line=IntAttr(data=0))):
            return f"value '{value.data}'"  # a model's weight or input
        case NameLoc(desc=node):
            return f"node '{node.data}'"
        case FusedLoc(locations=ArrayAttr(data=[first, *_])):
            return _place(first)
        case CallSiteLoc(callee=callee):
            return _place(callee)
        case _:
            return UNKNOWN_PLACE


def diagnose(
    op: Operation, problem: str, *, hint: str = "", notes: tuple[Diagnostic, ...] = ()
) -> Diagnostic:
    """Return an error about an op; `problem` states actual versus expected, `hint` the next step.

    An op that comes from no line of a source is shown itself.
    """
    place = locate(op)
    if place == UNKNOWN_PLACE and op.parent is not None:
        from nn_opt.ir.printing import summary_of

        shown = Diagnostic("note", "", f"see current operation: {summary_of(op)}")
        notes = (*notes, shown)
    return Diagnostic("error", place, problem, name_of(op), hint, notes)


def name_of(op: Operation) -> str:
    """Return the name of an op, of one that no dialect defines the name that its text has."""
    name = op.attributes.get("op_name__")
    return name.data if isinstance(name, StringAttr) else op.name


def note_at(op: Operation, text: str) -> Diagnostic:
    """Return a note with the place of an op."""
    return Diagnostic("note", locate(op), text)


def complaint(op: Operation, problem: str, *, hint: str = "") -> str:
    """Format one diagnostic; `problem` states actual versus expected, `hint` the next step."""
    return Complaints([diagnose(op, problem, hint=hint)])
