"""`// expected-error@+1 {{text}}`: what a file says that the tool will say about it.

The comments are mlir-opt's, with clang's counts: `expected-SEVERITY[-re][@LINE] [COUNT] {{text}}`.
LINE is `+N`, `-N`, a number, `above`, `below` or `unknown`; COUNT is `N`, `N+` or `N-M`. The text
is part of a message; with `-re`, what is in `{{` and `}}` inside of it is a regular expression.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from nn_opt.ir.diagnostics import Diagnostic, DiagnosticError

ERRORS, ALL, ONLY_EXPECTED = "errors", "all", "only-expected"
LEVELS = (ERRORS, ALL, ONLY_EXPECTED)  # errors: notes and remarks need not be expected
_EXPECTED = re.compile(
    r"expected-(error|warning|note|remark)(-re)?\s*"
    r"(?:@([+-]\d+|\d+|above|below|unknown))?\s*"
    r"(?:(\d+)(\+|-\d+)?)?\s*"
    r"\{\{(.*?)\}\}(?=\s*(?:$|\*/|//|expected-))"
)
_LOOSE = re.compile(r"expected-(?:error|warning|note|remark)(?:-re)?\s*[@{\d]")
_OFFSETS = {"above": -1, "below": 1, None: 0}


@dataclass(frozen=True)
class Message:
    """One message about a line of the file; line 0 stands for no place in it."""

    line: int
    severity: str
    text: str
    source: Diagnostic


@dataclass(frozen=True)
class Expectation:
    """A comment: at least `least` and at most `most` messages of one severity about a line."""

    line: int
    severity: str
    text: str
    pattern: re.Pattern[str]
    least: int = 1
    most: float = 1
    exact: bool = False
    place: str = ""  # of the comment

    def fits(self, message: Message) -> bool:
        """Return whether the text is that of a message."""
        return self.pattern.search(message.text) is not None

    def is_met_by(self, message: Message) -> bool:
        """Return whether a message is one that was expected."""
        here = (message.line, message.severity) == (self.line, self.severity)
        return here and self.fits(message)


def expected_messages(source: str, filename: str, first_line: int = 1) -> list[Expectation]:
    """Return the messages that the comments of a source expect.

    Raises: DiagnosticError for a comment that cannot be read.
    """
    found: list[Expectation] = []
    for number, line in enumerate(source.split("\n"), first_line):
        if "expected-" not in line:
            continue
        matches = list(_EXPECTED.finditer(line.rstrip("\r")))
        found += [_expectation(match, number, filename) for match in matches]
        if len(matches) != len(_LOOSE.findall(line)):
            hint = "write // expected-error@+1 {{text}} at the end of a line"
            place = f"{filename}:{number}:{line.index('expected-') + 1}"
            raise DiagnosticError(f"{place}: error: this expects nothing\n  hint: {hint}")
    return found


def _expectation(match: re.Match[str], number: int, filename: str) -> Expectation:
    severity, is_regex, target, count, more, text = match.groups()
    place = f"{filename}:{number}:{match.start() + 1}"
    try:
        pattern = re.compile(_pattern_of(text) if is_regex else re.escape(text))
    except re.error as error:
        problem = f"'{text}' holds no regular expression: {error}"
        raise DiagnosticError(f"{place}: error: {problem}") from error
    least = int(count or 1)
    most = float("inf") if more == "+" else abs(int(more)) if more else least
    line = _line_of(target, number)
    return Expectation(line, severity, text, pattern, least, most, count is not None, place)


def _pattern_of(text: str) -> str:
    """Return the regular expression of a text with expressions in `{{` and `}}`."""
    parts = re.split(r"\{\{(.*?)\}\}", text)
    return "".join(f"(?:{part})" if k % 2 else re.escape(part) for k, part in enumerate(parts))


def _line_of(place: str | None, here: int) -> int:
    if place == "unknown":
        return 0
    if place in _OFFSETS:
        return here + _OFFSETS[place]
    assert place is not None
    return here + int(place) if place[0] in "+-" else int(place)


def messages_of(diagnostics: Iterable[Diagnostic], filename: str) -> Iterator[Message]:
    """Yield diagnostics and their notes as messages; places in other files are none."""
    for diagnostic in diagnostics:
        position = diagnostic.position
        line = position[1] if position is not None and position[0] == filename else 0
        aside = [note for note in diagnostic.notes if not note.place]
        hint = [f"hint: {diagnostic.hint}"] if diagnostic.hint else []
        text = "\n".join([diagnostic.text, *hint, *(note.text for note in aside)])
        yield Message(line, diagnostic.severity, text, diagnostic)
        yield from messages_of((n for n in diagnostic.notes if n.place), filename)


def mismatches(
    expected: Sequence[Expectation],
    actual: Iterable[Message],
    filename: str,
    level: str = ERRORS,
) -> list[Diagnostic]:
    """Return an error for each expectation that was not met and each message not expected."""
    counts = [0] * len(expected)
    spare: list[Message] = []
    for message in actual:
        fitting = [k for k, wanted in enumerate(expected) if wanted.is_met_by(message)]
        if not fitting:
            spare.append(message)
            continue
        counts[next((k for k in fitting if counts[k] < expected[k].most), fitting[0])] += 1
    pairs = zip(expected, counts, strict=True)
    problems = [problem for pair in pairs if (problem := _unmet(*pair, spare))]
    return problems + [_unexpected(m, filename) for m in spare if _is_refused(m, level)]


def _is_refused(message: Message, level: str) -> bool:
    if level == ERRORS:
        return message.severity in ("error", "warning")
    return level == ALL


def _unmet(wanted: Expectation, count: int, spare: Sequence[Message]) -> Diagnostic | None:
    """Return what is wrong with how often a message came."""
    most = wanted.most if wanted.exact else float("inf")  # mlir-opt's, too, may come again
    if wanted.least <= count <= most:
        return None
    what = f'expected {wanted.severity} "{wanted.text}"'
    if count:
        times = f"{wanted.least}" if wanted.least == wanted.most else f"{wanted.least} or more"
        problem = f"{what} was produced {count} time(s), expected {times}"
        return Diagnostic("error", wanted.place, problem)
    problem = f"{what} was not produced"
    return Diagnostic("error", wanted.place, problem, hint=_near_miss(wanted, spare))


def _near_miss(wanted: Expectation, spare: Sequence[Message]) -> str:
    close = next((message for message in spare if wanted.fits(message)), None)
    if close is None:
        return ""
    where = f"at line {close.line}" if close.line else "at no line"
    return f"it came as {close.severity} {where}"


def _unexpected(message: Message, filename: str) -> Diagnostic:
    said = message.source
    text = f"unexpected {message.severity}: {said.text}"
    notes = tuple(note for note in said.notes if not note.place)
    return Diagnostic("error", said.place or filename, text, hint=said.hint, notes=notes)
