"""Text to module: every operation knows its file, line and column; mistakes read as one message."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from itertools import accumulate
from typing import TYPE_CHECKING, Any, cast

from xdsl.context import Context
from xdsl.dialect_interfaces.op_asm import OpAsmDialectInterface
from xdsl.dialects import get_all_dialects
from xdsl.dialects.builtin import (
    AnyFloat,
    Builtin,
    ComplexType,
    DenseIntOrFPElementsAttr,
    FileLineColLoc,
    IndexType,
    IntAttr,
    IntegerType,
    LocationAttr,
    ModuleOp,
    RankedStructure,
    StringAttr,
)
from xdsl.ir import Attribute, Block, Dialect, Operation, SSAValue, TypeAttribute
from xdsl.parser import AttrParser, Parser
from xdsl.utils.exceptions import MultipleSpansParseError, ParseError, VerifyException
from xdsl.utils.lexer import Span
from xdsl.utils.mlir_lexer import MLIRTokenKind

from nn_opt.ir import building as building  # before any IR is built
from nn_opt.ir.contexts import REGISTERED, OpenContext
from nn_opt.ir.dense_text import literal_end, read_literal
from nn_opt.ir.diagnostics import Complaints, Diagnostic, DiagnosticError, diagnose, excerpt
from nn_opt.ir.location_parser import LocationParser
from nn_opt.ir.locations import current_place, located, set_place
from nn_opt.ir.recursion import READING_FRAMES, TooDeepError, allow_deep_nesting, unbounded
from nn_opt.ir.sidecar import sidecar
from nn_opt.ir.walks import install

if TYPE_CHECKING:
    from nn_opt.ir.resources import Array

install()

DIALECTS = {
    "arith": "nn_opt.ir.vector_arith:Arith",
    "cf": "xdsl.dialects.cf:Cf",
    "func": "xdsl.dialects.func:Func",
    "gpu": "nn_opt.dialects.gpu:Gpu",
    "graph": "nn_opt.dialects.graph:Graph",
    "llvm": "nn_opt.dialects.llvm:LLVM",
    "loop": "nn_opt.dialects.loop:Loop",
    "math": "xdsl.dialects.math:Math",
    "memref": "nn_opt.ir.memref_format:MemRef",
    "scf": "nn_opt.ir.scf_format:Scf",
    "sched": "nn_opt.dialects.sched:Sched",
    "tensor": "nn_opt.dialects.tensor:Tensor",
    "vector": "xdsl.dialects.vector:Vector",
}

WIDEST_INTEGER = (1 << 24) - 1  # MLIR's; values of billions of bits would fill the memory

_integer = lru_cache(maxsize=256)(IntAttr)


def _factory(row: str) -> Callable[[], Dialect]:
    module, _, attribute = row.partition(":")
    return lambda: getattr(import_module(module), attribute)


def make_context(*, allow_unregistered: bool = False) -> Context:
    """Return a context that knows all dialects, xDSL's too, and imports each at its first use."""
    context = OpenContext(allow_unregistered=allow_unregistered)
    context.load_dialect(Builtin)
    for name, row in DIALECTS.items():
        context.register_dialect(name, _factory(row))
    for name, factory in more_dialects().items():
        context.register_dialect(name, factory)
    for dialect in REGISTERED.values():
        context.load_dialect(dialect)
    return context


def more_dialects() -> dict[str, Callable[[], Dialect]]:
    """Return what imports each dialect of xDSL that is neither `builtin` nor in `DIALECTS`."""
    known = {Builtin.name, *DIALECTS}
    return {name: make for name, make in get_all_dialects().items() if name not in known}


class _Names(dict[str, tuple[SSAValue, ...]]):
    """The values that are visible, by name; xDSL copies them for each region."""

    def copy(self) -> Any:
        """Return what `forget` takes: names are only added, so how many there are tells which."""
        return len(self)

    def forget(self, size: int) -> None:
        """Drop all names but the first, where a region ends."""
        while len(self) > size:
            self.popitem()


