"""The quick lexer makes the tokens, spans and errors of xDSL's own; escaped UTF-8 is text."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Input
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRTokenKind

from nn_opt.ir.lexing import QuickLexer

STRINGS = (MLIRTokenKind.STRING_LIT, MLIRTokenKind.BYTES_LIT)
LIT = Path(__file__).resolve().parents[2] / "lit"
PIECES = [
    *':,()[]<>=}{+/*?|-.#!@^%"\\_$ \n\t\r\f\v\0',
    *("->", "...", "..", "{-#", "#-}", "//", "// a note", '"text"', '"a\\n"', '"\\FF"', '"\\q"'),
    *("0", "17", "0x1F", "0xg", "1.5", "1.", "2.5e-3", "2.e", "3E+", "-4", "i32", "x", "é", "ß1"),
    *("٣", "²", "\u00a0", "\u2028", "@f", '@"f g"', "%0", "%a-b.c$", "^bb0", "#map", "!ty.pe"),
]


class Reference(MLIRLexer):
    """xDSL's lexer, without its exponential time on strings that are not closed."""

    _unescaped_characters_regex = re.compile(r'"(?:[^"\\\n\v\f]++|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+"')


def lexed(lexer: MLIRLexer) -> list[tuple[object, ...]]:
    """Return all tokens and what ends them: the end of the text or a mistake."""
    rows: list[tuple[object, ...]] = []
    while True:
        try:
            token = lexer.lex()
        except ParseError as error:
            return [*rows, ("error", error.msg, error.span.start, error.span.end)]
        span = token.span
        is_string = token.kind in STRINGS  # of which kind, a test of its own says
        rows.append(
            (STRINGS if is_string else token.kind, span.start, span.end, type(span), token.text)
        )
        assert span == type(span)(span.start, span.end, lexer.input)
        if token.kind is MLIRTokenKind.EOF:
            return rows


def assert_same(text: str) -> None:
    source = Input(text, "m.mlir")
    assert lexed(QuickLexer(source)) == lexed(Reference(source))


@pytest.mark.parametrize("folder", sorted(path.name for path in LIT.iterdir() if path.is_dir()))
def test_files(folder: str):
    for path in (LIT / folder).rglob("*.mlir"):
        assert_same(path.read_text(encoding="utf-8", errors="replace"))


@pytest.mark.parametrize("seed", range(20))
def test_random_text(seed: int):
    chance = random.Random(seed)
    for _ in range(300):
        assert_same("".join(chance.choices(PIECES, k=chance.randint(0, 12))))


@pytest.mark.parametrize("piece", PIECES)
def test_every_pair(piece: str):
    for other in PIECES:
        assert_same(piece + other)
        assert_same(f"a {piece}{other} b")


def test_lexing_goes_on_from_any_place():
    text = 'func.func @f(%a: i32) { // "note"\n  "t.op"(%a) : (i32) -> () }'
    for start in range(len(text) + 2):
        ours, theirs = QuickLexer(Input(text, "m")), Reference(Input(text, "m"))
        ours.pos = theirs.pos = start
        assert lexed(ours) == lexed(theirs)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('"gr\\C3\\B6\\C3\\9Fe"', MLIRTokenKind.STRING_LIT),
        ('"größe\\n"', MLIRTokenKind.STRING_LIT),
        ('"\\C3"', MLIRTokenKind.BYTES_LIT),
        ('"\\FF\\FE"', MLIRTokenKind.BYTES_LIT),
    ],
)
def test_escaped_utf_8_is_text(text: str, kind: MLIRTokenKind):
    token = QuickLexer(Input(text, "m")).lex()
    assert (token.kind, token.text) == (kind, text)
