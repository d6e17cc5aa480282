"""Buffers of a thread that stand outside of thread loops: each thread keeps its own elements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from xdsl.dialects.builtin import AffineMapAttr
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap
from xdsl.utils.exceptions import PassFailedException

from nn_opt.dialects import loop
from nn_opt.ir.affine import Linear, Range, compact, flat_form, range_of
from nn_opt.ir.diagnostics import complaint
from nn_opt.ir.types import element_type, lanes_of, memory_space, memref_type, shape_of

Access = loop.LoadOp | loop.StoreOp


def make_private(alloc: loop.AllocOp) -> None:
    """Shrink a buffer in which thread loops index to what one thread touches of it.

    Raises: PassFailedException if a thread reads what another one writes.
    """
    uses = [use.operation for use in alloc.result.uses]
    accesses = [op for op in uses if isinstance(op, Access)]
    kinds = {kind for access in accesses for kind in _kinds(access, alloc)}
    if not kinds:
        return
    if len(accesses) < len(uses):
        _refuse(alloc, alloc, "is passed on whole")
    forms = [Places.of(access) for access in accesses]
    for kind in sorted(kinds, key=lambda kind: kind.value):
        extent = max(form.extent(kind) for form in forms)
        factors = {form.factor(kind) for form in forms}
        for form in forms:
            if not form.keep_own(kind, max(factors), extent):
                _refuse(alloc, form.access, f"is indexed along {kind.value} in several ways")
    size = max(form.end() for form in forms)
    _replace(alloc, forms, size)


def _kinds(access: Access, alloc: loop.AllocOp) -> set[loop.ForKind]:
    """Return the kinds of the thread loops inside a buffer's scope that index it."""
    nests = [_loop_of(index) for index in access.indices]
    return {
        nest.how
        for nest in nests
        if nest is not None and nest.how.is_thread and not _is_around(nest, alloc)
    }


def _loop_of(index: SSAValue) -> loop.ForOp | None:
    nest = index.block.parent_op() if isinstance(index, BlockArgument) else None
    return nest if isinstance(nest, loop.ForOp) else None


def _is_around(nest: loop.ForOp, op: Operation) -> bool:
    parent = op.parent_op()
    while parent is not None and parent is not nest:
        parent = parent.parent_op()
    return parent is nest


@dataclass
class Places:
    """Where an access is: a linear form over its indices, whose range is known."""

    access: Access
    form: Linear
    ranges: list[Range]

    @classmethod
    def of(cls, access: Access) -> Places:
        nests = [_loop_of(index) for index in access.indices]
        ranges = [(0, nest.trips - 1) if nest else (0, 1 << 40) for nest in nests]
        form = flat_form(access.map.data.results, shape_of(access.memref), ranges)
        return cls(access, form, ranges)

    def _of_kind(self, atom: AffineExpr, kind: loop.ForKind) -> bool:
        nests = [_loop_of(self.access.indices[k]) for k in atom.used_dims()]
        return any(nest is not None and nest.how is kind for nest in nests)

    def factor(self, kind: loop.ForKind) -> int:
        """Return how far an access moves from thread to thread."""
        return sum(f for atom, f in self.form.terms.items() if self._of_kind(atom, kind))

    def extent(self, kind: loop.ForKind) -> int:
        """Return how many threads there are."""
        atoms = [atom for atom in self.form.terms if self._of_kind(atom, kind)]
        return max((range_of(atom, self.ranges)[1] + 1 for atom in atoms), default=1)

    def keep_own(self, kind: loop.ForKind, factor: int, extent: int) -> bool:
        """Leave threads out: (factor * extent) * u + factor * thread + l  ->  factor * u + l."""
        mine = [atom for atom in self.form.terms if self._of_kind(atom, kind)]
        if len(mine) != 1 or not isinstance(mine[0], AffineDimExpr) or self.factor(kind) != factor:
            return False
        reach = factor * extent
        rest = {atom: f for atom, f in self.form.terms.items() if atom is not mine[0]}
        upper = {atom: f // reach for atom, f in rest.items() if f % reach == 0}
        lower = Linear({a: f for a, f in rest.items() if f % reach}, self.form.constant % reach)
        first, last = range_of(lower.expr(), self.ranges)
        lanes = (lanes_of(self.access.accessed) or 1) - 1
        if first < 0 or last + lanes * self.access.step >= factor:
            return False
        terms = {atom: f * factor for atom, f in upper.items()}
        whole = self.form.constant // reach * factor
        self.form = Linear({**terms, **lower.terms}, whole + lower.constant)
        return True

    def end(self) -> int:
        """Return the number of elements up to the last that is touched."""
        lanes = (lanes_of(self.access.accessed) or 1) - 1
        return range_of(self.form.expr(), self.ranges)[1] + lanes * self.access.step + 1


def _replace(alloc: loop.AllocOp, forms: Sequence[Places], size: int) -> None:
    """Put a buffer of one dimension in the place of an old one."""
    space = memory_space(alloc.result)
    type_ = memref_type([size], element_type(alloc.result), space)
    new = loop.AllocOp(alloc.buffer.data, type_)
    new.location = alloc.location
    new.result.name_hint = alloc.result.name_hint
    block = alloc.parent
    assert block is not None
    block.insert_op_before(new, alloc)
    for form in forms:
        access = form.access
        fixed = len(access.operands) - len(access.indices)
        values, exprs = compact([form.form.expr()], list(access.indices))
        access.map = AffineMapAttr(AffineMap(len(values), 0, tuple(exprs)))
        access.operands = [*access.operands[: fixed - 1], new.result, *values]
    alloc.detach()
    alloc.erase()


def _refuse(alloc: loop.AllocOp, op: Operation, what: str) -> NoReturn:
    space = memory_space(alloc.result)
    problem = f"buffer {alloc.buffer.data!r} in {space} memory, of one thread, {what}"
    hint = 'keep what threads read of each other in "shared"'
    raise PassFailedException(complaint(op, problem, hint=hint))