class LocatingParser(LocationParser):
    """Give each op without `loc(...)` the place of its name."""

    @dataclass
    class _TensorLiteralElement(  # the parser makes elements by this name
        Parser._TensorLiteralElement  # pyright: ignore[reportPrivateUsage]
    ):
        """An element of `dense<...>`; hexadecimal digits are the bits of a float, as in MLIR."""

        def to_type(
            self, parser: AttrParser, type: AnyFloat | IntegerType | IndexType | ComplexType
        ):
            if isinstance(type, AnyFloat) and self.span.text[:2].lower() == "0x":
                assert isinstance(self.value, int)
                return type.unpack(self.value.to_bytes(type.size, "little"), 1)[0]
            return super().to_type(parser, type)

    def __init__(self, ctx: Context, text: str, filename: str):
        super().__init__(ctx, text, filename)
        self._file = StringAttr(filename)
        self._op_starts: list[int] = []
        self.ssa_values = self._names = _Names()
        self._resource_keys: dict[tuple[str, str], str] = {}
        self._places: list[LocationAttr] = []  # what is around each op that is parsed just now
        self._line_starts = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]

    def parse_module(self, allow_implicit_module: bool = True) -> ModuleOp:
        empty = self._current_token.kind is MLIRTokenKind.EOF
        try:
            with located(self._location(0)):
                module = ModuleOp([]) if empty else super().parse_module(allow_implicit_module)
        except ParseError as error:
            if error.msg.startswith("values used but not defined"):
                raise DiagnosticError(Complaints(self._undefined_values())) from error
            raise
        return module

    def _undefined_values(self) -> Iterator[Diagnostic]:
        """Word the complaints about names that no op defines where their uses can see it."""
        for name, references in self.forward_ssa_references.items():
            use = next(iter(next(iter(references.values())).uses))
            problem = f"operand #{use.index} (%{name}) has no definition that is visible here"
            yield diagnose(use.operation, problem)

    @unbounded
    def parse_optional_region(self, arguments: Sequence[Parser.Argument] | None = None):
        region = super().parse_optional_region(arguments)
        if region is not None:
            self._names.forget(cast(int, self.ssa_values))
            self.ssa_values = self._names
        return region

    def _parse_dialect_resource_handle(
        self, dialect_name: str, interface: OpAsmDialectInterface
    ) -> str:
        """Return the key of a blob: another one than the text's if an earlier text has that."""
        written = self.parse_identifier(context_msg=" for resource handle")
        if (dialect_name, written) not in self._resource_keys:
            self._resource_keys[dialect_name, written] = interface.declare_resource(written)
        return self._resource_keys[dialect_name, written]

    def parse_dense_int_or_fp_elements_attr(
        self, type: RankedStructure[Any] | None
    ) -> DenseIntOrFPElementsAttr[Any]:
        content, start = self.lexer.input.content, self._current_token.span.start
        end = literal_end(content, start + 1) if content.startswith("<[", start) else None
        if end is not None:
            self._resume_from(end)
            self.parse_punctuation(">", " in dense attribute")
            if type is None:
                self.parse_punctuation(":", " in dense attribute")
            known = self._parse_dense_literal_type() if type is None else type
            attribute = read_literal(content[start + 1 : end], known)
            if attribute is not None:
                return attribute
            self._resume_from(start)
        return super().parse_dense_int_or_fp_elements_attr(type)

    def _parse_optional_block_arg_list(self, block: Block) -> Block | None:
        """Parse the arguments of a block, and make them at once: xDSL's block copies its list."""
        if self._current_token.kind is not MLIRTokenKind.L_PAREN:
            return None
        rows = self.parse_comma_separated_list(self.Delimiter.PAREN, self._parse_block_argument)
        made = Block(arg_types=[type for _, type, _ in rows]).args
        block._args = made  # pyright: ignore[reportPrivateUsage]
        for argument, (name, _, location) in zip(made, rows, strict=True):
            argument.block = block
            if location is not None:
                argument.location = location
            self._register_ssa_definition(name.text[1:], (argument,), name)
        return block

    def _parse_block_argument(self) -> tuple[Span, Attribute, LocationAttr | None]:
        name = self._parse_token(MLIRTokenKind.PERCENT_IDENT, "block argument expected").span
        self.parse_punctuation(":")
        return name, self.parse_attribute(), self.parse_optional_location()

    def too_deep(self) -> DiagnosticError:
        """Return the complaint about where there was no room for more nesting."""
        span = self._current_token.span
        problem = "types, attributes or locations are nested too deeply"
        return DiagnosticError(Complaints([syntax_error(ParseError(span, problem))]))

    def parse_operation(self) -> Operation:
        try:
            op = super().parse_operation()
        except (VerifyException, ValueError, OverflowError) as error:  # refused by a constructor
            start = self._op_starts[-1]
            text = str(error).removeprefix("<unknown location>: error: ")
            raise ParseError(Span(start, start, self.lexer.input), text) from error
        self._op_starts.pop()
        set_place(self._places.pop())
        return op

    def _parse_block(self) -> Block:
        label = self._current_token
        if label.kind is not MLIRTokenKind.CARET_IDENT:
            found = f"'{label.text}'" if label.text else "the end"
            self.raise_error(f"expected an operation, a block or '}}', got {found}")
        name = label.text[1:]
        if name in self.blocks and name not in self.forward_block_references:
            self.raise_error(f"block ^{name} is defined twice", label.span)
        return super()._parse_block()

    def _parse_optional_integer_or_float_type(self) -> TypeAttribute | None:
        span = self._current_token.span
        parsed = super()._parse_optional_integer_or_float_type()
        width = parsed.bitwidth if type(parsed) is IntegerType else 0
        if width > WIDEST_INTEGER:
            self.raise_error(f"integer bitwidth is limited to {WIDEST_INTEGER} bits", span)
        return parsed

    def _parse_op_result_list(self) -> list[tuple[Span, int]]:
        results = super()._parse_op_result_list()
        start = self._current_token.span.start  # the op's name, as MLIR has it
        self._op_starts.append(start)
        self._places.append(current_place())
        set_place(self._location(start))  # of the op, and of terminators that are left out
        return results

    def _location(self, start: int) -> FileLineColLoc:
        line = bisect_right(self._line_starts, start)
        column = start - self._line_starts[line - 1] + 1
        # The constructors take 10 us to verify what is right by construction.
        number = object.__new__(IntAttr)
        vars(number)["data"] = line
        location = object.__new__(FileLineColLoc)
        vars(location).update(filename=self._file, line=number, column=_integer(column))
        return location

    def _get_op_by_name(self, name: str) -> type[Operation]:
        stack = self._parser_state.dialect_stack
        if op_type := self.ctx.get_optional_op(name, dialect_stack=stack):
            return op_type
        content = self.lexer.input.content
        start = content.rfind(name, 0, self.pos)
        start -= content[start - 1 : start] == '"'
        problem = f"unknown operation '{name}'\n  hint: {self._unknown_op_hint(name)}"
        self.raise_error(problem, start, start + len(name))

    def _unknown_op_hint(self, name: str) -> str:
        dialect = name.partition(".")[0]
        if dialect not in self.ctx.registered_dialect_names and dialect != "builtin":
            return f"no dialect '{dialect}' is known; --allow-unregistered-dialect accepts any"
        from difflib import get_close_matches  # slow to import, and for errors only

        known = [op.name for op in self.ctx.loaded_ops if op.name.startswith(f"{dialect}.")]
        close = get_close_matches(name, known, 1)
        return f"did you mean {close[0]}?" if close else f"--show-dialects={dialect} lists its ops"


