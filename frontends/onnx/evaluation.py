"""Values of the function being built that are known at compile time, found by interpreting it."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray
from xdsl.ir import Block, Operation, SSAValue

from nn_opt.reference.graph import evaluate

Array = NDArray[Any]


class Evaluator:
    """Interprets what hangs on constants alone: on demand, and every op once."""

    def __init__(self, block: Block):
        self._block = block
        self._seen: Operation | None = None  # ops up to here are in `_static` if they belong there
        self._static: set[SSAValue] = set()
        self._arrays: dict[SSAValue, Array] = {}

    def array_of(self, value: SSAValue) -> Array | None:
        """Return the value's elements, None if they depend on an argument of the function."""
        self._look_at_new_ops()
        if value not in self._static:
            return None
        stack = [value]
        while stack:
            op = stack[-1].owner
            assert isinstance(op, Operation), "a block argument is never static"
            missing = [operand for operand in op.operands if operand not in self._arrays]
            if missing:
                stack += missing
            elif stack.pop() not in self._arrays:
                results = evaluate(op, [self._arrays[operand] for operand in op.operands])
                self._arrays.update(zip(op.results, results, strict=True))
        return self._arrays[value]

    def _look_at_new_ops(self) -> None:
        op = self._block.first_op if self._seen is None else self._seen.next_op
        while op is not None:
            if not op.regions and self._static.issuperset(op.operands):
                self._static.update(op.results)
            self._seen = op
            op = op.next_op
