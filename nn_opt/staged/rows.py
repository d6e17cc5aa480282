"""Proves that a model computes each entry of a batch by itself, and the same way for two sizes.

Two modules at the tensor level, one for each size of the batch, are read side by side. All index
formulas must be the same, constants too; along the axis of the batch, every value must be read
exactly where it is computed. Then an entry has the same rows in a batch of either size.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr
from xdsl.traits import IsTerminator

from nn_opt.build import main_of
from nn_opt.conversion.graph_to_tensor import ConvertGraphToTensorPass
from nn_opt.dialects.tensor import ComputeOp, ConstantOp, ReadOp, ScanOp, ViewOp
from nn_opt.ir.parsing import make_context
from nn_opt.ir.resources import array_of
from nn_opt.ir.types import shape_of


class NotByRows(Exception):
    """Entries of the batch depend on each other, or on how many there are."""


@dataclass(frozen=True)
class Rows:
    """Where the batch is in a value: an axis, and how many places along it an entry has.

    The places are in one piece, or in `pieces` of the same size, with those of the other entries
    between: after times and entries became one axis, an entry has a place for each time.
    """

    axis: int
    each: int
    pieces: int = 1


def rows_of(
    modules: tuple[ModuleOp, ModuleOp], sizes: tuple[int, int], batched: Sequence[bool]
) -> list[int] | None:
    """Return how many rows of each result belong to an entry of the batch; None if it is unknown.

    modules: the graph for two sizes of the batch, which are consumed; batched: which inputs have
    the batch along their first axis.
    """
    for module in modules:
        ConvertGraphToTensorPass().apply(make_context(), module)
    blocks = [main_of(module).body.block for module in modules]
    reader = _Reader(sizes)
    try:
        for pair, is_batched in zip(
            zip(*(b.args for b in blocks), strict=True), batched, strict=True
        ):
            reader.define(pair, Rows(0, 1) if is_batched else None)
        results = reader.block(blocks[0], blocks[1])
        return [_leading(rows) for rows in results]
    except NotByRows:
        return None


def _leading(rows: Rows | None) -> int:
    if rows is None or rows.axis or rows.pieces > 1:
        raise NotByRows
    return rows.each


Pair = tuple[SSAValue, SSAValue]


@dataclass
class _Reader:
    """What is known of values so far; those of both modules are in step."""

    sizes: tuple[int, int]
    rows: dict[SSAValue, Rows | None] = field(default_factory=dict[SSAValue, "Rows | None"])
    twins: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])

    def define(self, pair: Pair, rows: Rows | None) -> None:
        """Note a value; its shapes must be as the batch says."""
        require(self.between(*map(_shape, pair)) == (rows and replace(rows, pieces=1)))
        self.note(pair, rows)

    def note(self, pair: Pair, rows: Rows | None) -> None:
        self.rows[pair[0]] = rows
        self.twins[pair[1]] = pair[0]

    def between(self, first: Sequence[int], second: Sequence[int]) -> Rows | None:
        """Return where two shapes differ, which must be by the sizes of the batch."""
        require(len(first) == len(second))
        axes = [k for k, (a, b) in enumerate(zip(first, second, strict=True)) if a != b]
        if not axes:
            return None
        require(len(axes) == 1)
        (axis,) = axes
        each, rest = divmod(first[axis], self.sizes[0])
        require(not rest and second[axis] == each * self.sizes[1])
        return Rows(axis, each)

    def block(self, first: Block, second: Block) -> list[Rows | None]:
        """Read two blocks; return the rows of what they return or yield."""
        pairs = list(_in_step(first, second))
        for one, two in pairs:
            self.operation(one, two)
        end = pairs[-1][0]
        return [self.rows[value] for value in end.operands]

    def operation(self, one: Operation, two: Operation) -> None:
        require(one.name == two.name and len(one.results) == len(two.results))
        require([self.twins.get(v) for v in two.operands] == list(one.operands))
        match one, two:
            case ComputeOp(), ComputeOp():
                self.compute(one, two)
            case ViewOp(), ViewOp():
                self.view(one, two)
            case ConstantOp(), ConstantOp():
                self.constant(one, two)
            case ScanOp(), ScanOp():
                self.scan(one, two)
            case _:
                self.other(one, two)

    def view(self, one: ViewOp, two: ViewOp) -> None:
        """In the order of elements, an entry keeps its pieces, and their size."""
        source, target = self.rows[one.source], self.between(_shape(one.result), _shape(two.result))
        require((source is None) == (target is None))
        if source is not None and target is not None:
            before, after = _shape(one.source)[: source.axis], _shape(one.result)[: target.axis]
            pieces, rest = divmod(math.prod(before) * source.pieces, math.prod(after))
            require(not rest and pieces > 0 and target.each % pieces == 0)
            target = replace(target, pieces=pieces)
        self.note((one.result, two.result), target)

    def constant(self, one: ConstantOp, two: ConstantOp) -> None:
        """The same numbers, for all entries or for each of them."""
        arrays = [array_of(op.value, op.result.type) for op in (one, two)]
        rows = self.between(arrays[0].shape, arrays[1].shape)
        if rows is None:
            a, b = arrays
            same = a.ctypes.data == b.ctypes.data or a.tobytes() == b.tobytes()
            require(a.dtype == b.dtype and same)
        else:
            require(len(set(self._entries(arrays, rows.axis))) == 1)
        self.note((one.result, two.result), rows)

    def _entries(self, arrays: Sequence[NDArray[Any]], axis: int) -> Iterator[bytes]:
        """Yield what each entry of each array has along an axis."""
        for array, size in zip(arrays, self.sizes, strict=True):
            entries = array.reshape(math.prod(array.shape[:axis]), size, -1)
            yield from (entries[:, k].tobytes() for k in range(size))

    def scan(self, one: ScanOp, two: ScanOp) -> None:
        """States keep their rows; time, the first axis, is not the batch's."""
        require(one.properties == two.properties)
        given = [self.rows[value] for value in one.inputs]
        inner = [_without_time(rows) if k >= one.states else rows for k, rows in enumerate(given)]
        arguments = zip(one.body.block.args, two.body.block.args, strict=True)
        for pair, rows in zip(arguments, inner, strict=True):
            self.define(pair, rows)
        yielded = self.block(one.body.block, two.body.block)
        require(yielded[: one.states] == inner[: one.states])
        for k, pair in enumerate(zip(one.outputs, two.outputs, strict=True)):
            rows = yielded[k]
            stacked = k >= one.states and rows is not None
            self.define(pair, replace(rows, axis=rows.axis + 1) if stacked and rows else rows)

    def other(self, one: Operation, two: Operation) -> None:
        """Anything else is the same if it does not see the batch."""
        if one.has_trait(IsTerminator):
            return
        require(all(self.rows.get(value) is None for value in one.operands) and not one.regions)
        require(one.properties == two.properties and one.attributes == two.attributes)
        for pair in zip(one.results, two.results, strict=True):
            self.define(pair, None)

    def compute(self, one: ComputeOp, two: ComputeOp) -> None:
        rows = self.between(one.axis_sizes, two.axis_sizes)
        require(rows is None or (rows.axis < one.rank and not one.stacked))
        for name in {*one.properties, *two.properties} - {"sizes"}:
            require(one.properties.get(name) == two.properties.get(name))
        batch = None if rows is None else one.axes[rows.axis]
        for pair in zip(one.axes, two.axes, strict=True):
            self.twins[pair[1]] = pair[0]
        place = _Place(batch, rows)
        self.region(one.body, two.body, place)
        if one.combine is not None and two.combine is not None:
            self.region(one.combine, two.combine, _Place(None, None))
        rows = rows and replace(rows, pieces=place.pieces or 1)
        for pair in zip(one.result, two.result, strict=True):
            self.define(pair, rows)

    def region(self, one: Region, two: Region, place: _Place) -> None:
        """Two bodies of formulas must be the same, and read the batch where it is computed."""
        require(len(one.blocks) == len(two.blocks) <= 1)
        for first, second in zip(one.blocks, two.blocks, strict=True):
            require([a.type for a in first.args] == [a.type for a in second.args])
            for pair in zip(first.args, second.args, strict=True):
                self.twins[pair[1]] = pair[0]
            for a, b in _in_step(first, second):
                self.formula(a, b, place)

    def formula(self, a: Operation, b: Operation, place: _Place) -> None:
        require(a.name == b.name and [r.type for r in a.results] == [r.type for r in b.results])
        if isinstance(a, ReadOp) and isinstance(b, ReadOp):
            self.read(a, b, place)
        else:
            require(a.properties == b.properties and a.attributes == b.attributes)
            require([self.twins.get(v) for v in b.operands] == list(a.operands))
            require(place.index not in a.operands)
            require(len(a.regions) == len(b.regions))
            for one, two in zip(a.regions, b.regions, strict=True):
                self.region(one, two, place)
        for pair in zip(a.results, b.results, strict=True):
            self.twins[pair[1]] = pair[0]

    def read(self, a: ReadOp, b: ReadOp, place: _Place) -> None:
        require(self.twins.get(b.source) == a.source and a.default == b.default)
        rows = self.rows[a.source]
        numbers: dict[SSAValue, int] = {}
        first = _indices(a, numbers, {})
        second = _indices(b, numbers, self.twins)
        batch = None if place.index is None else AffineDimExpr(numbers.get(place.index, -1))
        for axis, (one, two) in enumerate(zip(first, second, strict=True)):
            if rows is not None and axis == rows.axis:
                require(place.rows is not None and place.rows.each == rows.each)
                require(place.pieces in (None, rows.pieces))
                place.pieces = rows.pieces
                sizes = (rows.each * size for size in self.sizes)
                require(all(_is_at(e, batch, n) for e, n in zip((one, two), sizes, strict=True)))
            else:
                require(one == two and not (batch and batch.position in one.used_dims()))


