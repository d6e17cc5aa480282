"""A page of the documentation as a list of steps: its code blocks, and directives in comments.

    ```sh             commands, one a line; each must succeed
    ```console        `$ command` and what it prints; a line `...` stands for any lines
    ```python         runs, all blocks of a page in one namespace; `>>>` is compared
    ```mlir           is parsed and verified
    ``` ... title="in.mlir"     is written to a file of the page's folder first; Python only so

Comments before a block, or alone:

    <!-- not run: REASON -->       the block stays text; the site shows the reason
    <!-- excerpt: PATH -->         the block is a part of that file of the repository
    <!-- excerpt: PATH#NAME -->    ... all of the part between the marks `[NAME]` and `[/NAME]`
    <!-- fragment -->              IR that is no module; it has to have known words only
    <!-- prints -->                the block is what the Python block before it printed
    <!-- needs: PROGRAM -->        the block runs where that program is
    <!-- needs: cpu FEATURE -->    ... where the processor has what LLVM calls so
    <!-- fails: STATUS -->         the commands of the block exit with this status
    <!-- file: NAME = PATH -->     a file of the repository is copied to the page's folder
    <!-- hidden python ... -->     runs like a Python block, but is not shown
    <!-- hidden sh ... -->         runs like commands
"""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from sybil import Document, Region
from sybil.parsers.markdown.lexers import DirectiveInHTMLCommentLexer, RawFencedCodeBlockLexer

ROOT = Path(__file__).resolve().parents[3]
_INFO = re.compile(
    r'(?P<language>[\w+-]*)(?:[ \t]+title="(?P<title>[^"]+)")?[ \t]*$\n', re.MULTILINE
)
_BEFORE_A_BLOCK = ("not run", "excerpt", "fragment", "prints", "fails", "needs")
_ALONE = ("file", "hidden python", "hidden sh")


@dataclass(frozen=True)
class Step:
    """A code block, or a directive that stands alone."""

    page: Path
    line: int
    language: str
    text: str
    title: str = ""
    notes: dict[str, str] = field(default_factory=dict[str, str])
    span: tuple[int, int] = (0, 0)  # of the text, in the page

    @property
    def place(self) -> str:
        """Where this is, for messages."""
        return f"{os.path.relpath(self.page, ROOT)}:{self.line}"


class Fences:
    """Yields a region for each fenced code block."""

    def __call__(self, document: Document) -> Iterator[Region]:
        for region in RawFencedCodeBlockLexer(_INFO)(document):
            region.evaluator = lambda example: None
            region.parsed = region.lexemes
            yield region


class Comments:
    """Yields a region for each directive."""

    def __call__(self, document: Document) -> Iterator[Region]:
        names = "|".join((*_BEFORE_A_BLOCK, *_ALONE))
        for region in DirectiveInHTMLCommentLexer(names, r"[^\n]*?")(document):
            region.evaluator = lambda example: None
            region.parsed = region.lexemes
            yield region


def steps_of(page: Path) -> list[Step]:
    """Return the steps of a page, in order."""
    document = Document.parse(str(page), Fences(), Comments())
    steps: list[Step] = []
    notes: dict[str, str] = {}
    for _, region in document.regions:
        words, line = region.parsed, document.text.count("\n", 0, region.start) + 1
        name = words.get("directive", "")
        if name in _BEFORE_A_BLOCK:
            notes[name] = words["arguments"].strip()
        elif name:
            steps.append(_alone(page, line, name, words))
        else:
            source = words["source"]
            begin = region.start + source.offset
            end = document.text.rfind("\n", begin - 1, region.end) + 1
            span, language = (begin, max(begin, end)), words["language"]
            steps.append(Step(page, line, language, str(source), words["title"] or "", notes, span))
            notes = {}
    assert not notes, f"{page}: a comment {notes} has no block after it"
    return steps


def _alone(page: Path, line: int, name: str, words: dict[str, str]) -> Step:
    kind, _, language = name.rpartition(" ")
    text = textwrap.dedent(str(words["source"])) if kind else words["arguments"].strip()
    return Step(page, line, language, text.strip("\n") + "\n")


def pages() -> list[Path]:
    """Return all pages whose blocks are run."""
    top = [ROOT / name for name in ("README.md", "CONTRIBUTING.md")]
    return [*top, *sorted((ROOT / "docs").rglob("*.md"))]
