"""Which loops of a nest touch different elements in every iteration, so that order is free."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineExpr

from nn_opt.dialects import loop
from nn_opt.ir.affine import Linear, Range, linear, range_of, simplify
from nn_opt.ir.types import element_type, memory_space, numpy_dtype, shape_of
from nn_opt.ir.vector_arith import lanes_of

UNKNOWN: Range = (-(1 << 62), 1 << 62)
THREADS = {f"gpu.{what}_id" for what in ("thread", "block", "global")}  # which thread runs a nest
MOST_TRIPS = 1 << 16  # up to here, indices are compared one by one


@dataclass(frozen=True)
class Access:
    """One load or store: the buffer, the indices over all dimensions, the loops around it."""

    memref: SSAValue
    indices: Sequence[AffineExpr]
    reach: Sequence[Range]  # what the lanes of a vector add to each index
    stores: bool
    loops: Sequence[loop.ForOp]


@dataclass
class Independence:
    """What a nest reads and writes; `free` are the loops that may run all at once.

    same: buffers that are another one of the same shape, under a second name.
    """

    root: Operation
    same: Mapping[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    depth: int = 0
    free: set[loop.ForOp] = field(default_factory=set[loop.ForOp])
    captured: list[SSAValue] = field(default_factory=list[SSAValue])
    stored: set[SSAValue] = field(default_factory=set[SSAValue])
    _accesses: list[Access] = field(default_factory=list[Access])
    _blocked: set[loop.ForOp] = field(default_factory=set[loop.ForOp])
    _homes: dict[SSAValue, Sequence[loop.ForOp]] = field(
        default_factory=dict[SSAValue, "Sequence[loop.ForOp]"]
    )
    _meanings: dict[SSAValue, AffineExpr] = field(default_factory=dict[SSAValue, AffineExpr])
    _owners: list[Operation | None] = field(default_factory=list[Operation | None])
    _ranges: list[Range] = field(default_factory=list[Range])

    def __post_init__(self) -> None:
        self._visit(self.root, ())
        self.captured = list(
            dict.fromkeys(a.memref for a in self._accesses if a.memref not in self._homes)
        )
        self.stored = {access.memref for access in self._accesses if access.stores}
        loops = [op for op in self.root.walk() if isinstance(op, loop.ForOp)]
        self.free = {nest for nest in loops if self._is_free(nest)}

    def _define(self, value: SSAValue, owner: Operation | None, range_: Range) -> AffineExpr:
        self._meanings[value] = AffineExpr.dimension(len(self._owners))
        self._owners.append(owner)
        self._ranges.append(range_)
        return self._meanings[value]

    def _resolve(self, expr: AffineExpr, values: Sequence[SSAValue]) -> AffineExpr:
        meanings = [
            self._meanings[v] if v in self._meanings else self._define(v, None, UNKNOWN)
            for v in values
        ]
        return simplify(expr.replace_dims_and_symbols(meanings, ()), self._ranges)

    def _visit(self, op: Operation, loops: tuple[loop.ForOp, ...]) -> None:
        match op:
            case loop.ForOp():
                self._define(op.index, op, (0, max(op.trips - 1, 0)))
                loops = (*loops, op)
                self.depth = max(self.depth, len(loops))
            case loop.BlockOp():
                bound = [self._resolve(e, op.indices) for e in op.bindings.data.results]
                for block in op.regions_of_work:
                    self._meanings.update(zip(block.args, bound, strict=True))
            case loop.LoadOp() | loop.StoreOp():
                self._record(op, loops)
            case loop.GatherOp():
                rank = len(shape_of(op.memref))
                anywhere = [self._resolve(AffineExpr.dimension(0), [op.result])] * rank
                memref = self.same.get(op.memref, op.memref)
                self._accesses.append(Access(memref, anywhere, [(0, 0)] * rank, False, loops))
            case loop.ApplyOp():
                self._meanings[op.result] = self._resolve(op.map.data.results[0], op.indices)
            case loop.AllocOp() | loop.ViewOp() | loop.ConstantOp():
                self._homes[op.result] = () if self._is_shared(op) else loops
            case _:
                self._visit_other(op, loops)
        for region in op.regions:
            for block in region.blocks:
                self._visit_block(block, loops)

    def _visit_other(self, op: Operation, loops: tuple[loop.ForOp, ...]) -> None:
        """What threads do together blocks loops, and so does what accesses a buffer somehow."""
        if op.name in THREADS:
            self._define(op.results[0], self.root, UNKNOWN)
            return
        memrefs = [value for value in op.operands if isinstance(value.type, MemRefType)]
        together = op.name.startswith("gpu.") and op is not self.root
        if together or memrefs:
            self._blocked.update(loops)
        for memref in memrefs if together else ():
            anywhere = [AffineExpr.constant(0)] * len(shape_of(memref))
            reach = [UNKNOWN] * len(anywhere)
            same = self.same.get(memref, memref)
            self._accesses.append(Access(same, anywhere, reach, True, loops))

    def _is_shared(self, op: Operation) -> bool:
        """Return whether a kernel has a buffer once for a block, whatever loops are around."""
        in_kernel = self.root.name == "gpu.func" and isinstance(op, loop.AllocOp)
        return in_kernel and memory_space(op.results[0]) == "shared"

    def _visit_block(self, block: Block, loops: tuple[loop.ForOp, ...]) -> None:
        for op in block.ops:
            self._visit(op, loops)

    def _record(self, op: loop.LoadOp | loop.StoreOp, loops: tuple[loop.ForOp, ...]) -> None:
        indices = [self._resolve(expr, op.indices) for expr in op.map.data.results]
        reach: list[Range] = [(0, 0)] * len(indices)
        if lanes_of(op.accessed) is not None:
            self._reach(op, reach)
        stores = isinstance(op, loop.StoreOp)
        memref = self.same.get(op.memref, op.memref)
        self._accesses.append(Access(memref, indices, reach, stores, loops))

    def _reach(self, op: loop.LoadOp | loop.StoreOp, reach: list[Range]) -> None:
        """Set what the lanes of a vector add to each index: anything, if they change rows."""
        shape, lanes = shape_of(op.memref), lanes_of(op.accessed) or 1
        moving = loop.lane_dimension(shape, op.step)
        span = 0 if moving is None else moving[1] * (lanes - 1)
        if moving is None or (moving[0] > 0 and abs(span) >= shape[moving[0]]):
            reach[:] = [UNKNOWN] * len(reach)
        else:
            reach[moving[0]] = (min(span, 0), max(span, 0))

    def _is_free(self, nest: loop.ForOp) -> bool:
        if nest in self._blocked:
            return False
        inside = [access for access in self._accesses if nest in access.loops]
        shared = [a for a in inside if not self._is_private(a.memref, nest)]
        roots = {_root(access.memref) for access in shared if access.stores}
        return all(
            self._is_separate(nest, [a for a in shared if _root(a.memref) is root])
            for root in roots
        )

    def _is_private(self, memref: SSAValue, nest: loop.ForOp) -> bool:
        """Return whether each iteration has a buffer of its own."""
        return nest in self._homes.get(_root(memref), ())

    def _is_separate(self, nest: loop.ForOp, accesses: Sequence[Access]) -> bool:
        """Return whether the accesses of two iterations to one buffer never meet."""
        written = list(dict.fromkeys(a.memref for a in accesses if a.stores))
        every = list(dict.fromkeys(access.memref for access in accesses))
        for memref in written:
            if any(not _are_apart(memref, other) for other in every if other is not memref):
                return False
            if nest in self._homes.get(memref, ()):  # a view that moves with the loop
                return False
            same = [access for access in accesses if access.memref is memref]
            if not self._differs(nest, same):
                return False
        return True

    def _differs(self, nest: loop.ForOp, accesses: Sequence[Access]) -> bool:
        own = self._owners.index(nest)
        rank = len(accesses[0].indices)
        if any(self._steps_over(own, nest, accesses, dim) for dim in range(rank)):
            return True
        return self._names_each(own, nest, accesses)

    def _steps_over(self, own: int, nest: loop.ForOp, accesses: Sequence[Access], dim: int) -> bool:
        """Return whether an index moves further in one iteration than all that is around it."""
        forms = [linear(access.indices[dim]) for access in accesses]
        factor = forms[0].coefficient(own)
        if not factor or any(form.coefficient(own) != factor for form in forms):
            return False
        outer = [self._outside(form, nest) for form in forms]
        if any(terms != outer[0] for terms in outer):
            return False
        lows: list[int] = []
        highs: list[int] = []
        for form, access in zip(forms, accesses, strict=True):
            rest = {
                atom: weight
                for atom, weight in form.terms.items()
                if atom != AffineExpr.dimension(own) and (atom, weight) not in outer[0]
            }
            if any(own in atom.used_dims() for atom in rest):
                return False
            low, high = range_of(Linear(rest, form.constant).expr(), self._ranges)
            lows.append(low + access.reach[dim][0])
            highs.append(high + access.reach[dim][1])
        return max(highs) - min(lows) < abs(factor)

    def _outside(self, form: Linear, nest: loop.ForOp) -> set[tuple[AffineExpr, int]]:
        """Return the terms that are the same in all iterations: of loops around this one."""
        around = {
            number
            for number, owner in enumerate(self._owners)
            if owner is not None and owner is not nest and nest in set(owner.walk())
        }
        return {(a, w) for a, w in form.terms.items() if a.used_dims() <= around}

    def _names_each(self, own: int, nest: loop.ForOp, accesses: Sequence[Access]) -> bool:
        """Return whether the indices that depend on this loop alone tell its iterations apart."""
        if nest.trips > MOST_TRIPS:
            return False
        exprs: list[AffineExpr] = []
        for dim, expr in enumerate(accesses[0].indices):
            alike = all(a.indices[dim] == expr and a.reach[dim] == (0, 0) for a in accesses)
            if alike and expr.used_dims() == {own}:
                exprs.append(expr)
        if not exprs:
            return False
        point = [0] * len(self._owners)
        seen: set[tuple[int, ...]] = set()
        for trip in range(nest.trips):
            point[own] = trip
            seen.add(tuple(expr.eval(point, ()) for expr in exprs))
        return len(seen) == nest.trips


def _root(memref: SSAValue) -> SSAValue:
    while isinstance(memref.owner, loop.ViewOp):
        memref = memref.owner.source
    return memref


def _are_apart(one: SSAValue, other: SSAValue) -> bool:
    """Return whether two parts of a buffer are known not to overlap."""
    first, second = _extent(one), _extent(other)
    if first is None or second is None:
        return False
    return first[1] <= second[0] or second[1] <= first[0]


def _extent(memref: SSAValue) -> tuple[int, int] | None:
    """Return the first byte and the end of a view with constant offsets; None for others."""
    size = numpy_dtype(element_type(memref)).itemsize
    for extent in shape_of(memref):
        size *= extent
    start = 0
    while isinstance(memref.owner, loop.ViewOp):
        view = memref.owner
        if not isinstance(view.start, AffineConstantExpr):
            return None
        start += view.start.value * numpy_dtype(element_type(view.source)).itemsize
        memref = view.source
    return start, start + size
