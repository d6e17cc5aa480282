"""Relinking of readers, and erasure, with fewer steps than in xDSL, where all this could be.

`SSAValue.replace_all_uses_with` unlinks and links one use after the other and checks a name again;
`Operation.erase` makes a value that stands for each erased one, read or not.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue
from xdsl.ir.core import SSAValues
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint


def replace_uses(old: SSAValue, new: SSAValue) -> None:
    """Let all readers of a value read another one, which takes its name if it has none."""
    first = last = old.first_use
    if old is new:
        return
    if new._name is None:
        new._name = old._name
    if first is None or last is None:
        return
    use = first
    while use is not None:
        op = use._operation
        operands = list(op._operands)
        operands[use._index] = new
        op._operands = SSAValues(operands)
        last, use = use, use._next_use
    last._next_use = follower = new.first_use
    if follower is not None:
        follower._prev_use = last
    new.first_use = first
    old.first_use = None


def erase(op: Operation, safe: bool = True) -> None:
    """Take an op out of its block and unlink it; if that is to be safe, nobody may read it."""
    if op.parent is not None:
        op.parent.detach_op(op)
    if op.regions or op._successors:
        op.drop_all_references()
    else:
        for operand, use in zip(op._operands, op._operand_uses, strict=False):
            operand.remove_use(use)
        op._operand_uses = ()
    for result in op.results:
        if result.first_use is not None:
            result.erase(safe_erase=safe)


class QuickRewriter(PatternRewriter):
    """xDSL's rewriter for one op after another; where to insert is worked out if anybody asks."""

    _point: InsertPoint | None = None

    @property
    def insertion_point(self) -> InsertPoint:
        if self._point is None:
            assert self._current_operation is not None
            self._point = InsertPoint.before(self._current_operation)
        return self._point

    @insertion_point.setter
    def insertion_point(  # pyright: ignore[reportIncompatibleVariableOverride]  # of a field
        self, point: InsertPoint
    ) -> None:
        self._point = point

    def turn_to(self, op: Operation) -> None:
        """Forget the op before, and what was done to it."""
        self.has_done_action = False
        self._current_operation = op
        self._point = self._name_hint = None

    def erase(self, op: Operation, safe_erase: bool = True) -> None:
        self.has_done_action = True
        self.handle_operation_removal(op)
        erase(op, safe_erase)

    def replace_all_uses_with(
        self, from_value: SSAValue, to_value: SSAValue | None, safe_erase: bool = True
    ) -> None:
        if to_value is None:
            super().replace_all_uses_with(from_value, to_value, safe_erase)
            return
        use = from_value.first_use
        if from_value is to_value or (use is None and to_value._name is not None):
            return
        modified: list[Operation] = []
        while use is not None:
            modified.append(use._operation)
            use = use._next_use
        replace_uses(from_value, to_value)
        if modified:
            self.has_done_action = True
        for op in modified:
            self.handle_operation_modification(op)

    def replace(
        self,
        op: Operation,
        new_ops: Operation | Sequence[Operation],
        new_results: Sequence[SSAValue | None] | None = None,
        safe_erase: bool = True,
    ) -> None:
        if new_ops or new_results is None or len(op.results) != 1 or len(new_results) != 1:
            super().replace(op, new_ops, new_results, safe_erase)
            return
        (old,), (new,) = op.results, new_results
        self.has_done_action = True
        self.handle_operation_replacement(op, new_results)  # which tells of readers, too
        if new is None:
            old.erase(safe_erase=safe_erase)
        else:
            replace_uses(old, new)
        self.erase(op, safe_erase)
