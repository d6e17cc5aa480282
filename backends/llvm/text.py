"""The text of one function in progress: names of values and blocks, and what it declares."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects import llvm
from xdsl.ir import Attribute, Block, Operation, SSAValue

from nn_opt.backends.llvm.debug import DebugInfo
from nn_opt.backends.llvm.words import constant, symbol, type_word
from nn_opt.dialects.llvm import PoisonOp

LITERALS: dict[type[Operation], str] = {
    llvm.UndefOp: "undef",
    llvm.ZeroOp: "zeroinitializer",
    PoisonOp: "poison",
}

Edge = tuple[str, list[SSAValue]]  # the label that control comes from, and what it brings


@dataclass
class Text:
    """Words for the values and blocks of a function; `declarations` is the module's."""

    declarations: dict[str, str]
    names: dict[int, str] = field(default_factory=dict[int, str])  # by a value's id: all are alive
    labels: dict[Block, str] = field(default_factory=dict[Block, str])
    order: dict[Block, int] = field(default_factory=dict[Block, int])
    debug: DebugInfo | None = None
    scope: str = ""  # the function's node in `debug`

    def number_blocks(self, blocks: Iterable[Block]) -> None:
        """Give each block its label and its rank."""
        for rank, block in enumerate(blocks):
            self.order[block] = rank
            self.labels[block] = f"b{rank}"

    def name(self, value: SSAValue) -> str:
        """Return a value's name, or its text if it is a constant."""
        known = self.names.get(id(value))
        if known is None:
            known = self.names[id(value)] = literal(value) or self._fresh(value)
        return known

    def _fresh(self, value: SSAValue) -> str:
        hint = value.name_hint
        return f"%{hint}.{len(self.names)}" if hint else f"%v{len(self.names)}"

    def typed(self, value: SSAValue) -> str:
        """Return `type name`."""
        return f"{type_word(value.type)} {self.name(value)}"

    def all_typed(self, values: Iterable[SSAValue]) -> str:
        """Return `type name, type name`."""
        return ", ".join([self.typed(value) for value in values])

    def define(self, op: Operation, text: str) -> str:
        """Return the line of an op with one result."""
        return f"  {self.name(op.results[0])} = {text}"

    def label(self, block: Block) -> str:
        """Return the label of a block, without `%`."""
        return self.labels[block]

    def is_backward(self, op: Operation, target: Block) -> bool:
        """Return whether a jump of `op` closes a loop; blocks are in order of dominance."""
        assert op.parent is not None
        return self.order[target] <= self.order[op.parent]


def literal(value: SSAValue) -> str | None:
    """Return the text of a value that LLVM writes in place, else None."""
    write = _IN_PLACE.get(type(value.owner))
    return None if write is None else write(value.owner, value.type)


def _zero(owner: llvm.ZeroOp, type_: Attribute) -> str:
    return "null" if isinstance(type_, llvm.LLVMPointerType) else LITERALS[llvm.ZeroOp]


_IN_PLACE: dict[type[Any], Callable[[Any, Attribute], str]] = {
    llvm.ConstantOp: lambda owner, type_: constant(owner.properties["value"], type_),
    llvm.AddressOfOp: lambda owner, type_: symbol(owner.global_name.string_value()),
    llvm.ZeroOp: _zero,
    llvm.UndefOp: lambda owner, type_: LITERALS[llvm.UndefOp],
    PoisonOp: lambda owner, type_: LITERALS[PoisonOp],
}


def edges(blocks: Iterable[Block], labels: dict[Block, str]) -> Iterator[tuple[Block, Edge]]:
    """Yield where each jump goes, from which label, and the values it brings."""
    for block in blocks:
        jump, here = block.last_op, labels[block]
        if isinstance(jump, llvm.BrOp):
            yield jump.successor, (here, list(jump.arguments))
        elif isinstance(jump, llvm.CondBrOp):
            yield jump.then_block, (then_label(jump, here), list(jump.then_arguments))
            yield jump.else_block, (here, list(jump.else_arguments))


def then_label(jump: llvm.CondBrOp, here: str) -> str:
    """Return where the taken edge comes from: a block of its own if both edges meet again."""
    return f"{here}.taken" if jump.then_block is jump.else_block else here
