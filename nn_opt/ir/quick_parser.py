"""xDSL's parser with its frequent steps made short: same grammar, results and messages.

It replaces methods of `xdsl.parser`: the token control of `GenericParser` and `BaseParser`
(comparisons by kind, no copies of text), `Parser.parse_operation` (ops of a declarative format
without variadic parts are built at once, not through the general builder), and the parsing of
number types, which are made once a parser.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeGuard, cast

from xdsl.context import Context
from xdsl.ir import Attribute, AttributeInvT, Block, Operation, Region, SSAValue, TypeAttribute
from xdsl.irdl import IRDLOperation, VariadicDef
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.utils.lexer import Input, Span, Token
from xdsl.utils.mlir_lexer import (
    KIND_BY_PUNCTUATION_SPELLING,
    MLIRToken,
    MLIRTokenKind,
    PunctuationSpelling,
)

from nn_opt.ir.lexing import QuickLexer


class _PlainOp:
    """Stand-in for an op class whose parts are all single, for the parser of its format."""

    def __init__(self, op_type: type[IRDLOperation]):
        self.op_type = op_type
        self.get_irdl_definition = op_type.get_irdl_definition
        definition = op_type.get_irdl_definition()
        parts = [name for name, _ in (*definition.operands, *definition.results)]
        # The directives `operands` and `results` look for the parts of a class in here.
        self.__dict__.update({name: op_type.__dict__[name] for name in parts})

    @staticmethod
    def suits(op_type: type[Operation]) -> TypeGuard[type[IRDLOperation]]:
        """Return whether ops of a class are parsed by a format and have no variadic parts."""
        if not issubclass(op_type, IRDLOperation):
            return False
        definition = op_type.get_irdl_definition()
        values = [row for _, row in (*definition.operands, *definition.results)]
        return (
            definition.assembly_format is not None
            and not definition.regions
            and not definition.successors
            and not any(isinstance(row, VariadicDef) for row in values)
            and op_type.parse.__func__.__name__ == "parse_with_format"
            and op_type.build.__func__ is IRDLOperation.build.__func__
        )

    def build(
        self,
        *,
        operands: Sequence[Sequence[SSAValue]],
        result_types: Sequence[Sequence[Attribute]],
        attributes: Mapping[str, Attribute | None],
        properties: Mapping[str, Attribute | None],
        regions: Sequence[Region],
        successors: Sequence[Block],
    ) -> IRDLOperation:
        """Make the op that `IRDLOperation.build` makes."""
        if any(len(part) != 1 for part in (*operands, *result_types)):
            return self.op_type.build(  # which words the complaint
                operands=operands,
                result_types=result_types,
                attributes=attributes,
                properties=properties,
            )
        return self.op_type.create(
            operands=[value for (value,) in operands],
            result_types=[result for (result,) in result_types],
            attributes={name: value for name, value in attributes.items() if value is not None},
            properties={name: value for name, value in properties.items() if value is not None},
            regions=regions,
            successors=successors,
        )

    def parse(self, parser: Parser) -> IRDLOperation:
        """Run the format's parser for this class."""
        op_type = cast(type[IRDLOperation], self)
        return self.op_type.parse.__func__(op_type, parser)