@dataclass
class _Place:
    """The index along the batch of what a formula computes, if there is one.

    pieces: those of the entries that the formula has read, so of what it computes.
    """

    index: SSAValue | None
    rows: Rows | None
    pieces: int | None = None


def _is_at(expr: AffineExpr, batch: AffineExpr | None, size: int) -> bool:
    """Return whether an index is that of the batch; where it has one place, that is 0, too."""
    return expr == batch or (size == 1 and expr == AffineConstantExpr(0))


def _indices(
    read: ReadOp, numbers: dict[SSAValue, int], twins: dict[SSAValue, SSAValue]
) -> list[AffineExpr]:
    """Return the index of each axis, over one numbering of the values in it."""
    values = [twins.get(value, value) for value in read.indices]
    dims = [AffineDimExpr(numbers.setdefault(value, len(numbers))) for value in values]
    return [expr.replace_dims_and_symbols(dims, []) for expr in read.map.data.results]


def _in_step(first: Block, second: Block) -> list[tuple[Operation, Operation]]:
    one, two = list(first.ops), list(second.ops)
    require(len(one) == len(two))
    return list(zip(one, two, strict=True))


def _without_time(rows: Rows | None) -> Rows | None:
    require(rows is None or rows.axis > 0)
    return None if rows is None else replace(rows, axis=rows.axis - 1)


def _shape(value: SSAValue) -> tuple[int, ...]:
    return shape_of(value)


def require(holds: bool) -> None:
    """Raise NotByRows unless something holds."""
    if not holds:
        raise NotByRows
