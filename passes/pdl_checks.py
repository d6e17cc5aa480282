"""What a file of PDL patterns may not say, said before any of it runs."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects import pdl
from xdsl.ir import Operation, SSAValue

from nn_opt.ir.diagnostics import DiagnosticError, complaint
from nn_opt.passes.pdl_functions import CONSTRAINTS, REWRITES
from nn_opt.passes.pdl_match import definition, is_range, operations_of


def root_of(pattern: pdl.PatternOp) -> SSAValue:
    """Return the operation that a pattern is tried on first: as it says, or one nobody reads."""
    rewrite = pattern.body.block.last_op
    assert isinstance(rewrite, pdl.RewriteOp), "the verifier of pdl.pattern wants it"
    if rewrite.root is not None:
        return rewrite.root
    ops = operations_of(pattern)
    read = {value for op in ops for value in _parents(op)}
    return next((op.op for op in reversed(ops) if op.op not in read), ops[-1].op)


def _parents(op: pdl.OperationOp) -> set[SSAValue]:
    """Return the operations of the pattern whose results an operation reads."""
    owners = map(definition, op.operand_values)
    return {o.parent_ for o in owners if isinstance(o, pdl.ResultOp | pdl.ResultsOp)}


def require_supported(pattern: pdl.PatternOp, root: SSAValue) -> None:
    """Raise DiagnosticError at the first operation of a pattern that cannot be run."""
    for op in pattern.walk():
        problem, hint = _problem(op)
        if problem:
            raise DiagnosticError(complaint(op, problem, hint=hint))
    for op in operations_of(pattern):
        if op not in _connected(pattern, root):
            problem = "shares no value with the root of the pattern"
            raise DiagnosticError(complaint(op, problem, hint="matches are found along values"))


def _problem(op: Operation) -> tuple[str, str]:
    """Return what is wrong with an operation of a pattern, and a hint; nothing if all is well."""
    match op:
        case pdl.OperationOp() if isinstance(op.parent_op(), pdl.PatternOp):
            for what, values in (("operands", op.operand_values), ("results", op.type_values)):
                if sum(map(is_range, values)) > 1:
                    return (
                        f"not supported: two ranges of {what}",
                        "one range takes all that is left",
                    )
        case pdl.ResultsOp() if op.index is not None:
            hint = "pdl.result names one result, pdl.results without a number all of them"
            return "not supported: the number of a group of results", hint
        case pdl.ApplyNativeConstraintOp():
            if op.res:
                return "not supported: a condition with results", ""
            return _unknown_function(op.constraint_name.data, CONSTRAINTS, "pdl_constraint")
        case pdl.ApplyNativeRewriteOp():
            return _unknown_function(op.constraint_name.data, REWRITES, "pdl_rewrite")
        case pdl.RewriteOp() if op.name_ is not None:
            return _unknown_function(op.name_.data, REWRITES, "pdl_rewrite")
        case pdl.RewriteOp() if not op.body.blocks:
            return "has neither a body nor a function", ""
        case _:
            pass
    return "", ""


def _unknown_function(name: str, known: Iterable[str], decorator: str) -> tuple[str, str]:
    if name in known:
        return "", ""
    names = f"; there are {', '.join(known)}" if known else ""
    hint = f"@{decorator}({name!r}) of nn_opt.passes.pdl_functions makes one known{names}"
    return f"not supported: no Python function '{name}' is known", hint


def _connected(pattern: pdl.PatternOp, root: SSAValue) -> set[Operation]:
    """Return the operations that are found from the root along operands and readers."""
    reached: set[Operation] = set()
    values: set[SSAValue] = set()
    pending = [definition(root)]
    while pending:
        op = pending.pop()
        if op in reached or not isinstance(op, pdl.OperationOp):
            continue
        reached.add(op)
        values |= {op.op, *op.operand_values}
        pending += map(definition, _parents(op))
        pending += [o for o in operations_of(pattern) if values & {*o.operand_values, *_parents(o)}]
    return reached
