"""What branches pass to blocks; xDSL's dialects `cf` and `llvm` leave it unchecked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from xdsl.ir import Block, Operation, SSAValue

Edge: TypeAlias = tuple[Block, Sequence[SSAValue]]


def branch_problem(op: Operation) -> str | None:
    """Return what is wrong with the values that a branch passes, in words."""
    edges = _EDGES.get(op.name)
    for block, values in edges(op) if edges else ():
        passed = [value.type for value in values]
        taken = [argument.type for argument in block.args]
        if passed != taken:
            return f"passes {_types(passed)} to a block that takes {_types(taken)}"
    return None


def _types(types: Sequence[object]) -> str:
    return f"({', '.join(map(str, types))})"


def _to_one(op: Any) -> Iterable[Edge]:
    return [(op.successor, op.arguments)]


def _to_either(op: Any) -> Iterable[Edge]:
    return [(op.then_block, op.then_arguments), (op.else_block, op.else_arguments)]


def _to_case(op: Any) -> Iterable[Edge]:
    return [
        (op.default_block, op.default_operands),
        *zip(op.case_blocks, op.case_operand, strict=False),  # the op checks their number
    ]


_EDGES: dict[str, Callable[[Any], Iterable[Edge]]] = {
    "cf.br": _to_one,
    "cf.cond_br": _to_either,
    "cf.switch": _to_case,
    "llvm.br": _to_one,
    "llvm.cond_br": _to_either,
}
