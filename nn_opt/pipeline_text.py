"""`builtin.module(a,func.func(b{x=1},c))`: the text of a pipeline, and what is wrong with it.

Spaces, line breaks and comments (`//` or `#` up to the end of the line) may stand between words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.option_text import group_end
from nn_opt.pass_specs import suggestion

MODULE, FUNCTION = "builtin.module", "func.func"
ANCHORS = (MODULE, FUNCTION)
_SPACE = re.compile(r"(?:\s+|//[^\n]*|#[^\n]*)*")
_NAME = re.compile(r"[A-Za-z_][\w.-]*")


@dataclass(frozen=True)
class Place:
    """Where a word stands."""

    source: str
    text: str
    at: int

    def complaint(self, message: str) -> DiagnosticError:
        """Return an error with the line and a caret below the first line of the message."""
        problem, *rest = message.removeprefix("error: ").split("\n")
        start = self.text.rfind("\n", 0, self.at) + 1
        line = self.text[start:].split("\n")[0].replace("\t", " ")
        number, column = self.text.count("\n", 0, self.at) + 1, self.at - start + 1
        head = f"{self.source}:{number}:{column}: error: {problem}"
        return DiagnosticError("\n".join([head, f"  {line}", f"  {' ' * (column - 1)}^", *rest]))


@dataclass(frozen=True)
class Call:
    """A pass or pipeline by name; no place if it was a flag of its own."""

    name: str
    options: str = ""
    place: Place | None = None


@dataclass(frozen=True)
class Nest:
    """What runs on each operation of one kind; of modules there is one."""

    anchor: str
    entries: tuple[Entry, ...]


Entry: TypeAlias = Call | Nest


def parse_text(text: str, source: str = "--pass-pipeline") -> tuple[Entry, ...]:
    """Return what a text calls for, on a module; the outer `builtin.module(...)` may be left out.

    Raises: DiagnosticError, with a caret, for a text of another form.
    """
    found: list[Entry] = []
    for entry in _Parser(source, text).entries("", ""):
        if isinstance(entry, Nest) and entry.anchor == MODULE:
            found += entry.entries
        else:
            found.append(entry)
    return tuple(found)


def read_text(path: str) -> tuple[Entry, ...]:
    """Return what a file calls for.

    Raises: DiagnosticError if it cannot be read or has another form.
    """
    try:
        return parse_text(Path(path).read_text(encoding="utf-8"), path)
    except OSError as error:
        raise DiagnosticError(f"{path}: error: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise DiagnosticError(f"{path}: error: this is no UTF-8 text") from error


@dataclass
class _Parser:
    source: str
    text: str
    at: int = 0

    def entries(self, anchor: str, end: str) -> tuple[Entry, ...]:
        """Return the entries of an anchor up to `)`, or of no anchor to the end of the text."""
        found: list[Entry] = []
        if self._peek() == end:
            return ()
        while True:
            found.append(self._entry(anchor))
            if self._peek() == end:
                return tuple(found)
            wanted = f"',' or '{end}'" if end else "',' or the end"
            if self._peek() != ",":
                raise self._here(f"expected {wanted}, got {self._word()}")
            self.at += 1

    def _peek(self) -> str:
        """Return the next character that counts; nothing at the end."""
        space = _SPACE.match(self.text, self.at)
        self.at = space.end() if space else self.at
        return self.text[self.at : self.at + 1]

    def _entry(self, outer: str) -> Entry:
        self._peek()
        place = Place(self.source, self.text, self.at)
        name = _NAME.match(self.text, self.at)
        if name is None:
            raise self._here(f"expected a pass or pipeline, got {self._word()}")
        self.at = name.end()
        if self._peek() == "(":
            return self._nest(name[0], place, outer)
        return Call(name[0].replace("_", "-"), self._options(), place)

    def _nest(self, anchor: str, place: Place, outer: str) -> Nest:
        if anchor not in ANCHORS:
            hint = suggestion(anchor, list(ANCHORS))
            raise place.complaint(f"no pass runs on '{anchor}'{hint}")
        if outer and (anchor, outer) != (FUNCTION, MODULE):
            raise place.complaint(f"no '{anchor}' is in a '{outer}'")
        self.at += 1
        entries = self.entries(anchor, ")")
        self.at += 1
        return Nest(anchor, entries)

    def _options(self) -> str:
        if self._peek() != "{":
            return ""
        begin, end = self.at, group_end(self.text, self.at)
        if end is None:
            raise self._here("this '{' has no '}' after it, or a quote is left open")
        self.at = end
        return self.text[begin + 1 : end - 1]

    def _word(self) -> str:
        word = _NAME.match(self.text, self.at)
        return f"'{word[0] if word else self.text[self.at]}'" if self._peek() else "the end"

    def _here(self, problem: str) -> DiagnosticError:
        return Place(self.source, self.text, self.at).complaint(problem)
