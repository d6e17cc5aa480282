"""Whether all threads that must meet at an op come to it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.ir import Operation

from nn_opt.dialects import gpu
from nn_opt.ir.diagnostics import Diagnostic, diagnose, note_at
from nn_opt.passes.kernel_values import Guard, Values

MEETINGS = (gpu.BarrierOp, gpu.AllReduceOp)


@dataclass(frozen=True)
class Divergence:
    """Looks for barriers, and what subgroups do together, under conditions that threads differ in.

    subgroup: the number of threads that run in step; 0 if that is not known.
    """

    kernel: gpu.FuncOp
    values: Values
    subgroup: int

    def problems(self) -> Iterator[Diagnostic]:
        """Yield an error for each op that some threads of a group come to, others do not."""
        for op in self.kernel.walk():
            if isinstance(op, MEETINGS):
                yield from self._refused(op, "block", self._threads)
            elif isinstance(op, gpu.TOGETHER) and self.subgroup:
                yield from self._refused(op, "subgroup", self.subgroup)

    @property
    def _threads(self) -> int:
        return math.prod(self.kernel.block or (1,))

    def _refused(self, op: Operation, group: str, size: int) -> Iterator[Diagnostic]:
        guard = self._divides(op, size)
        if guard is None:
            return
        problem = f"not all threads of a {group} come here, but they must meet"
        hint = "move it out of what depends on the thread"
        yield diagnose(op, problem, hint=hint, notes=self._why(guard))

    def _why(self, guard: Guard) -> tuple[Diagnostic, ...]:
        return (note_at(guard.op, "the condition here depends on the thread"),)

    def _divides(self, op: Operation, size: int) -> Guard | None:
        """Return a condition around an op that divides a group of threads, if any does."""
        guards = self.values.guards(op)
        own = [guard for guard in guards or () if self.values.by_thread(guard.expr)]
        if not guards or not own:
            return None
        exprs = [guard.expr for guard in guards]
        points = self.values.points(exprs)
        if points is None:
            return own[0]
        mask: Any = np.logical_and.reduce([value >= 0 for value in points.evaluate(exprs)])
        if len(mask) % size:
            return own[0]
        groups = mask.reshape(len(mask) // size, size, -1)
        return own[0] if np.any(groups.any(axis=1) & ~groups.all(axis=1)) else None
