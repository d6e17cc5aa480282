"""Buffers that live for a while, and where each lies so that no two of them meet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, ModuleOp, StringAttr, i64
from xdsl.ir import Attribute
from xdsl.utils.hints import isa

ALIGNMENT = 64  # bytes: a cache line, and the widest vector
ATTRIBUTE = "nn.arena_plan"


def aligned(size: int) -> int:
    """Return a size rounded up to whole cache lines."""
    return -(-size // ALIGNMENT) * ALIGNMENT


@dataclass(frozen=True)
class Interval:
    """A buffer of `size` bytes that is in use from step `first` to step `last`, both included."""

    name: str
    size: int
    first: int
    last: int

    def meets(self, other: Interval) -> bool:
        """Return whether both are in use at the same step."""
        return self.first <= other.last and other.first <= self.last


@dataclass(frozen=True)
class Row:
    """One buffer of a plan: bytes [offset, offset + size) during steps first .. last."""

    buffer: str
    offset: int
    size: int
    first: int
    last: int


@dataclass(frozen=True)
class Plan:
    """Where every buffer of the arena lies, in the order in which they come into use."""

    rows: tuple[Row, ...]
    lower_bound: int  # bytes in use at the busiest step
    unit: int = ALIGNMENT  # bytes that each buffer takes a multiple of

    @property
    def size(self) -> int:
        """The bytes of the arena."""
        unit = self.unit
        return max([row.offset + -(-row.size // unit) * unit for row in self.rows], default=0)

    def attribute(self) -> Attribute:
        """Return the plan as an attribute."""
        return ArrayAttr(
            [
                DictionaryAttr(
                    {
                        "buffer": StringAttr(row.buffer),
                        **{key: IntegerAttr(getattr(row, key), i64) for key in NUMBERS},
                    }
                )
                for row in self.rows
            ]
        )


NUMBERS = ("offset", "size", "first", "last")


def plan_of(module: ModuleOp) -> Plan:
    """Return the plan that --plan-memory left in a module; empty if there is none."""
    given = module.attributes.get(ATTRIBUTE)
    rows: list[Row] = []
    for item in given.data if isa(given, ArrayAttr[DictionaryAttr]) else ():
        name = item.data["buffer"]
        assert isinstance(name, StringAttr)
        offset, size, first, last = (_number(item.data[key]) for key in NUMBERS)
        rows.append(Row(name.data, offset, size, first, last))
    bound = module.attributes.get("nn.arena_lower_bound")
    return Plan(tuple(rows), _number(bound) if bound is not None else 0)


def _number(attribute: Attribute) -> int:
    assert isinstance(attribute, IntegerAttr)
    return attribute.value.data


ATTEMPTS = 8  # of each order
ORDERS: tuple[Callable[[Interval], tuple[int, ...]], ...] = (
    lambda it: (-it.size, it.first),
    lambda it: (-it.size * (it.last - it.first + 1), it.first),
    lambda it: (it.first, -it.size),
    lambda it: (it.first - it.last, -it.size),
)


def place(intervals: Sequence[Interval]) -> list[int]:
    """Return an offset for each buffer: the best of several orders of best fit."""
    bound = lower_bound(intervals)
    best: list[int] = []
    smallest = -1
    for order in ORDERS:
        for offsets in _attempts(intervals, order):
            size = arena_size(intervals, offsets)
            if smallest < 0 or size < smallest:
                best, smallest = offsets, size
            if smallest == bound:
                return best
    return best


def _attempts(
    intervals: Sequence[Interval], key: Callable[[Interval], tuple[int, ...]]
) -> Iterator[list[int]]:
    """Yield the best fit in an order, then in those where what ends last is placed first."""
    order = sorted(range(len(intervals)), key=lambda k: key(intervals[k]))
    for _ in range(ATTEMPTS):
        offsets = best_fit(intervals, order)
        yield offsets
        size = arena_size(intervals, offsets)
        highest = {k for k in order if offsets[k] + aligned(intervals[k].size) == size}
        order = [*(k for k in order if k in highest), *(k for k in order if k not in highest)]


def best_fit(intervals: Sequence[Interval], order: Iterable[int]) -> list[int]:
    """Place buffers one after the other, each into the tightest gap that holds it."""
    offsets = [-1] * len(intervals)
    for k in order:
        mine = intervals[k]
        taken = sorted(
            (offsets[j], offsets[j] + aligned(other.size))
            for j, other in enumerate(intervals)
            if offsets[j] >= 0 and other.size and mine.meets(other)
        )
        offsets[k] = _tightest_gap(taken, aligned(mine.size))
    return offsets


def _tightest_gap(taken: Sequence[tuple[int, int]], size: int) -> int:
    """Return where the smallest gap between taken ranges begins that holds `size` bytes."""
    end, best, slack = 0, -1, -1
    for start, stop in taken:
        gap = start - end
        if gap >= size and (best < 0 or gap - size < slack):
            best, slack = end, gap - size
        end = max(end, stop)
    return end if best < 0 else best


def arena_size(intervals: Sequence[Interval], offsets: Sequence[int]) -> int:
    """Return the bytes that a placement takes."""
    ends = [offset + aligned(it.size) for it, offset in zip(intervals, offsets, strict=True)]
    return max(ends, default=0)


def lower_bound(intervals: Sequence[Interval]) -> int:
    """Return the bytes in use at the busiest step: no placement needs less."""
    changes: dict[int, int] = {}
    for it in intervals:
        changes[it.first] = changes.get(it.first, 0) + aligned(it.size)
        changes[it.last + 1] = changes.get(it.last + 1, 0) - aligned(it.size)
    peak = used = 0
    for step in sorted(changes):
        used += changes[step]
        peak = max(peak, used)
    return peak
