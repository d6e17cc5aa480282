"""`// expected-error@+1 {{text}}`: what a file says that the tool will say about it."""

from __future__ import annotations

import re
from dataclasses import dataclass

_EXPECTED = re.compile(
    r"expected-(error|warning|note|remark)\s*(?:@([+-]\d+|\d+|above|below|unknown))?\s*\{\{(.*?)\}\}"
)
_DIAGNOSTIC = re.compile(r"(?:.*?:(\d+):\d+: |.*?)(error|warning|note|remark): (.*)", re.DOTALL)
_OFFSETS = {"above": -1, "below": 1, None: 0}


@dataclass(frozen=True)
class Message:
    """One message about a line; line 0 stands for no place."""

    line: int
    severity: str
    text: str

    def __str__(self) -> str:
        return f"{self.severity}: {self.text}"


def expected_messages(source: str, first_line: int = 1) -> list[Message]:
    """Return the messages that the comments of a source expect."""
    found: list[Message] = []
    for number, line in enumerate(source.split("\n"), first_line):
        for severity, place, text in _EXPECTED.findall(line):
            found.append(Message(_line_of(place or None, number), severity, text))
    return found


def _line_of(place: str | None, here: int) -> int:
    if place == "unknown":
        return 0
    if place in _OFFSETS:
        return here + _OFFSETS[place]
    assert place is not None
    return here + int(place) if place[0] in "+-" else int(place)


def message_of(diagnostic: str) -> Message:
    """Return a finished diagnostic as a message."""
    match = _DIAGNOSTIC.match(diagnostic)
    if match is None:
        return Message(0, "error", diagnostic)
    return Message(int(match[1] or 0), match[2], match[3])


def mismatches(expected: list[Message], actual: list[Message], filename: str) -> list[str]:
    """Return a diagnostic for each expectation that was not met and each message not expected."""
    left = list(actual)
    problems: list[str] = []
    for wanted in expected:
        match = next((m for m in left if _meets(m, wanted)), None)
        if match is not None:
            left.remove(match)
        else:
            place = f"{filename}:{wanted.line}:1"
            problems.append(
                f'{place}: error: expected {wanted.severity} "{wanted.text}" was not produced'
            )
    for message in left:
        if message.severity == "error":
            place = f"{filename}:{message.line or 1}:1"
            problems.append(f"{place}: error: unexpected {message}")
    return problems


def _meets(message: Message, wanted: Message) -> bool:
    same_place = message.line == wanted.line and message.severity == wanted.severity
    return same_place and wanted.text in message.text
