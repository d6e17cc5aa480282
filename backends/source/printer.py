"""One function of the loop level as structured text.

A value that is read once becomes part of the expression that reads it, unless a store may come
between; everything else is named.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr
from xdsl.utils.exceptions import PassFailedException

from nn_opt.backends.source.indices import Indices, index_range
from nn_opt.backends.source.language import Language
from nn_opt.backends.source.names import Names
from nn_opt.dialects import loop
from nn_opt.ir.diagnostics import complaint
from nn_opt.ir.literals import scalar_value
from nn_opt.ir.types import element_type, shape_of

LONGEST = 80  # characters of an expression that is put into another one
INDENT = "  "
MOST_VARIABLES = 64  # in the place of one buffer
MEMORY = frozenset({"[]"})  # what an expression reads that reads any array
NOTHING = frozenset[str]()
SIMPLE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.")


Statement: TypeAlias = Callable[[Any, Any], None]
"""Prints an op, by a printer of functions."""


@dataclass
class Pending:
    """An expression that waits for its one reader."""

    text: str
    reads: frozenset[str]  # variables, and MEMORY


@dataclass
class FunctionPrinter:
    """The text of one function so far."""

    language: Language
    names: Names
    constant: Callable[[loop.ConstantOp], str]
    symbol: Callable[[str], str]
    statements: dict[type[Operation], Statement] = field(default_factory=lambda: dict(STATEMENTS))
    lines: list[str] = field(default_factory=list[str])
    words: dict[SSAValue, str] = field(default_factory=dict[SSAValue, str])
    variables: dict[SSAValue, str] = field(default_factory=dict[SSAValue, str])
    _pending: dict[SSAValue, Pending] = field(default_factory=dict[SSAValue, Pending])
    _depth: int = 1
    _last_test: tuple[str, int, int] = ("", 0, 0)  # its head and depth, and the lines up to its end

    def block(self, block: Block) -> None:
        """Print the ops of a block."""
        outer, self._pending = self._pending, {}
        for op in block.ops:
            statement = self.statements.get(type(op))
            if statement is not None:
                statement(self, op)
            else:
                self.value(op)
        assert not self._pending, "every reader is in the block"
        self._pending = outer

    def name(self, value: SSAValue, otherwise: str = "v") -> str:
        """Give a value a name."""
        word = self.names.fresh(value.name_hint, otherwise)
        self.words[value] = word
        return word

    def say(self, line: str) -> None:
        """Add a line."""
        self.lines.append(f"{INDENT * self._depth}{line}")

    def take(self, value: SSAValue) -> str:
        """Return what stands for a value; an expression is used up."""
        waiting = self._pending.pop(value, None)
        if waiting is None:
            return self.words[value]
        return waiting.text

    def take_tight(self, value: SSAValue) -> str:
        """Return what stands for a value, in parentheses unless it is one word or call."""
        return tight(self.take(value))

    def indices(self, values: Sequence[SSAValue]) -> Indices:
        """Return the means to write expressions over index values."""
        for value in values:
            if value in self._pending:  # an expression may name it more than once
                self.settle(value)
        names = [self.words[value] for value in values]
        return Indices(self.language, names, [index_range(value) for value in values])

    def keep(self, op: Operation, text: str, reads: frozenset[str] = NOTHING) -> None:
        """Let the one reader of an op's result have its text, else name it."""
        value = op.results[0]
        (use, *more) = [*value.uses, None]
        if use is None:
            return
        alone = more == [None] and use.operation.parent is op.parent
        self._pending[value] = Pending(text, reads)
        if not alone or len(text) > LONGEST:
            self.settle(value)

    def settle(self, value: SSAValue) -> None:
        """Name a value whose expression was waiting."""
        waiting = self._pending.pop(value)
        word = self.name(value)
        self.say(self.language.define(word, value.type, waiting.text))

    def before_a_write(self, places: frozenset[str] = MEMORY) -> None:
        """Name what was read from these variables, or from arrays, and has not found its reader."""
        for value in [v for v, waiting in self._pending.items() if waiting.reads & places]:
            self.settle(value)

    def reads(self, values: Sequence[SSAValue]) -> frozenset[str]:
        """Return what the expressions read that wait for these readers."""
        waiting = [self._pending[value].reads for value in values if value in self._pending]
        return NOTHING.union(*waiting)

    def place_of(self, buffer: SSAValue, offset: str) -> frozenset[str]:
        """Return what an access to an element reads or writes: a variable, or an array."""
        if buffer in self.variables:
            return frozenset({f"{self.variables[buffer]}{offset}"})
        return MEMORY

    def before_a_region(self) -> None:
        """Name all that waits: what comes may be far from here."""
        for value in list(self._pending):
            self.settle(value)

    def value(self, op: Operation) -> None:
        """Print an op without a statement: the language has an expression for it."""
        if len(op.results) != 1 or op.regions:
            raise PassFailedException(
                complaint(
                    op,
                    f"the {self.language.name} backend has no rule for it",
                    hint=self.language.hint(op),
                )
            )
        self.check_type(op, op.results[0].type)
        reads = self.reads(op.operands)
        operands = [self.take_tight(operand) for operand in op.operands]
        text = self.language.expression(op, operands)
        self.keep(op, text, reads)

    def check_type(self, op: Operation, type_: Attribute) -> None:
        if self.language.type_word(type_) is None:
            problem = f"the {self.language.name} backend has no type for {type_}"
            hint = self.language.hint_for_type(op, type_)
            raise PassFailedException(complaint(op, problem, hint=hint))

    def element(self, buffer: SSAValue, offset: str) -> str:
        """Return what stands for an element, to be read or assigned to."""
        if buffer in self.variables:
            return f"{self.variables[buffer]}{offset}"
        return f"{self.words[buffer]}[{offset}]"

    def make_variables(self, op: loop.AllocOp) -> bool:
        """Let a buffer be a variable for each element, if every access says which one it is."""
        accesses = [use.operation for use in op.result.uses]
        if self.elements(op.result) > MOST_VARIABLES or not all(map(_is_constant, accesses)):
            return False
        stem = self.names.fresh_stem(op.result.name_hint, op.buffer.data)
        self.variables[op.result] = stem
        type_ = element_type(op.result)
        used = sorted({_offset(access) for access in accesses})
        self.say(self.language.define_variables([f"{stem}{place}" for place in used], type_))
        return True

    def elements(self, buffer: SSAValue) -> int:
        """Return how many elements a buffer has."""
        return math.prod(shape_of(buffer))

    def guarded(self, condition: str, block: Block) -> None:
        """Print a block under a condition; right behind another one under it, the two are one.

        Nothing in between can have changed what the condition reads: indices have fixed names.
        """
        head = f"if ({condition})"
        if self._last_test == (head, self._depth, len(self.lines)):
            self.lines.pop()
        else:
            self.say(f"{head} {{")
        self._inner(block)
        self._last_test = (head, self._depth, len(self.lines))

    def region(self, head: str, block: Block) -> None:
        """Print a head, a block in braces, and nothing after it."""
        self.say(f"{head} {{")
        self._inner(block)

    def _inner(self, block: Block) -> None:
        self._depth += 1
        self.block(block)
        self._depth -= 1
        self.say("}")


