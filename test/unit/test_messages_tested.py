"""Every message that nn-opt can end with is expected, in its own words, by some test."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from said import FEW, HOLE, Reader, read_unit

ROOT = Path(__file__).resolve().parents[2]
SOURCES = "backends conversion dialects frontends nn_opt passes reference runtime schedule".split()
EXPECTED = re.compile(r"expected-(?:error|warning|note|remark).*?\{\{(.*)\}\}")
CHECKED = re.compile(r"^\s*(?://|#)\s*[A-Z][A-Z0-9_-]*:\s(.*)")
ANY = "\1"  # what a test leaves open
LETTERS = 12  # of a piece between two holes; a shorter one is found by chance
PHRASE = 15  # of a part of such a piece


def messages() -> list[str]:
    """Return the first line of each message, with holes, without its place."""
    links = [path for path in (ROOT / "nn_opt").iterdir() if path.is_symlink()]
    files = sorted(path for folder in SOURCES for path in (ROOT / folder).rglob("*.py"))
    own = [path for path in files if not any(link in path.parents for link in links)]
    lines = (text.split("\n")[0] for text in Reader(map(read_unit, own)).messages())
    texts = dict.fromkeys(line.split("error: ")[-1].strip() for line in lines)
    return [text for text in texts if letters(text) >= FEW]


def letters(text: str) -> int:
    return sum(map(str.isalpha, text))


def expectations() -> Iterator[str]:
    """Yield what tests say about output: of lit files the checks, of others all strings."""
    for path in (ROOT / "test" / "lit").rglob("*.mlir"):
        for line in path.read_text(encoding="utf-8", errors="replace").split("\n"):
            if match := EXPECTED.search(line):
                yield match[1]
            elif match := CHECKED.match(line):
                yield re.sub(r"\{\{.*?\}\}|\[\[.*?\]\]", ANY, match[1])
    for path in (ROOT / "test" / "unit").rglob("*.py"):
        yield from strings(ast.parse(path.read_text(encoding="utf-8")))
    for path in (ROOT / "nn_opt").glob("*.py"):
        for docstring in strings(ast.parse(path.read_text(encoding="utf-8"))):
            yield from [docstring] if ">>> " in docstring else []


def strings(tree: ast.AST) -> Iterator[str]:
    """Yield the strings of a test, without escapes of regular expressions."""
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)):
                yield re.sub(r"\\(?=\W)", "", re.sub(r"\.[*+]", ANY, text))
            case ast.JoinedStr(values=values):
                parts = [v.value if isinstance(v, ast.Constant) else ANY for v in values]
                yield re.sub(r"\\(?=\W)", "", "".join(map(str, parts)))
            case _:
                pass


def runs(text: str) -> Iterator[str]:
    """Yield the parts of a message, from hole to hole, that are long enough to name it."""
    pieces = text.split(HOLE)
    for first in range(len(pieces)):
        for last in range(first, len(pieces)):
            run = HOLE.join(pieces[first : last + 1]).strip(HOLE + " :,")
            if letters(run) >= LETTERS or (first, last) == (0, len(pieces) - 1):
                yield run
    yield from phrases(text.split(" "))


def phrases(words: list[str]) -> Iterator[str]:
    """Yield from each word on as many as name the message, if all of them are literal."""
    for first in range(len(words)):
        last = first
        while last < len(words) and letters(" ".join(words[first:last])) < PHRASE:
            last += 1
        phrase = " ".join(words[first:last])
        if letters(phrase) >= PHRASE and HOLE not in phrase:
            yield phrase.strip(" :,")


def is_in(run: str, expected: str) -> bool:
    """Return whether a line has the pieces of a run, with something between them."""
    pattern = re.compile(".{1,200}?".join(map(re.escape, run.split(HOLE))))
    piece = max(run.split(HOLE), key=len)
    at = expected.find(piece)
    while at >= 0:
        line = expected[expected.rfind("\n", 0, at) + 1 : expected.find("\n", at)]
        if pattern.search(line):
            return True
        at = expected.find(piece, at + 1)
    return False


def test_every_message_is_tested():
    said = messages()
    lines = dict.fromkeys(line for text in expectations() for line in text.split("\n"))
    expected = "\n".join(["", *lines, ""])
    untested: list[str] = []
    for text in said:
        named = [run for run in runs(text) if sum(run in other for other in said) == 1]
        if not any(is_in(run, expected) for run in (named or [text.strip(HOLE + " :,")])):
            untested.append(text.replace(HOLE, "..."))
    assert len(said) > 400, "the sources are read"
    assert not untested, "no test expects these messages in their own words"
