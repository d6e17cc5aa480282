"""check-indices: constants that name no element are refused; what inputs may hold is noted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    i64,
)
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from nn_opt.dialects import graph
from nn_opt.ir.diagnostics import UNKNOWN_PLACE, complaint, locate
from nn_opt.ir.functions import main_function
from nn_opt.ir.recursion import unbounded
from nn_opt.ir.resources import Array
from nn_opt.ir.types import element_type, numpy_dtype, shape_of
from nn_opt.passes.constants import constant_array
from nn_opt.runtime.index_ranges import IndexRange

RANGES = "nn.index_ranges"  # of @main: what inputs may hold
MOST = 32  # inputs, or parts of them, that one value is joined of; further ones are not looked at

Bounds = tuple[tuple[int, int, int, int], ...]  # axis, start, stop and step of places
ALONG = graph.GatherOp | graph.GatherElementsOp | graph.ScatterElementsOp
POINTS = graph.GatherNDOp | graph.ScatterNDOp
MOVES = graph.ReshapeOp | graph.TransposeOp | graph.ExpandOp | graph.TileOp


class CheckIndicesPass(ModulePass):
    """Constant indices must name elements; of inputs that are indices, the range is noted.

    `nn.index_ranges` of @main says, for each input that is an index as it stands or
    only cast and moved about, which node takes it and for an axis of which size; the runtime
    refuses what is out of that range. Indices that the model computes are not looked at: code
    takes the nearest element.

    Needs: graph, sizes known. Keeps: graph. Order: after fold-constants, since indices may be
    computed from constants. Fails for a constant out of range, naming the node.
    """

    name = "check-indices"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        main = main_function(op)
        block = main.body.block if main else None
        search = Search(block)
        found: dict[tuple[int, Bounds], IndexRange] = {}
        for inner in op.walk():
            if isinstance(inner, ALONG | POINTS) and inner.results[0].uses:
                check_constants(inner)
                for range_ in search.ranges(inner) if inner.parent is block else ():
                    key = range_.input, range_.cuts
                    if key not in found or range_.size < found[key].size:
                        found[key] = range_  # it lies within that of the other
        if main:
            main.attributes.pop(RANGES, None)
        if main and found:
            main.attributes[RANGES] = ArrayAttr([*map(attribute_of, found.values())])


def ranges_of(module: ModuleOp) -> tuple[IndexRange, ...]:
    """Return what is noted of the inputs."""
    main = main_function(module)
    match main and main.attributes.get(RANGES):
        case ArrayAttr(data=entries):
            return tuple(_range(entry) for entry in entries if isinstance(entry, DictionaryAttr))
        case _:
            return ()


def attribute_of(known: IndexRange) -> DictionaryAttr:
    """Return a note of the form that `ranges_of` reads."""
    return DictionaryAttr(
        {
            "input": IntegerAttr(known.input, i64),
            "node": StringAttr(known.node),
            "size": IntegerAttr(known.size, i64),
            "cuts": DenseArrayBase.from_list(i64, [number for cut in known.cuts for number in cut]),
        }
    )


def _range(entry: DictionaryAttr) -> IndexRange:
    match entry.data:
        case {
            "input": IntegerAttr(value=number),
            "node": StringAttr(data=node),
            "size": IntegerAttr(value=size),
            "cuts": DenseArrayBase() as cuts,
        }:
            numbers: list[int] = np.frombuffer(cuts.data.data, np.int64).tolist()
            rows = zip(*[iter(numbers)] * 4, strict=True)
            return IndexRange(number.data, node, size.data, tuple(rows))
        case _:
            raise AssertionError("the module's note was written here")


def named_axes(op: ALONG | POINTS) -> list[int]:
    """Return the sizes of the axes that indices name a place on: one, or that of each column."""
    shape = shape_of(op.x)
    if isinstance(op, ALONG):
        return [shape[op.axis.value.data % len(shape)]]
    first = op.batch_dims.value.data if isinstance(op, graph.GatherNDOp) else 0
    return [*shape[first : first + shape_of(op.indices)[-1]]]


def check_constants(op: ALONG | POINTS) -> None:
    """Raise PassFailedException if constant indices name no element, or if there is none."""
    array, sizes = constant_array(op.indices), named_axes(op)
    if array is None:
        if 0 in sizes and 0 not in (*shape_of(op.indices), *shape_of(op.results[0])):
            raise PassFailedException(complaint(op, "indices name places on an axis of size 0"))
        return
    for column, size in enumerate(sizes):
        part = array if isinstance(op, ALONG) else array[..., column]
        if size >= 0 and (bad := first_outside(part, size)) is not None:
            raise PassFailedException(complaint(op, f"index {bad} is {out_of(size)}"))


def out_of(size: int) -> str:
    """Say which range an index is not in."""
    return f"out of range, expected {-size} to {size - 1}" if size else "for an axis of size 0"


def first_outside(array: Array, size: int) -> int | None:
    """Return the first index that names none of some elements from either end, if any."""
    if not array.size or (-size <= int(array.min()) and int(array.max()) < size):
        return None
    return int(array[(array < -size) | (array >= size)].reshape(-1)[0])


@dataclass(frozen=True)
class Cut:
    """Some places along an axis of an input: `size` of them from `start` on, `step` apart."""

    axis: int
    start: int
    size: int
    step: int

    def cut(self, start: int, size: int, step: int) -> Cut:
        """Return some of these places."""
        return Cut(self.axis, self.start + start * self.step, size, self.step * step)

    def bounds(self) -> tuple[int, int, int, int]:
        """Return axis, first place, end and step, which is positive."""
        last = self.start + (self.size - 1) * self.step
        return self.axis, min(self.start, last), max(self.start, last) + 1, abs(self.step)


@dataclass(frozen=True)
class Source:
    """Elements of an input.

    bits: which hold a number on its whole way, its sign included.
    is_in_place: whether axes of the value are those of the input.
    """

    number: int
    bits: int
    cuts: tuple[Cut, ...] = ()
    is_in_place: bool = True

    def cut(self, axis: int, start: int, size: int, step: int) -> Source:
        """Return those at some places along an axis."""
        known = {cut.axis: cut for cut in self.cuts}
        known[axis] = known.get(axis, Cut(axis, 0, 0, 1)).cut(start, size, step)
        return replace(self, cuts=tuple(known[axis] for axis in sorted(known)))

    def range(self, node: str, size: int) -> IndexRange:
        """Return what is noted if a node takes them as places on an axis of a size."""
        return IndexRange(self.number, node, size, tuple(cut.bounds() for cut in self.cuts))


class Search:
    """Finds the inputs that values are made of without arithmetic."""

    def __init__(self, main: Block | None) -> None:
        self._main = main
        self._known: dict[SSAValue, tuple[Source, ...]] = {}

    def ranges(self, op: ALONG | POINTS) -> Iterator[IndexRange]:
        """Yield what an op takes of inputs."""
        place = locate(op)
        node = op.name if place == UNKNOWN_PLACE else place
        last, sizes = len(shape_of(op.indices)) - 1, named_axes(op)
        for source in self.sources(op.indices):
            for column, size in enumerate(sizes):
                if size < 0 or size > 1 << (source.bits - 1):
                    continue
                if len(sizes) == 1:
                    yield source.range(node, size)
                elif source.is_in_place:
                    yield source.cut(last, column, 1, 1).range(node, size)

    @unbounded
    def sources(self, value: SSAValue) -> tuple[Source, ...]:
        """Return the inputs, or parts of them, whose elements a value has."""
        if value not in self._known:
            some = bits_of(value) and all(size > 0 for size in shape_of(value))
            found = self._sources(value) if some else ()
            self._known[value] = tuple(dict.fromkeys(found))[:MOST]
        return self._known[value]

    def _sources(self, value: SSAValue) -> Iterator[Source]:
        op = value.owner
        if not isinstance(op, Operation):
            if op is self._main:
                yield Source(op.args.index(value), bits_of(value))
        elif isinstance(op, graph.CastOp):
            bits = bits_of(value)
            yield from (replace(s, bits=min(s.bits, bits)) for s in self.sources(op.x))
        elif isinstance(op, MOVES):
            yield from (replace(s, is_in_place=False) for s in self.sources(op.x))
        elif isinstance(op, graph.ConcatOp):
            for operand in op.operands:
                yield from (replace(s, is_in_place=False) for s in self.sources(operand))
        elif isinstance(op, graph.SliceOp):
            yield from self._cut(op)
        elif isinstance(op, graph.GatherOp):
            yield from self._picked(op)

    def _cut(self, op: graph.SliceOp) -> Iterator[Source]:
        lists = (attr.get_values() for attr in (op.starts, op.sizes, op.steps))
        places = [*zip(*lists, shape_of(op.x), strict=True)]
        for source in self.sources(op.x):
            if not source.is_in_place:
                continue
            for axis, (start, size, step, whole) in enumerate(places):
                if size != whole or step < 0:
                    source = source.cut(axis, int(start), int(size), int(step))
            yield source

    def _picked(self, op: graph.GatherOp) -> Iterator[Source]:
        """Yield what one constant index along an axis, as a model writes x[:, 0], leaves."""
        index, shape = constant_array(op.indices), shape_of(op.x)
        axis = op.axis.value.data % len(shape)
        if index is None or index.size != 1 or shape[axis] < 1:
            return
        at = int(index.item()) % shape[axis]
        for source in self.sources(op.x):
            if source.is_in_place:
                yield replace(source.cut(axis, at, 1, 1), is_in_place=index.ndim == 1)


def bits_of(value: SSAValue) -> int:
    """Return the bits of a value's integers; 0 if it holds none that are whole bytes."""
    dtype = numpy_dtype(element_type(value))
    return 8 * dtype.itemsize if dtype.kind in "iu" else 0