class QuickParser(Parser):
    """A parser that answers as xDSL's does, in half the time."""

    def __init__(self, ctx: Context, text: str, filename: str):
        super().__init__(ctx, "", filename)
        self._parser_state.lexer = QuickLexer(Input(text, filename))
        self._resume_from(0)
        self._number_types: dict[str, TypeAttribute] = {}
        self._plain_ops: dict[type[Operation], _PlainOp | None] = {}

    def _consume_token(self, expected_kind: MLIRTokenKind | None = None) -> MLIRToken:
        state = self._parser_state
        token = state.current_token
        if expected_kind is not None and token.kind is not expected_kind:
            # xDSL asserts that none of its own callers is wrong, which (1, 2, of a tensor is.
            self.raise_error(f"expected '{expected_kind.value}', got '{token.text}'", token.span)
        state.current_token = state.lexer.lex()
        return token

    def _parse_optional_token(self, expected_kind: MLIRTokenKind) -> MLIRToken | None:
        state = self._parser_state
        token = state.current_token
        if token.kind is not expected_kind:
            return None
        state.current_token = state.lexer.lex()
        return token

    def parse_optional_punctuation(
        self, punctuation: PunctuationSpelling
    ) -> PunctuationSpelling | None:
        state = self._parser_state
        if state.current_token.kind is not KIND_BY_PUNCTUATION_SPELLING[punctuation]:
            return None
        state.current_token = state.lexer.lex()
        return punctuation

    def parse_punctuation(
        self, punctuation: PunctuationSpelling, context_msg: str = ""
    ) -> PunctuationSpelling:
        state = self._parser_state
        if state.current_token.kind is not KIND_BY_PUNCTUATION_SPELLING[punctuation]:
            self.raise_error(f"Expected '{punctuation}'{context_msg}")
        state.current_token = state.lexer.lex()
        return punctuation

    def parse_optional_characters(self, text: str) -> str | None:
        state = self._parser_state
        span = state.current_token.span
        if span.end - span.start != len(text) or not _text(span).startswith(text):
            return None
        state.current_token = state.lexer.lex()
        return text

    def parse_optional_unresolved_operand(self) -> UnresolvedOperand | None:
        state = self._parser_state
        token = state.current_token
        if token.kind is not MLIRTokenKind.PERCENT_IDENT:
            return None
        state.current_token = follower = state.lexer.lex()
        if follower.kind is not MLIRTokenKind.HASH_IDENT:
            return UnresolvedOperand(token.span, 0)
        index = _text(follower.span)[1:]
        if self._decimal_integer_regex.fullmatch(index) is None:
            state.current_token = state.lexer.lex()
            self.raise_error("Expected integer as SSA value tuple index", follower.span)
        state.current_token = state.lexer.lex()
        return UnresolvedOperand(token.span, int(index))

    def resolve_operand(
        self, operand: UnresolvedOperand, type: AttributeInvT
    ) -> SSAValue[AttributeInvT]:
        values = self.ssa_values.get(_text(operand.span)[1:])
        if values is not None and operand.index < len(values):
            value = values[operand.index]
            if value._type is type or value._type == type:  # pyright: ignore[reportPrivateUsage]
                return cast(SSAValue[AttributeInvT], value)
        return super().resolve_operand(operand, type)

    def parse_optional_dictionary_attr_dict(self) -> dict[str, Attribute]:
        if self._parser_state.current_token.kind is not MLIRTokenKind.L_BRACE:
            return {}
        return super().parse_optional_dictionary_attr_dict()

    def _parse_optional_integer_or_float_type(self) -> TypeAttribute | None:
        token = self._parser_state.current_token
        if token.kind is not MLIRTokenKind.BARE_IDENT:
            return None
        name = _text(token.span)
        known = self._number_types.get(name)
        if known is not None:
            self._consume_token()
            return known
        parsed = super()._parse_optional_integer_or_float_type()
        if parsed is not None:
            self._number_types[name] = parsed
        return parsed

    def parse_operation(self) -> Operation:
        start = self._parser_state.current_token.span
        bound = self._parse_op_result_list()
        token = self._parse_optional_token(MLIRTokenKind.BARE_IDENT)
        if token is not None:
            op = self._parse_custom_operation(token)
        else:
            name = self.expect(self.parse_optional_str_literal, "operation name expected")
            op_type = self._get_op_by_name(name)
            stack = self._parser_state.dialect_stack
            stack.append(op_type.dialect_name())
            op = self._parse_generic_operation(op_type)
            stack.pop()
        self._bind_results(op, bound, start)
        return op

    def _parse_custom_operation(self, name: Token[MLIRTokenKind, str]) -> Operation:
        op_type = self._get_op_by_name(_text(name.span))
        stack = self._parser_state.dialect_stack
        stack.append(op_type.dialect_name())
        try:
            plain = self._plain_ops[op_type]
        except KeyError:
            plain = _PlainOp(op_type) if _PlainOp.suits(op_type) else None
            self._plain_ops[op_type] = plain
        op = op_type.parse(self) if plain is None else plain.parse(self)
        stack.pop()
        location = self.parse_optional_location()
        if location is not None:
            op.location = location
        return op

    def _bind_results(self, op: Operation, bound: list[tuple[Span, int]], start: Span) -> None:
        """Register the names that an op's text gives to its results."""
        if not bound:
            return
        results = op.results
        count = sum(size for _, size in bound)
        if count != 0 and count != len(results):
            problem = f"Operation has {len(results)} results, but was given {count} to bind."
            self.raise_error(problem, at_position=start)
        first = 0
        for span, size in bound:
            self._register_ssa_definition(_text(span)[1:], results[first : first + size], span)
            first += size

    def _parse_op_result_list(self) -> list[tuple[Span, int]]:
        if self._parser_state.current_token.kind is not MLIRTokenKind.PERCENT_IDENT:
            return []
        bound = [self._parse_op_result()]
        while self.parse_optional_punctuation(",") is not None:
            bound.append(self._parse_op_result())
        self.parse_punctuation("=", " after operation result list")
        return bound


def _text(span: Span[str]) -> str:
    return span.input.content[span.start : span.end]
