"""Whole-module verification: xDSL's checks with places, unique symbols, dominance."""

from __future__ import annotations

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Block, ErasedSSAValue, Operation
from xdsl.traits import IsTerminator, NoTerminator, SymbolTable
from xdsl.utils.exceptions import VerifyException

from nn_opt.ir.diagnostics import complaint, locate
from nn_opt.ir.dominance import verify_dominance
from nn_opt.ir.op_checks import OpChecks


def verify(root: Operation) -> None:
    """Raise VerifyException, located and worded, for the first thing that is wrong in `root`."""
    checks = OpChecks()
    for op in root.walk():
        problem = structural_problem(op)
        if problem is not None:
            raise VerifyException(complaint(op, problem))
        if op.regions and op.has_trait(SymbolTable, value_if_unregistered=False):
            _verify_symbols(op)
        _verify_op(op, checks)
    verify_dominance(root)


def _verify_op(op: Operation, checks: OpChecks) -> None:
    """Run the op's own checks; a message without a place gets the op's."""
    try:
        checks.run(op)
    except VerifyException as error:
        text = str(error)
        if ": error: " in text:
            raise
        raise VerifyException(complaint(op, text)) from error


def structural_problem(op: Operation) -> str | None:
    """Return what is wrong with how an op sits in its block, in words."""
    for operand in op._operands:  # pyright: ignore[reportPrivateUsage]  # op.operands is a new view
        if type(operand) is ErasedSSAValue:
            return "uses a value whose definition was erased"
    block = op.parent
    if op.successor_uses and (problem := _successor_problem(op, block)):
        return problem
    if block is not None and block.last_op is op and not op.has_trait(IsTerminator):
        parent = block.parent_op()
        if parent is not None and _needs_terminator(block, parent):
            return f"ends a block of {parent.name}, but is no terminator"
    for region in op.regions:
        for inner in region.blocks:
            if inner.last_op is None and _needs_terminator(inner, op):
                return "has an empty block, expected at least a terminator"
    return None


def _needs_terminator(block: Block, parent: Operation) -> bool:
    region = block.parent
    alone = region is None or region.blocks.first is region.blocks.last
    return not (alone and parent.has_trait(NoTerminator))


def _successor_problem(op: Operation, block: Block | None) -> str | None:
    if block is None:
        return "has successors, but is in no block"
    if block.last_op is not op:
        return "has successors, but does not end its block"
    if any(successor.parent is not block.parent for successor in op.successors):
        return "branches to a block of another region"
    return None


def _verify_symbols(table: Operation) -> None:
    """Refuse two symbols of one name, naming both places."""
    seen: dict[str, Operation] = {}
    for op in (op for region in table.regions for block in region.blocks for op in block.ops):
        name = op.get_attr_or_prop("sym_name")
        if not isinstance(name, StringAttr):
            continue
        first = seen.setdefault(name.data, op)
        if first is not op:
            problem = f"symbol @{name.data} is defined twice"
            raise VerifyException(complaint(op, problem, hint=f"first at {locate(first)}"))
