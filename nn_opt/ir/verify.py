"""Whole-module verification: xDSL's checks with places, unique symbols, dominance."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Block, ErasedSSAValue, Operation
from xdsl.traits import IsTerminator, NoTerminator, SymbolTable
from xdsl.utils.exceptions import VerifyException

from nn_opt.ir.branches import branch_problem
from nn_opt.ir.diagnostics import Complaints, Diagnostic, diagnose, diagnostics_of, note_at
from nn_opt.ir.dominance import dominance_problems
from nn_opt.ir.op_checks import OpChecks
from nn_opt.ir.walks import install

install()

# What a check raises that stumbles over what another one refuses.
_STUMBLES = (AttributeError, LookupError, TypeError, ValueError, AssertionError)


def verify(root: Operation) -> None:
    """Raise VerifyException, located and worded, for all that is wrong in `root`.

    >>> import nn_opt
    >>> module = nn_opt.parse("func.func private @f() -> ()\\n")
    >>> nn_opt.verify(module)
    >>> _ = module.body.block.add_op(module.body.block.first_op.clone())
    >>> nn_opt.verify(module)
    Traceback (most recent call last):
    xdsl.utils.exceptions.VerifyException: <text>:1:1: error: func.func: symbol @f is defined twice
    <text>:1:1: note: previous definition is here
    """
    problems = problems_of(root)
    if problems:
        raise VerifyException(Complaints(problems))


def problems_of(root: Operation) -> list[Diagnostic]:
    """Return what is wrong in `root`, in the order of its ops; a fault hides no other one."""
    checks = OpChecks()
    found = _Findings()
    for op in root.walk():
        problem = structural_problem(op)
        if problem is not None:
            found.add(op, diagnose(op, problem))
            if op.successor_uses:
                found.broken.add(id(op.parent_region()))
            continue
        if op.regions and op.has_trait(SymbolTable, value_if_unregistered=False):
            found.symbols(op)
        try:
            checks.run(op)
        except VerifyException as error:
            found.refused(op, error)
        except _STUMBLES as error:
            found.stumble = found.stumble or error
    for op, diagnostic in dominance_problems(root, found.broken):
        found.add(op, diagnostic)
    found.add_isolation()
    return found.in_order(root)


@dataclass
class _Findings:
    """Problems as they are found, each with its op; `broken` has ids of regions without a graph."""

    problems: list[tuple[Operation, Diagnostic]] = field(
        default_factory=list[tuple[Operation, Diagnostic]]
    )
    isolation: list[tuple[Operation, Diagnostic]] = field(
        default_factory=list[tuple[Operation, Diagnostic]]
    )
    broken: set[int] = field(default_factory=set[int])
    stumble: Exception | None = None

    def add(self, op: Operation, diagnostic: Diagnostic) -> None:
        self.problems.append((op, diagnostic))

    def refused(self, op: Operation, error: VerifyException) -> None:
        """Add what an op's own checks say; a message without a place gets the op's."""
        text = str(error)
        if text.startswith("Redefinition of symbol"):
            return  # which is said with both places
        if text.startswith("Operation using value defined out of its IsolatedFromAbove parent"):
            self.isolation.append((op, diagnose(op, text.partition(":")[0])))
            return
        if ": error: " not in text:
            self.add(op, diagnose(op, text))
            return
        for diagnostic in diagnostics_of(error):
            self.add(op, diagnostic)

    def add_isolation(self) -> None:
        """Add what xDSL says about isolated ops, where dominance has not said it of the uses."""
        if not any("comes from outside of" in found.message for _, found in self.problems):
            self.problems += self.isolation

    def symbols(self, table: Operation) -> None:
        """Refuse two symbols of one name, naming both places."""
        seen: dict[str, Operation] = {}
        for op in (op for region in table.regions for block in region.blocks for op in block.ops):
            name = op.get_attr_or_prop("sym_name")
            if not isinstance(name, StringAttr):
                continue
            first = seen.setdefault(name.data, op)
            if first is not op:
                problem = f"symbol @{name.data} is defined twice"
                notes = (note_at(first, "previous definition is here"),)
                self.add(op, diagnose(op, problem, notes=notes))

    def in_order(self, root: Operation) -> list[Diagnostic]:
        """Return the problems, those of outer and earlier ops first."""
        if not self.problems:
            if self.stumble is not None:
                raise self.stumble
            return []
        if len(self.problems) > 1:
            rank = {op: number for number, op in enumerate(root.walk())}
            self.problems.sort(key=lambda problem: rank[problem[0]])
        return [diagnostic for _, diagnostic in self.problems]


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
    return branch_problem(op)