def _is_constant(op: Operation) -> bool:
    """Return whether an op is a load or store of one element at a place without variables."""
    if not isinstance(op, loop.LoadOp | loop.StoreOp) or op.step != 1:
        return False
    return all(isinstance(expr, AffineConstantExpr) for expr in op.map.data.results)


def _offset(op: Operation) -> int:
    """Return the place of an access of which `_is_constant` holds."""
    assert isinstance(op, loop.LoadOp | loop.StoreOp)
    place = 0
    for size, expr in zip(shape_of(op.memref), op.map.data.results, strict=True):
        assert isinstance(expr, AffineConstantExpr)
        place = place * size + expr.value
    return place


def tight(text: str) -> str:
    """Return an expression, in parentheses unless it is one word or call."""
    return text if is_tight(text) else f"({text})"


def is_tight(text: str) -> bool:
    """Return whether an expression needs no parentheses: a word, a call, or in some already."""
    depth = 0
    for place, letter in enumerate(text):
        if letter in "([":
            depth += 1
        elif letter in ")]":
            depth -= 1
        elif depth == 0 and letter not in SIMPLE:
            return False
        if depth == 0 and letter == ")" and text[0] == "(" and place < len(text) - 1:
            return False  # (a)(b), or a cast
    return True


def _constant(p: FunctionPrinter, op: arith.ConstantOp) -> None:
    p.check_type(op, op.result.type)
    p.words[op.result] = p.language.literal(scalar_value(op.value), op.result.type)


def _apply(p: FunctionPrinter, op: loop.ApplyOp) -> None:
    text = p.indices(op.indices).text(op.map.data.results[0])
    p.keep(op, text)


def _load(p: FunctionPrinter, op: loop.LoadOp) -> None:
    p.check_type(op, op.result.type)
    indices = p.indices(op.indices)
    shape, results = shape_of(op.memref), op.map.data.results
    element = element_type(op.memref)
    offset = indices.offset(shape, results)
    text = p.element(op.memref, offset)
    if op.default is not None:
        default = p.language.literal(scalar_value(op.default), element)
        conditions = indices.inside(shape, results)
        if conditions is None:
            text = default
        elif conditions:
            text = p.language.choose(" && ".join(conditions), text, default)
    p.keep(op, text, p.place_of(op.memref, offset))


def _store(p: FunctionPrinter, op: loop.StoreOp) -> None:
    indices = p.indices(op.indices)
    value = p.take(op.value)
    offset = indices.offset(shape_of(op.memref), op.map.data.results)
    p.before_a_write(p.place_of(op.memref, offset))
    p.say(f"{p.element(op.memref, offset)} = {value};")


def _for(p: FunctionPrinter, op: loop.ForOp) -> None:
    p.before_a_region()
    index = p.name(op.body.block.args[0], "i")
    p.region(p.language.loop(index, op.extent.value.data), op.body.block)


def _if(p: FunctionPrinter, op: loop.IfOp) -> None:
    p.before_a_region()
    conditions = p.indices(op.indices).conditions(op.conditions.data.results)
    always = p.language.literal(conditions is not None, i1)
    text = " && ".join(conditions) if conditions else always
    p.guarded(text, op.body.block)


def _buffer_constant(p: FunctionPrinter, op: loop.ConstantOp) -> None:
    p.words[op.result] = p.constant(op)


def _call(p: FunctionPrinter, op: func.CallOp) -> None:
    arguments = [p.take(operand) for operand in op.arguments]
    p.before_a_write()
    name = p.symbol(op.callee.root_reference.data)
    p.say(f"{name}({', '.join(arguments)});")


def _return(p: FunctionPrinter, op: func.ReturnOp) -> None:
    assert not op.arguments, "at the loop level results are written to buffers"


STATEMENTS: dict[type[Operation], Statement] = {
    arith.ConstantOp: _constant,
    loop.ApplyOp: _apply,
    loop.LoadOp: _load,
    loop.StoreOp: _store,
    loop.ForOp: _for,
    loop.IfOp: _if,
    loop.ConstantOp: _buffer_constant,
    func.CallOp: _call,
    func.ReturnOp: _return,
}
