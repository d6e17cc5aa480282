"""What OpenCL C, CUDA C++ and Metal's language share: declarations, pointers, literals."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
    VectorType,
)
from xdsl.ir import Attribute

from nn_opt.backends.source.c99 import float_literal
from nn_opt.backends.source.common_rules import half_bits
from nn_opt.backends.source.gpu_language import Buffer, GpuLanguage, Space
from nn_opt.backends.source.gpu_rules import width_of
from nn_opt.backends.source.helpers import definition, used
from nn_opt.backends.source.language import width
from nn_opt.ir.types import element_type, lanes_of

LONGEST_LINE = 100
INTEGERS = {8: "char", 16: "short", 32: "int", 64: "long"}
MOST_NEGATIVE = {32: "(-2147483647 - 1)", 64: "(-9223372036854775807{long} - 1)"}


def in_lines(head: str, parts: Iterable[str], tail: str) -> str:
    """Return a list in one line, or with a line for each part if that is too long."""
    listed = list(parts)
    line = f"{head}{', '.join(listed)}{tail}"
    if len(line) <= LONGEST_LINE:
        return line
    return head + ",".join(f"\n    {part}" for part in listed) + tail


class CKernels(GpuLanguage):
    """A language for kernels whose expressions are those of C."""

    spaces: ClassVar[Mapping[Space, str]]  # what a pointer's type begins with
    array_spaces: ClassVar[Mapping[Space, str]]  # ... and an array's
    integers: ClassVar[Mapping[int, str]] = INTEGERS
    unsigned: ClassVar[Mapping[int, str]] = {bits: f"u{word}" for bits, word in INTEGERS.items()}
    long_suffix: ClassVar[str] = "L"
    has_double: ClassVar[bool] = True
    infinity: ClassVar[tuple[str, str]] = ("INFINITY", "(-INFINITY)")
    nan: ClassVar[str] = "NAN"
    functions: ClassVar[Mapping[str, str]]  # how a helper begins; what reads bits
    own_helpers: ClassVar[Mapping[str, str]] = {}
    aligned_array: ClassVar[str]  # of an array that vectors are read from

    def type_word(self, type_: Attribute) -> str | None:
        match type_:
            case Float32Type():
                return "float"
            case Float64Type():
                return "double" if self.has_double else None
            case Float16Type() | BFloat16Type():
                return self.unsigned[16]
            case IndexType():
                return "int"
            case IntegerType() if width(type_) == 1:
                return "bool"
            case IntegerType():
                return self.integers.get(width(type_))
            case VectorType():
                return self.vector_word(element_type(type_), lanes_of(type_) or 1)
            case _:
                return None

    def stored_word(self, type_: Attribute) -> str:
        """Return the word for an element in memory: a boolean is a byte."""
        word = self.type_word(type_)
        assert word is not None, f"no word for {type_}"
        return self.unsigned[8] if word == "bool" else word

    def unsigned_word(self, type_: Attribute, *, at_least: int = 8) -> str:
        return self.unsigned[max(width_of(type_), at_least)]

    def function_name(self, name: str, type_: Attribute) -> str:
        return name

    def literal(self, value: float, type_: Attribute) -> str:
        if isinstance(type_, Float16Type | BFloat16Type):
            return hex(half_bits(value, type_))
        if isinstance(type_, Float32Type | Float64Type):
            return self.float_literal(value, is_double=isinstance(type_, Float64Type))
        number = int(value)
        if width_of(type_) == 1:
            return str(int(number != 0))
        if number == -(1 << (width_of(type_) - 1)) and width_of(type_) in MOST_NEGATIVE:
            return MOST_NEGATIVE[width_of(type_)].replace("{long}", self.long_suffix)
        suffix = self.long_suffix if width_of(type_) == 64 else ""
        return f"(-{-number}{suffix})" if number < 0 else f"{number}{suffix}"

    def float_literal(self, value: float, *, is_double: bool) -> str:
        """Return the text of a number; infinities and NaN have names."""
        if value != value:
            return self.nan
        if value in (float("inf"), float("-inf")):
            return self.infinity[value < 0]
        return float_literal(value, is_double=is_double)

    def define(self, name: str, type_: Attribute, value: str) -> str:
        return f"const {self.type_word(type_)} {name} = {value};"

    def loop(self, index: str, trips: int) -> str:
        return f"for (int {index} = 0; {index} < {trips}; ++{index})"

    def define_variables(self, names: Sequence[str], type_: Attribute) -> str:
        return f"{self.type_word(type_)} {', '.join(names)};"

    def divide_index(self, value: str, divisor: int, *, is_natural: bool) -> str:
        return f"({value} / {divisor})" if is_natural else f"floor_divide_i32({value}, {divisor})"

    def modulo_index(self, value: str, divisor: int, *, is_natural: bool) -> str:
        return f"({value} % {divisor})" if is_natural else f"floor_modulo_i32({value}, {divisor})"

    def to_index(self, text: str, type_: Attribute) -> str:
        return text if width_of(type_) == 32 else f"(int){text}"

    # Buffers

    def pointer(self, buffer: Buffer) -> str:
        """Return the type of the address of a buffer's elements."""
        const = "const " if buffer.constant else ""
        return f"{self.spaces[buffer.space]}{const}{self.stored_word(buffer.element)} *"

    def array(self, buffer: Buffer) -> str:
        space = self.array_spaces[buffer.space]
        aligned = self.aligned_array if buffer.aligned > 1 else ""
        word = self.stored_word(buffer.element)
        return f"{aligned}{space}{word} {buffer.name}[{max(buffer.elements, 1)}];"

    def table(self, buffer: Buffer, values: Sequence[str]) -> str:
        head = f"{self.array_spaces[Space.TABLE]}const {self.stored_word(buffer.element)}"
        return f"{head} {buffer.name}[] = {{{', '.join(values)}}};"

    def part(self, name: str, element: Attribute, source: Buffer, at: str) -> tuple[str, Buffer]:
        part = Buffer(name, element, 0, source.space, source.constant)
        place = source.name if at == "0" else f"{source.name} + {at}"
        cast = "" if element == source.element else f"({self.pointer(part)})"
        value = f"{cast}({place})" if cast else place
        return f"{self.pointer(part)}const {name} = {value};", part

    # Vectors

    def vector_word(self, element: Attribute, lanes: int) -> str | None:
        if lanes not in self.vector_sizes:
            return None
        return f"{self.stored_word(element)}{lanes}"

    def vector_pointer(self, buffer: Buffer, offset: str, lanes: int) -> str:
        """Return the address of neighbouring elements as that of one vector."""
        const = "const " if buffer.constant else ""
        word = self.vector_word(buffer.element, lanes)
        place = buffer.name if offset == "0" else f"({buffer.name} + {offset})"
        return f"({self.spaces[buffer.space]}{const}{word} *){place}"

    def moves(self, buffer: Buffer, lanes: int, *, aligned: bool) -> bool:
        return aligned

    def read_vector(self, buffer: Buffer, offset: str, lanes: int, *, aligned: bool) -> str:
        return f"*{self.vector_pointer(buffer, offset, lanes)}"

    def write_vector(
        self, buffer: Buffer, offset: str, lanes: int, value: str, *, aligned: bool
    ) -> str:
        return f"*{self.vector_pointer(buffer, offset, lanes)} = {value};"

    # The file

    @abstractmethod
    def preamble(self, text: str) -> str:
        """Return what comes before the functions that the text calls."""

    def head(self, title: str, text: str) -> str:
        def known(name: str) -> str | None:
            return definition(name, self.parts, self.own_helpers, self.word_of_kind)

        functions = "".join(f"{function}\n" for function in used(text, known))
        return f"/* {title} */\n{self.preamble(text + functions)}{functions}"

    @property
    def parts(self) -> Mapping[str, str]:
        """What stands for the parts in braces in the text of a helper."""
        return {"ushort": self.unsigned[16], "uint": self.unsigned[32], **self.functions}

    def word_of_kind(self, kind: str) -> str:
        """Return the word for what the end of a helper's name says, such as u8."""
        letter, bits = kind.rstrip("0123456789"), int(kind.lstrip("abcdefghijklmnopqrstuvwxyz"))
        if letter in ("i", "u"):
            table = self.integers if letter == "i" else self.unsigned
            return "bool" if bits == 1 else table[bits]
        return {"f64": "double"}.get(kind, "float")
