"""What a conversion may ask for, and what it owes: nothing of its level is left."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.utils.exceptions import PassFailedException

from nn_opt.ir.diagnostics import Complaints, Diagnostic, diagnose, note_at

_MOST_PLACES = 3  # of further ops of one name


def require_absent(
    root: Operation,
    dialects: str | Collection[str],
    *,
    after: str,
    hints: Mapping[str, str] | None = None,
) -> None:
    """Fail if the conversion `after` left ops of `dialects` behind: one error a kind of op.

    hints: what to do about ops of a name.
    """
    gone = {dialects} if isinstance(dialects, str) else set(dialects)
    left: dict[str, list[Operation]] = {}
    for op in root.walk():
        if op.name.partition(".")[0] in gone:
            left.setdefault(op.name, []).append(op)
    if left:
        known = hints or {}
        raise PassFailedException(
            Complaints(_unconverted(ops, after, known.get(name)) for name, ops in left.items())
        )


def require_one_block(module: Operation, step: str) -> None:
    """Fail if a function of a module branches between blocks, which `step` cannot follow."""
    branching = [op for op in module.walk() if isinstance(op, FuncOp) and len(op.body.blocks) > 1]
    if branching:
        hint = "say control flow by structured operations, or outside of this function"
        raise PassFailedException(
            Complaints(
                diagnose(op, f"has {len(op.body.blocks)} blocks, --{step} takes one", hint=hint)
                for op in branching
            )
        )


def _unconverted(ops: Sequence[Operation], after: str, hint: str | None) -> Diagnostic:
    first, *others = ops
    home = after.removeprefix("convert-").replace("-", "_")
    hint = hint or f"add one to conversion/{home}, or rewrite the op away before"
    notes = [note_at(op, f"nor for this {op.name}") for op in others[:_MOST_PLACES]]
    if len(others) > _MOST_PLACES:
        notes.append(Diagnostic("note", "", f"{len(ops)} of {first.name} are left in all"))
    problem = f"--{after} has no rule for this operation"
    return diagnose(first, problem, hint=hint, notes=tuple(notes))
