"""Whether a kernel accesses what is outside of a buffer, where that can be told."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import AffineMapAttr
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr

from nn_opt.dialects import gpu, loop
from nn_opt.ir.affine import flat_form, linear, range_of
from nn_opt.ir.diagnostics import Diagnostic, diagnose
from nn_opt.ir.types import is_static, lanes_of, shape_of
from nn_opt.passes.kernel_values import Points, Values

HINT = "test the index by loop.if, or give loop.load a value for outside: `or 0.0`"


@dataclass(frozen=True)
class Access:
    """Elements that an op accesses: the indices of the first, how many, how far apart."""

    op: Operation
    memref: SSAValue
    map: AffineMapAttr
    indices: Sequence[SSAValue]
    lanes: int | None = None
    step: int = 1


def accesses(op: Operation) -> list[Access]:
    """Return what must be inside of buffers."""
    match op:
        case loop.LoadOp() if op.default is not None:
            return []
        case loop.LoadOp() | loop.StoreOp():
            return [Access(op, op.memref, op.map, op.indices, lanes_of(op.accessed), op.step)]
        case gpu.AtomicOp():
            return [Access(op, op.memref, op.map, op.indices)]
        case gpu.AsyncCopyOp():
            return [
                Access(op, op.source, op.source_map, op.source_indices, op.elements),
                Access(op, op.target, op.target_map, op.target_indices, op.elements),
            ]
        case _:
            return []


@dataclass(frozen=True)
class Bounds:
    """Looks for accesses that some thread surely does outside of the buffer."""

    kernel: gpu.FuncOp
    values: Values

    def problems(self) -> Iterator[Diagnostic]:
        """Yield an error for each of them."""
        for op in self.kernel.walk():
            for access in accesses(op):
                if is_static(access.memref) and 0 not in shape_of(access.memref):
                    yield from self._refused(access)

    def _refused(self, access: Access) -> Iterator[Diagnostic]:
        exprs = [self.values.resolve(e, access.indices) for e in access.map.data.results]
        limits = self._limits(access, exprs)
        if all(self._inside(expr, low, high) for expr, low, high in limits):
            return
        found = self._outside(access, exprs, limits)
        if found is not None:
            where, point = found
            shape = list(shape_of(access.memref))
            problem = f"{where} reaches {point} in a buffer of {shape}"
            yield diagnose(access.op, problem, hint=HINT)

    def _limits(
        self, access: Access, exprs: Sequence[AffineExpr]
    ) -> list[tuple[AffineExpr, int, int]]:
        """Return what must lie in which bounds: each index, or a vector as a whole."""
        shape = shape_of(access.memref)
        if access.lanes is None:
            return [(expr, 0, size - 1) for expr, size in zip(exprs, shape, strict=True)]
        span = (access.lanes - 1) * access.step
        place = flat_form(exprs, shape, self.values.ranges).expr()
        return [(place, max(0, -span), math.prod(shape) - 1 - max(0, span))]

    def _inside(self, expr: AffineExpr, low: int, high: int) -> bool:
        first, last = range_of(expr, self.values.ranges)
        return low <= first and last <= high

    def _outside(
        self,
        access: Access,
        exprs: Sequence[AffineExpr],
        limits: Sequence[tuple[AffineExpr, int, int]],
    ) -> tuple[str, list[int]] | None:
        """Return a thread that surely gets outside, and the indices there."""
        guards = self.values.guards(access.op)
        if guards is None:
            return None
        tests = [guard.expr for guard in guards]
        points = self.values.points([*exprs, *tests])
        if points is None:
            return None if tests else self._extreme(exprs, limits)
        done: Any = np.True_
        for value in points.evaluate(tests):
            done = done & (value >= 0)
        places = points.evaluate([expr for expr, _, _ in limits])
        for place, (_, low, high) in zip(places, limits, strict=True):
            wrong = np.argwhere(done & ((place < low) | (place > high)))
            if len(wrong):
                where = tuple(int(k) for k in wrong[0])
                indices = [int(value[where]) for value in points.evaluate(exprs)]
                return self._named(points, where), indices
        return None

    def _extreme(
        self, exprs: Sequence[AffineExpr], limits: Sequence[tuple[AffineExpr, int, int]]
    ) -> tuple[str, list[int]] | None:
        """Return the largest indices of an access that is always done, if they are exact."""
        dims = {dim for expr in exprs for dim in expr.used_dims()}
        known = all(abs(self.values.ranges[dim][1]) < 1 << 32 for dim in dims)
        sums = all(isinstance(atom, AffineDimExpr) for e in exprs for atom in linear(e).terms)
        if not known or not sums:
            return None
        ranges = [range_of(expr, self.values.ranges) for expr in exprs]
        low = any(range_of(expr, self.values.ranges)[0] < first for expr, first, _ in limits)
        return "a thread", [first if low else last for first, last in ranges]

    def _named(self, points: Points, where: tuple[int, ...]) -> str:
        name = f"thread {points.thread(where[0])}"
        blocks = {dim: where[k + 1] for k, dim in enumerate(points.dims) if 3 <= dim < 6}
        if blocks:
            name += f" of block {tuple(blocks.get(dim, 0) for dim in (3, 4, 5))}"
        return name
