"""What threads of a kernel load and store: elements of buffers, as functions of ids and loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects import arith
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineExpr

from nn_opt.dialects import gpu, loop
from nn_opt.ir.affine import Range, flat_form
from nn_opt.ir.types import element_type, lanes_of, memory_space, shape_of

SHARED_SPACES = ("shared", "global")  # what several threads see
Terms = tuple[AffineExpr, tuple[SSAValue, ...]]  # an expression over values


@dataclass(frozen=True, eq=False)
class Touch:
    """A load or store of a buffer that several threads see.

    place: the offset of the element, over values; None if only the run decides it.
    tests: what is >= 0 whenever the access is done.
    """

    op: Operation
    root: SSAValue
    writes: bool
    atomic: bool
    place: Terms | None
    lanes: int = 1
    step: int = 1
    tests: tuple[Terms, ...] = ()
    nests: tuple[loop.ForOp, ...] = ()

    @property
    def indices(self) -> frozenset[SSAValue]:
        """The variables of the loops around it."""
        return frozenset(nest.index for nest in self.nests)


@dataclass
class Reader:
    """Reads the touches of one kernel; `extents` are the numbers of values of ids and loops."""

    kernel: gpu.FuncOp
    extents: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    ids: dict[tuple[type[Operation], int], SSAValue] = field(
        default_factory=dict[tuple[type[Operation], int], SSAValue]
    )
    same: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])

    def actors(self, kind: type[gpu.ThreadIdOp | gpu.BlockIdOp]) -> list[SSAValue]:
        """Return the ids that tell threads, or blocks, apart, slowest first.

        A dimension that the kernel does not ask for has an id, too.
        """
        sizes = self.kernel.block if kind is gpu.ThreadIdOp else self.kernel.grid
        found: list[SSAValue] = []
        for axis, size in reversed(list(enumerate(sizes or ()))):
            if size > 1:
                found.append(self._id(kind(gpu.DIMENSIONS[axis])))
        return found

    def _id(self, op: gpu.ThreadIdOp | gpu.BlockIdOp) -> SSAValue:
        """Return the first id of its kind and dimension, which stands for all of them."""
        value = self.ids.setdefault((type(op), op.axis), op.result)
        self.same[op.result] = value
        self.extents[value] = self._size(op)
        return value

    def touches(self) -> dict[Operation, list[Touch]]:
        """Return what each op touches of the buffers that the kernel writes and others see."""
        found: dict[Operation, list[Touch]] = {}
        self._read(self.kernel.body.block, (), (), found)
        written = {t.root for touches in found.values() for t in touches if t.writes}
        kept = {op: [t for t in touches if t.root in written] for op, touches in found.items()}
        return {op: touches for op, touches in kept.items() if touches}

    def _read(
        self,
        block: Block,
        nests: tuple[loop.ForOp, ...],
        tests: tuple[Terms, ...],
        found: dict[Operation, list[Touch]],
    ) -> None:
        for op in block.ops:
            inner, more = nests, tests
            if isinstance(op, gpu.ThreadIdOp | gpu.BlockIdOp):
                self._id(op)
            elif isinstance(op, loop.ForOp):
                self.extents[op.index] = op.trips
                inner = (*nests, op)
            elif isinstance(op, loop.IfOp):
                conditions = op.conditions.data.results
                used = tuple(self.same.get(value, value) for value in op.indices)
                more = (*tests, *((expr, used) for expr in conditions))
            for region in op.regions:
                self._read(region.block, inner, more, found)
            if not op.regions and (touches := self._touches(op, inner, more)):
                found[op] = touches

    def _size(self, index: gpu.ThreadIdOp | gpu.BlockIdOp) -> int:
        sizes = self.kernel.block if isinstance(index, gpu.ThreadIdOp) else self.kernel.grid
        return sizes[index.axis] if sizes is not None else UNKNOWN

    def _touches(
        self, op: Operation, nests: tuple[loop.ForOp, ...], tests: tuple[Terms, ...]
    ) -> list[Touch]:
        """Return what an op without regions touches."""
        found: list[Touch] = []
        for buffer, writes, place in accesses(op):
            root, whole = self._rooted(buffer, place)
            if memory_space(root) in SHARED_SPACES:
                lanes, step = _lanes(op)
                atomic = isinstance(op, gpu.AtomicOp)
                found.append(Touch(op, root, writes, atomic, whole, lanes, step, tests, nests))
        return found

    def _rooted(
        self, buffer: SSAValue, place: Sequence[Terms] | None
    ) -> tuple[SSAValue, Terms | None]:
        """Return the buffer that a view is of, and the offset in it; None if it is not known."""
        flat = None if place is None else self._flat(place, shape_of(buffer))
        while isinstance(view := buffer.owner, loop.ViewOp):
            same = element_type(view.source) == element_type(buffer)
            start: Terms = (view.start, tuple(view.indices))
            flat = self._flat([start, flat], (1, 1)) if flat is not None and same else None
            buffer = view.source
        return buffer, flat

    def _flat(self, place: Sequence[Terms], shape: Sequence[int]) -> Terms | None:
        """Return the row-major offset of indices, over values that are ids or loop variables."""
        place = [(expr, tuple(self.same.get(v, v) for v in used)) for expr, used in place]
        values = list(dict.fromkeys(value for _, used in place for value in used))
        if any(value not in self.extents for value in values):
            return None
        numbers = {value: AffineExpr.dimension(k) for k, value in enumerate(values)}
        exprs = [
            expr.replace_dims_and_symbols([numbers[value] for value in used], ())
            for expr, used in place
        ]
        ranges: list[Range] = [(0, self.extents[value] - 1) for value in values]
        return flat_form(exprs, shape, ranges).expr(), tuple(values)


UNKNOWN = 1 << 30  # values of an id of a grid whose size is not said


def accesses(op: Operation) -> list[tuple[SSAValue, bool, list[Terms] | None]]:
    """Return the buffers that an op touches, whether it writes them, and where."""
    if isinstance(op, loop.LoadOp | loop.StoreOp | gpu.AtomicOp):
        place: list[Terms] = [(expr, tuple(op.indices)) for expr in op.map.data.results]
        return [(op.memref, not isinstance(op, loop.LoadOp), place)]
    if isinstance(op, gpu.AsyncCopyOp):
        source: list[Terms] = [
            (expr, tuple(op.source_indices)) for expr in op.source_map.data.results
        ]
        target: list[Terms] = [
            (expr, tuple(op.target_indices)) for expr in op.target_map.data.results
        ]
        return [(op.source, False, source), (op.target, True, target)]
    if isinstance(op, loop.GatherOp | gpu.MmaLoadOp):
        buffer = op.memref if isinstance(op, loop.GatherOp) else op.srcMemref
        return [(buffer, False, None)]
    if isinstance(op, gpu.MmaStoreOp):
        return [(op.dstMemref, True, None)]
    if isinstance(op, loop.CopyOp):
        return [(op.source, False, None), (op.target, True, None)]
    return []


def _lanes(op: Operation) -> tuple[int, int]:
    """Return how many elements are touched from a place on, and how far apart."""
    if isinstance(op, loop.LoadOp | loop.StoreOp):
        return lanes_of(op.accessed) or 1, op.step
    return (op.elements, 1) if isinstance(op, gpu.AsyncCopyOp) else (1, 1)


def is_uniform(value: SSAValue) -> bool:
    """Return whether a value is surely the same in all threads of a block, wherever all come."""
    owner = value.owner
    if isinstance(owner, Block):
        return isinstance(owner.parent_op(), loop.ForOp)
    if isinstance(owner, gpu.BlockIdOp | gpu.GridDimOp | gpu.BlockDimOp | arith.ConstantOp):
        return True
    return isinstance(owner, loop.ApplyOp) and all(map(is_uniform, owner.operands))
