"""Pygments lexers: of the IR, `mlir` or `nn-opt`, and of dialogues with a shell that print IR."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, ClassVar

from pygments.lexer import (
    Lexer,
    RegexLexer,
    bygroups,  # pyright: ignore[reportUnknownVariableType]  (pygments has no types for it)
    default,
    include,
    words,
)
from pygments.lexers.diff import DiffLexer
from pygments.lexers.shell import BashLexer
from pygments.token import (
    Comment,
    Generic,
    Keyword,
    Name,
    Number,
    Operator,
    Punctuation,
    String,
    Whitespace,
)

_SUFFIX = r"[a-zA-Z0-9$._-]*"
_NAME = rf"(?:[0-9]+|[a-zA-Z$._-]{_SUFFIX})"
_NUMBER_TYPES = r"(?:[us]?i[0-9]+|b?f16|tf32|f32|f64|f80|f128|f[468]E\w+|index|none)\b"
_SHAPED = words(("tensor", "memref", "vector"), prefix=r"\b", suffix=r"(?=<)")
_BUILTIN_ATTRIBUTES = (
    "affine_map",
    "affine_set",
    "array",
    "attributes",
    "complex",
    "dense",
    "dense_resource",
    "distinct",
    "loc",
    "module",
    "opaque",
    "sparse",
    "strided",
    "tuple",
)


class MlirLexer(RegexLexer):
    """MLIR's textual form, with the custom syntax of any dialect."""

    name = "MLIR"
    aliases: ClassVar = ["mlir", "nn-opt"]
    filenames: ClassVar = ["*.mlir"]
    mimetypes: ClassVar = ["text/x-mlir"]
    url = "https://mlir.llvm.org/docs/LangRef/"

    tokens: ClassVar = {
        "root": [
            include("blank"),
            (r'"(?=[\w.]+"\s*\()', Name.Builtin, "generic-op"),
            (r'"', String.Double, "string"),
            (rf"%{_NAME}(?:#[0-9]+)?", Name.Variable),
            (rf"(\^)({_NAME})", bygroups(Name.Label, Name.Label)),
            (rf"@(?:{_NAME}|\"[^\"\n]*\")", Name.Function),
            (r"\{-#|#-\}", Punctuation),
            (rf"![a-zA-Z0-9_$.-]{_SUFFIX}", Keyword.Type),
            (rf"#[a-zA-Z0-9_$.-]{_SUFFIX}", Name.Decorator),
            (_SHAPED, Keyword.Type, "shape"),
            (_NUMBER_TYPES, Keyword.Type),
            (r"\b(?:true|false|unit)\b", Keyword.Constant),
            include("numbers"),
            (r"[a-zA-Z_][\w$.]*(?=\s*=(?![=>]))", Name.Attribute),
            (r"[a-zA-Z_][\w$]*(?:\.[\w$]+)+", Name.Builtin),
            (words(_BUILTIN_ATTRIBUTES, prefix=r"\b", suffix=r"\b"), Keyword.Reserved),
            (r"[a-zA-Z_][\w$]*", Keyword),
            (r"->|[-+*/=?|]", Operator),
            (r"[][(){}<>,:;.#%@^!&]", Punctuation),
        ],
        "blank": [
            (r"\s+", Whitespace),
            (r"//[ \t]*-----.*", Comment.Special),
            (r"//[ \t]*(?:RUN|CHECK|expected-|XFAIL|REQUIRES).*", Comment.Preproc),
            (r"//.*", Comment.Single),
        ],
        "numbers": [
            (r"0x[0-9a-fA-F]+", Number.Hex),
            (r"[0-9]+\.[0-9]*(?:[eE][+-]?[0-9]+)?", Number.Float),
            (r"[0-9]+", Number.Integer),
        ],
        "string": [
            (r'\\(?:[nt"\\]|[0-9a-fA-F]{2})', String.Escape),
            (r'[^"\\\n]+', String.Double),
            (r'"|\n', String.Double, "#pop"),
            (r"\\", String.Double),
        ],
        "generic-op": [
            (r"[\w.]+", Name.Builtin),
            (r'"', Name.Builtin, "#pop"),
        ],
        # `tensor<2x?x4xf32>`: sizes and the `x` between them are one word to the rules above.
        "shape": [
            (r"<", Punctuation, ("#pop", "sizes")),
        ],
        "sizes": [
            include("blank"),
            (r"([0-9]+)(x)", bygroups(Number.Integer, Operator)),
            (r"([?*])(x)", bygroups(Operator, Operator)),
            (r"([\[\]])(x?)", bygroups(Punctuation, Operator)),
            (r"[0-9]+(?=\])", Number.Integer),
            (r"<", Punctuation, ("#pop", "nested")),
            (r">", Punctuation, "#pop"),
            default(("#pop", "nested")),
        ],
        "nested": [
            (r"<", Punctuation, "#push"),
            (r">", Punctuation, "#pop"),
            (r"->", Operator),
            include("root"),
        ],
    }


_IR = re.compile(r"^\s*(?:[%^]\w|builtin\.|func\.|module\b|sched\.|llvm\.|#|.*\) ->)", re.MULTILINE)


class SessionLexer(Lexer):
    """Commands after `$ `, and what they print: IR, a diff, or any text."""

    name = "nn-opt session"
    aliases: ClassVar = ["nn-opt-console"]

    def get_tokens_unprocessed(self, text: str) -> Iterator[tuple[int, Any, str]]:
        """Yield the place, kind and text of each word."""
        at = 0
        for part in re.findall(r"\$ (?:.*\\\n)*.*\n?|(?:(?!\$ ).*\n|(?!\$ ).+)+", text):
            yield from self._part(part, at)
            at += len(part)

    def _part(self, part: str, at: int) -> Iterator[tuple[int, Any, str]]:
        if part.startswith("$ "):
            yield at, Generic.Prompt, "$ "
            for offset, kind, word in BashLexer().get_tokens_unprocessed(part[2:]):
                yield at + 2 + offset, kind, word
        elif part.startswith("--- "):
            yield from _moved(DiffLexer(), part, at)
        elif _IR.search(part) and "error: " not in part:
            yield from _moved(MlirLexer(), part, at)
        else:
            yield at, Generic.Output, part


def _moved(lexer: Lexer, text: str, at: int) -> Iterator[tuple[int, Any, str]]:
    for offset, kind, word in lexer.get_tokens_unprocessed(text):
        yield at + offset, kind, word
