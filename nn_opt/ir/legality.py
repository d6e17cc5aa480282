"""What a conversion owes: nothing of the level it left is still there."""

from __future__ import annotations

from collections.abc import Collection

from xdsl.ir import Operation
from xdsl.utils.exceptions import PassFailedException

from nn_opt.ir.diagnostics import complaint


def require_absent(root: Operation, dialects: str | Collection[str], *, after: str) -> None:
    """Fail at the first op of `dialects` that the conversion `after` left behind."""
    gone = {dialects} if isinstance(dialects, str) else set(dialects)
    for op in root.walk():
        if op.name.partition(".")[0] in gone:
            home = after.removeprefix("convert-").replace("-", "_")
            problem = f"--{after} has no rule for this operation"
            hint = f"add one to conversion/{home}, or rewrite the op away before"
            raise PassFailedException(complaint(op, problem, hint=hint))
