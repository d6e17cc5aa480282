"""What a language has to say: types, literals, declarations, and one rule for each op."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from xdsl.dialects.builtin import AnyFloat, IndexType, IntegerType
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import PassFailedException

from nn_opt.ir.diagnostics import complaint

Rule: TypeAlias = Callable[["Language", Any, Sequence[str]], str]
"""Returns an op as an expression of its operands, which are expressions that bind tightly."""


class Language(ABC):
    """The words of one language. A backend says; what runs and in which order is decided above."""

    name: str
    reserved: frozenset[str]
    rules: Mapping[type[Operation], Rule]
    flag: str  # of --emit
    first: str  # what to do before a module is printed

    def expression(self, op: Operation, operands: Sequence[str]) -> str:
        """Return the value of an op.

        Raises: PassFailedException for an op that the language has no rule for.
        """
        rule = self.rules.get(type(op))
        if rule is None:
            problem = f"the {self.name} backend has no rule for it"
            raise PassFailedException(complaint(op, problem, hint=self.hint(op)))
        return rule(self, op, operands)

    def hint(self, op: Operation) -> str:
        """Return what to do about an op without a rule."""
        return f"{self.first}; no vectors: leave out --vectorize-loops"

    def hint_for_type(self, op: Operation, type_: Attribute) -> str:
        """Return what to do about a type that the language lacks."""
        return self.hint(op)

    @abstractmethod
    def type_word(self, type_: Attribute) -> str | None:
        """Return the word for a scalar's type, or None if there is none."""

    @abstractmethod
    def literal(self, value: float, type_: Attribute) -> str:
        """Return a constant."""

    @abstractmethod
    def define(self, name: str, type_: Attribute, value: str) -> str:
        """Return the statement that names a value."""

    @abstractmethod
    def loop(self, index: str, trips: int) -> str:
        """Return the head of a loop from 0 on, up to its brace."""

    @abstractmethod
    def define_variables(self, names: Sequence[str], type_: Attribute) -> str:
        """Return the statement that makes variables, to be assigned to."""

    @abstractmethod
    def divide_index(self, value: str, divisor: int, *, is_natural: bool) -> str:
        """Return a quotient rounded downwards; natural numbers have no sign."""

    @abstractmethod
    def modulo_index(self, value: str, divisor: int, *, is_natural: bool) -> str:
        """Return the remainder of that, from 0 on."""

    def choose(self, condition: str, value: str, other: str) -> str:
        """Return one of two values."""
        return f"({condition} ? {value} : {other})"

    def unsigned_word(self, type_: Attribute, *, at_least: int = 8) -> str:
        """Return the word of an integer's unsigned counterpart, widened to so many bits."""
        return f"uint{max(width(type_), at_least)}_t"

    def function_name(self, name: str, type_: Attribute) -> str:
        """Return the name of a function of <math.h> for a type: those of float end in f."""
        return name if width(type_) == 64 else f"{name}f"

    def kind(self, type_: Attribute) -> str:
        """Return the end of the name of a function that the text defines for a type."""
        return "i64" if isinstance(type_, IndexType) else str(type_)


class ProgramLanguage(Language):
    """A language for whole programs, kernels and what calls them."""

    @abstractmethod
    def local_buffer(self, name: str, type_: Attribute, elements: int) -> str:
        """Return the statement that makes a small buffer, alive to the end of its block."""

    @abstractmethod
    def view(
        self,
        name: str,
        type_: Attribute,
        elements: int,
        source: str,
        source_type: Attribute,
        at: str,
    ) -> str:
        """Return the statement that names a part of a buffer; `at` counts elements of that."""

    @abstractmethod
    def copy(self, source: str, target: str, type_: Attribute, elements: int) -> str:
        """Return the statement that copies a whole buffer."""


def width(type_: Attribute) -> int:
    """Return the bits of a scalar type; an index has 64."""
    if isinstance(type_, IndexType):
        return 64
    return type_.bitwidth if isinstance(type_, IntegerType | AnyFloat) else 0
