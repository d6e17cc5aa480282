"""A quicker lexer for MLIR text: one regular expression instead of one step a character.

It replaces `xdsl.utils.mlir_lexer.MLIRLexer.lex` and makes the same tokens, spans and errors; but
a string with escapes is text if its bytes are UTF-8.
"""

from __future__ import annotations

import re
from contextlib import suppress

from xdsl.utils.lexer import Input, Span, Token
from xdsl.utils.mlir_lexer import (
    KIND_BY_PUNCTUATION_SPELLING,
    MLIRLexer,
    MLIRToken,
    MLIRTokenKind,
    StringLiteral,
)

# The groups are named after kinds, the frequent first. What no group takes is left to xDSL.
_TOKEN = re.compile(
    r"""(?:\s++|//[^\n]*+)*+(?:
      (?P<PERCENT_IDENT>%(?:[0-9]+|[a-zA-Z$._-][a-zA-Z0-9$._-]*+))
    | (?P<BARE_IDENT>[a-zA-Z_][a-zA-Z0-9_$.]*+)
    | (?P<PUNCTUATION>[:,()\[\]<>=}+/*?|]|->?|\{(?!-\#))
    | (?P<FLOAT_LIT>[0-9]++\.[0-9]*+(?:[eE][+-]?[0-9]+)?)
    | (?P<INTEGER_LIT>0x[0-9a-fA-F]++|[0-9]++)
    | (?P<STRING_LIT>"[^"\\\n\v\f]*+")
    | (?P<AT_IDENT>@[a-zA-Z_][a-zA-Z0-9_$.]*+)
    | (?P<CARET_IDENT>\^(?:[0-9]+|[a-zA-Z$._-][a-zA-Z0-9$._-]*+))
    | (?P<HASH_IDENT>\#(?!-\})(?:[0-9]+|[a-zA-Z$._-][a-zA-Z0-9$._-]*+))
    | (?P<EXCLAMATION_IDENT>!(?:[0-9]+|[a-zA-Z$._-][a-zA-Z0-9$._-]*+))
    )""",
    re.VERBOSE | re.ASCII,
)
_KINDS = [None, *(MLIRTokenKind.__members__.get(group) for group in _TOKEN.groupindex)]
_PUNCTUATION: dict[str, MLIRTokenKind] = {**KIND_BY_PUNCTUATION_SPELLING}
_STRING = _TOKEN.groupindex["STRING_LIT"]


class QuickLexer(MLIRLexer):
    """Lex by one match a token; escapes, letters beyond ASCII and mistakes go to xDSL's lexer."""

    # Upstream's, but possessive: that one takes exponential time on a string that is not closed.
    _unescaped_characters_regex = re.compile(r'"(?:[^"\\\n\v\f]++|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+"')

    def __init__(self, input: Input[str]) -> None:
        super().__init__(input)
        self._match = _TOKEN.match

    def _lex_string_literal(self, start_pos: int) -> MLIRToken:
        """Lex a string: it is text if its bytes are UTF-8; upstream asks for ASCII."""
        token = super()._lex_string_literal(start_pos)
        if token.kind is MLIRTokenKind.BYTES_LIT:
            assert isinstance(token.span, StringLiteral), "upstream makes one"
            with suppress(UnicodeDecodeError):
                token.span.bytes_contents.decode()
                return Token(MLIRTokenKind.STRING_LIT, token.span)
        return token

    def lex(self) -> MLIRToken:
        source = self.input
        match = self._match(source.content, self.pos)
        if match is None:
            return super().lex()
        group = match.lastindex
        assert group is not None, "each alternative of the pattern is a group"
        start, end = match.span(group)
        self.pos = end
        # The constructor of a frozen class takes three times as long.
        span: Span[str] = object.__new__(StringLiteral if group == _STRING else Span)
        fields = span.__dict__
        fields["start"] = start
        fields["end"] = end
        fields["input"] = source
        return Token(_KINDS[group] or _PUNCTUATION[match[group]], span)
