"""When each buffer of a function is in use, loops included."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.dialects import func
from xdsl.ir import Block, Operation, SSAValue

from nn_opt.dialects import loop


@dataclass
class Steps:
    """The order of a function's ops: a loop begins before its body and ends after it."""

    begin: dict[Operation, int] = field(default_factory=dict[Operation, int])
    end: dict[Operation, int] = field(default_factory=dict[Operation, int])
    count: int = 0

    @classmethod
    def of(cls, function: func.FuncOp) -> Steps:
        steps = cls()
        steps._number(function.body.block)
        return steps

    def _number(self, block: Block) -> None:
        for op in block.ops:
            self.begin[op] = self.count
            self.count += 1
            for region in op.regions:
                self._number(region.block)
                self.count += 1
            self.end[op] = self.count - 1


def uses_of(buffer: SSAValue) -> Iterator[Operation]:
    """Yield the ops that may read or write a buffer, itself or through views."""
    for use in buffer.uses:
        if isinstance(use.operation, loop.ViewOp):
            yield from uses_of(use.operation.result)
        else:
            yield use.operation


def lifetime(buffer: SSAValue, steps: Steps) -> tuple[int, int] | None:
    """Return the first and last step at which a buffer holds anything; None if it never does.

    A buffer made outside a loop and used inside may carry values from one iteration to the next,
    so it is in use throughout the loop.
    """
    home = buffer.owner.parent if isinstance(buffer.owner, Operation) else buffer.owner
    spans = [_span(op, home, steps) for op in uses_of(buffer)]
    if not spans:
        return None
    return min(first for first, _ in spans), max(last for _, last in spans)


def _span(op: Operation, home: Block | None, steps: Steps) -> tuple[int, int]:
    """Return the steps of an op, seen from the block that holds the buffer."""
    while op.parent is not home:
        outer = op.parent_op()
        assert outer is not None, "a use is inside the block of the definition"
        op = outer
    return steps.begin[op], steps.end[op]