def _excerpt(span: Span[str] | Span[bytes]) -> str:
    """Return the line of a span and a caret under its first character."""
    content = span.input.content
    text = content.decode("utf-8", "replace") if isinstance(content, bytes) else content
    start = text.rfind("\n", 0, span.start) + 1
    line = text[start:].partition("\n")[0].rstrip("\r")
    return excerpt(line, span.start - start + 1)


def syntax_error(error: ParseError) -> Diagnostic:
    """Return `file:line:col: error: what`, the source line and a caret, then any notes."""
    problem, _, hint = error.msg.partition("\n  hint: ")
    problem = problem.replace("{first_char}", f"'{error.span.text[:1]}'")  # which xDSL leaves
    refs, text = [], ""
    if isinstance(error, MultipleSpansParseError):
        refs, text = error.refs, error.ref_text or "see here"
    notes = tuple(
        Diagnostic("note", _place(span), note or text, excerpt=_excerpt(span))
        for span, note in refs
    )
    return Diagnostic(
        "error", _place(error.span), problem, hint=hint, notes=notes, excerpt=_excerpt(error.span)
    )


def _place(span: Span[str] | Span[bytes]) -> str:
    where = span.get_location()
    return f"{where.file}:{where.line}:{where.col}"


def parse_module(
    ctx: Context, text: str, filename: str, weights: Mapping[str, Array] | None = None
) -> ModuleOp:
    """Return the module that a text spells; `weights` holds the arrays of its resources.

    Raises: DiagnosticError for text that is no module.
    """
    allow_deep_nesting(READING_FRAMES)
    parser = None
    try:
        parser = LocatingParser(ctx, text, filename)
        with sidecar(weights or {}):
            return parser.parse_module()
    except ParseError as error:
        raise DiagnosticError(Complaints([syntax_error(error)])) from error
    except RecursionError as error:
        if parser is None:
            raise
        raise parser.too_deep() from error
    except TooDeepError as error:
        raise DiagnosticError(f"{filename}: error: regions are nested too deeply") from error
    finally:
        allow_deep_nesting()
