"""The Pygments lexer takes all IR that there is, and says what each word is."""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path

import pytest
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
from pygments.token import (
    Comment,
    Error,
    Generic,
    Keyword,
    Name,
    Number,
    Operator,
    Punctuation,
    String,
)

from nn_opt.highlight import MlirLexer, SessionLexer

LIT = Path(__file__).resolve().parents[1] / "lit"


def words(text: str):
    """Return the words of a text and what they are, without the blanks between them."""
    tokens = MlirLexer(ensurenl=False, stripnl=False).get_tokens(text)
    return [(kind, word) for kind, word in tokens if word.strip()]


@pytest.mark.parametrize("path", sorted(LIT.rglob("*.mlir")), ids=lambda p: p.stem)
def test_lit_files_have_no_unknown_word(path):
    text = path.read_text()
    tokens = list(MlirLexer(ensurenl=False, stripnl=False).get_tokens(text))
    assert "".join(word for _, word in tokens) == text
    assert [word for kind, word in tokens if kind is Error] == []


def test_an_operation():
    assert words("%y#0 = graph.cumsum %x axis 1 : tensor<?x4xf32> // down\n") == [
        (Name.Variable, "%y#0"),
        (Operator, "="),
        (Name.Builtin, "graph.cumsum"),
        (Name.Variable, "%x"),
        (Keyword, "axis"),
        (Number.Integer, "1"),
        (Punctuation, ":"),
        (Keyword.Type, "tensor"),
        (Punctuation, "<"),
        (Operator, "?"),
        (Operator, "x"),
        (Number.Integer, "4"),
        (Operator, "x"),
        (Keyword.Type, "f32"),
        (Punctuation, ">"),
        (Comment.Single, "// down"),
    ]


@pytest.mark.parametrize(
    ("text", "kind", "word"),
    [
        ('"graph.neg"(%x) : (f32) -> f32', Name.Builtin, "graph.neg"),
        ("{nn.target = 1 : i64}", Name.Attribute, "nn.target"),
        ("func.call @k_0(%x)", Name.Function, "@k_0"),
        ("cf.br ^bb1(%x : i1)", Name.Label, "bb1"),
        ('#graph.resource<"8b5f">', Name.Decorator, "#graph.resource"),
        ("!sched.loop", Keyword.Type, "!sched.loop"),
        ("dense<0xFF800000> : tensor<f32>", Number.Hex, "0xFF800000"),
        ("arith.constant -1.5e-05 : f32", Number.Float, "1.5e-05"),
        ('loc("a\\22b":1:2)', String.Escape, "\\22"),
        ("// CHECK-NEXT: graph.relu", Comment.Preproc, "// CHECK-NEXT: graph.relu"),
        ("// -----", Comment.Special, "// -----"),
        ('memref<4x4xf32, strided<[1, 2], offset: ?>, "register">', Keyword.Reserved, "strided"),
        ("tensor<4xcomplex<f32>>", Keyword.Type, "f32"),
    ],
)
def test_a_word(text, kind, word):
    assert (kind, word) in words(text)


def test_a_string_that_is_not_closed_ends_with_its_line():
    assert words('"abc\n%x')[-1] == (Name.Variable, "%x")


def test_pygments_finds_the_lexer():
    found = entry_points(group="pygments.lexers")
    ours = {point.name: point.value for point in found if point.value.startswith("nn_opt.")}
    assert ours == {
        "nn-opt": "nn_opt.highlight:MlirLexer",
        "nn-opt-console": "nn_opt.highlight:SessionLexer",
    }
    for name in ("mlir", "nn-opt"):
        assert get_lexer_by_name(name).name == "MLIR"
    assert isinstance(get_lexer_for_filename("in.mlir"), MlirLexer)


def test_html():
    html = highlight("%x = graph.relu %y : tensor<2xf32>", MlirLexer(), HtmlFormatter())
    assert '<span class="nv">%x</span>' in html


SESSION = """$ nn-opt --cse \\
    in.mlir
%x = graph.relu %y : tensor<2xf32>
$ nn-opt --print-ir-change in.mlir
--- before cse
+++ after cse
@@ -1,1 +1,0 @@
-    %b = arith.addf %x, %y : f32
$ nn-opt none.mlir
none.mlir: error: No such file
"""


def test_a_session_is_commands_and_what_they_print():
    tokens = list(SessionLexer(ensurenl=False, stripnl=False).get_tokens(SESSION))
    assert "".join(word for _, word in tokens) == SESSION
    assert [word for kind, word in tokens if kind is Generic.Prompt] == ["$ "] * 3
    assert (Name.Builtin, "graph.relu") in tokens
    assert (Generic.Inserted, "+++ after cse") in tokens
    assert (Generic.Output, "none.mlir: error: No such file\n") in tokens


def test_places_of_a_session_are_those_of_its_text():
    for at, _, word in SessionLexer().get_tokens_unprocessed(SESSION):
        assert SESSION[at : at + len(word)] == word
