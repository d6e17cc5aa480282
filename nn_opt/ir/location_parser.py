"""`loc(...)` in all forms of MLIR, and aliases of locations, which may be defined further down."""

from __future__ import annotations

import re
from functools import cached_property

from xdsl.dialects.builtin import (
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    IntAttr,
    LocationAttr,
    NameLoc,
    NoneAttr,
    StringAttr,
    UnknownLoc,
)
from xdsl.utils.mlir_lexer import MLIRTokenKind

from nn_opt.ir.quick_parser import QuickParser

_DEFINITION = re.compile(r"^[ \t]*(#[\w.$-]+)[ \t]*=[ \t]*loc[ \t]*\(", re.MULTILINE)
_LOCATIONS = (UnknownLoc, FileLineColLoc, CallSiteLoc, NameLoc, FusedLoc)


class LocationParser(QuickParser):
    """Parses locations; of a range in a file, such as `"f":1:2 to 3:4`, the start is kept."""

    @cached_property
    def _definitions(self) -> dict[str, int]:
        """Where the location of each alias is spelled in the text, behind its `loc(`."""
        content = self.lexer.input.content
        return {match[1]: match.end() for match in _DEFINITION.finditer(content)}

    @cached_property
    def _known(self) -> dict[str, LocationAttr | None]:
        """The aliases met before their definitions; None while one is looked up."""
        return {}

    def _parse_location(self) -> LocationAttr:
        token = self._current_token
        if token.kind is MLIRTokenKind.HASH_IDENT:
            return self._aliased_location()
        if token.kind is MLIRTokenKind.STRING_LIT:
            return self._named_or_file_location()
        match self.expect(self.parse_optional_identifier, "location expected"):
            case "unknown":
                return UnknownLoc()
            case "callsite":
                with self.in_parens():
                    callee = self._parse_location()
                    self.parse_keyword("at")
                    return CallSiteLoc(callee, self._parse_location())
            case "fused":
                return self._fused_location()
            case word:
                problem = f"'{word}' is no kind of location"
                hint = 'a location is unknown, "file":1:2, "name"(...), callsite(...) or fused[...]'
                self.raise_error(f"{problem}\n  hint: {hint}", token.span)

    def _named_or_file_location(self) -> LocationAttr:
        text = StringAttr(self.parse_str_literal())
        if self.parse_optional_punctuation(":") is None:
            if self._current_token.kind is not MLIRTokenKind.L_PAREN:
                return NameLoc(text, NoneAttr())
            with self.in_parens():
                return NameLoc(text, self._parse_location())
        line = self.parse_integer(False, False)
        self.parse_punctuation(":")
        column = self.parse_integer(False, False)
        if self.parse_optional_keyword("to"):
            self.parse_optional_integer(False, False)
            self.parse_punctuation(":")
            self.parse_integer(False, False)
        return FileLineColLoc(text, IntAttr(line), IntAttr(column))

    def _fused_location(self) -> FusedLoc:
        metadata = NoneAttr()
        if self.parse_optional_punctuation("<") is not None:
            metadata = self.parse_attribute()
            self.parse_punctuation(">")
        parts = self.parse_comma_separated_list(self.Delimiter.SQUARE, self._parse_location)
        return FusedLoc(tuple(parts), metadata)

    def _aliased_location(self) -> LocationAttr:
        """Return what an alias stands for, wherever in the text it is defined."""
        span = self._current_token.span
        name = self.lexer.input.content[span.start : span.end]
        known = self.attribute_aliases.get(name) or self._known.get(name)
        if known is None and name in self._known:
            self.raise_error(f"the location {name} is defined by itself", span)
        if known is None and name in self._definitions:
            self._known[name] = None
            self._resume_from(self._definitions[name])
            known = self._known[name] = self._parse_location()
            self._resume_from(span.start)
        if known is None:
            self.raise_error(f"no location is called {name}", span)
        if not isinstance(known, _LOCATIONS):
            self.raise_error(f"{name} is no location", span)
        self._consume_token()
        return known
