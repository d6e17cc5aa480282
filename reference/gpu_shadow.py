"""Who touched each element of a buffer last: tells when two threads may come in either order.

A barrier orders all that a block's threads did before it and after it; nothing orders blocks.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Operation

Numbers = NDArray[np.int64]
NOBODY = -1
SEVERAL = -2  # threads of one block, or of one subgroup of accesses
BLOCKS = -3  # threads of several blocks


class Kind(Enum):
    """What is done to an element."""

    READ = "reads"
    WRITE = "writes"
    ATOMIC = "changes by an atomic"
    COPY = "copies to, asynchronously"


@dataclass(frozen=True)
class Touch:
    """Elements that threads touch at once: for each its cell, the thread and its last barrier.

    threads: their numbers in the grid; a block has `block` of them.
    """

    op: Operation
    cells: Numbers
    threads: Numbers
    epochs: Numbers
    values: NDArray[Any] | None = None  # what is written, if that is known


@dataclass(frozen=True)
class Conflict:
    """An element touched by two threads that nothing orders; `lane` is its place in the touch."""

    lane: int
    kind: Kind
    thread: int  # the other one, or SEVERAL, or BLOCKS
    op: Operation
    between_blocks: bool = False


@dataclass
class Record:
    """The last touches of one kind: thread, block, count of barriers, op."""

    kind: Kind
    thread: Numbers
    block: Numbers
    epoch: Numbers
    op: Numbers

    @staticmethod
    def of(kind: Kind, size: int) -> Record:
        """Return a record of elements that nobody touched."""
        return Record(kind, *(np.full(size, NOBODY, np.int64) for _ in range(4)))


@dataclass
class Shadow:
    """The records of a buffer's elements, or of parts of them: its cells.

    unit: the bytes of a cell.
    block: the number of threads of a block.
    written: which cells have a value; None where all have.
    """

    size: int
    unit: int
    block: int
    written: NDArray[np.bool_] | None = None
    ops: list[Operation] = field(default_factory=list[Operation])
    records: dict[Kind, Record] = field(default_factory=dict[Kind, Record])
    flying: Numbers | None = None  # asynchronous copies that nobody has waited for, by op

    def unwritten(self, cells: Numbers) -> int | None:
        """Return the first of the cells that has no value yet."""
        if self.written is None:
            return None
        missing = np.flatnonzero(~self.written[cells])
        return int(missing[0]) if missing.size else None

    def touch(self, kind: Kind, touch: Touch) -> Conflict | None:
        """Record accesses; return one that another thread's access may come before or after."""
        found = self._in_flight(touch)
        if found is not None:
            return found
        against = [Kind.WRITE, Kind.ATOMIC, Kind.READ]
        if kind is Kind.READ:
            against.remove(Kind.READ)
        if kind is Kind.ATOMIC:
            against.remove(Kind.ATOMIC)
        for other in against:
            found = self._conflict(other, touch)
            if found is not None:
                return found
        found = self._add(kind, touch)
        if self.written is not None and kind is not Kind.READ:
            self.written[touch.cells] = True
        return found

    def forget_values(self) -> None:
        """Let no element have a value: the buffer is allocated anew, in the same place."""
        if self.written is not None:
            self.written[:] = False

    def fly(self, touch: Touch) -> Conflict | None:
        """Record the start of copies into cells, which nobody may touch until they are waited for.

        A copy is a write of the thread that begins it, and so is its end.
        """
        found = self.touch(Kind.WRITE, touch)
        if self.flying is None:
            self.flying = np.full(self.size, NOBODY, np.int64)
        self.flying[touch.cells] = self._number(touch.op)
        return found

    def land(self, touch: Touch) -> None:
        """Record the end of copies: their thread wrote the cells just now."""
        assert self.flying is not None, "copies end after they began"
        self.flying[touch.cells] = NOBODY
        self._add(Kind.WRITE, touch)

    def _in_flight(self, touch: Touch) -> Conflict | None:
        if self.flying is None:
            return None
        ops = self.flying[touch.cells]
        lanes = np.flatnonzero(ops != NOBODY)
        if not lanes.size:
            return None
        lane = int(lanes[0])
        return Conflict(lane, Kind.COPY, int(touch.threads[lane]), self.ops[int(ops[lane])])

    def _conflict(self, kind: Kind, touch: Touch) -> Conflict | None:
        """Return a touch whose cell another thread touched, where no barrier lies between."""
        record = self.records.get(kind)
        if record is None:
            return None
        threads = record.thread[touch.cells]
        blocks = record.block[touch.cells]
        elsewhere = blocks != touch.threads // self.block
        unordered = elsewhere | (record.epoch[touch.cells] == touch.epochs)
        lanes = np.flatnonzero((threads != NOBODY) & (threads != touch.threads) & unordered)
        if not lanes.size:
            return None
        lane = int(lanes[0])
        op = self.ops[record.op[touch.cells[lane]]]
        return Conflict(lane, kind, int(threads[lane]), op, bool(elsewhere[lane]))

    def _add(self, kind: Kind, touch: Touch) -> Conflict | None:
        """Record a touch; return two threads of it that write different values to one cell."""
        if kind not in self.records:
            self.records[kind] = Record.of(kind, self.size)
        record, cells = self.records[kind], touch.cells
        blocks = touch.threads // self.block
        before = record.thread[cells], record.block[cells], record.epoch[cells]
        record.thread[cells] = touch.threads
        record.block[cells] = blocks
        other = record.thread[cells] != touch.threads
        foreign = record.block[cells] != blocks
        lane = self._clash(touch, other) if kind is Kind.WRITE and other.any() else None
        if lane is not None:
            thread = int(record.thread[cells[lane]])
            return Conflict(lane, kind, thread, touch.op, bool(foreign[lane]))
        same_time = (before[2] == touch.epochs) & (before[1] == blocks)
        other |= same_time & (before[0] != touch.threads) & (before[0] != NOBODY)
        foreign |= (before[1] != blocks) & (before[1] != NOBODY)
        record.thread[cells[other]] = SEVERAL
        record.thread[cells[foreign]] = BLOCKS
        record.block[cells[foreign]] = BLOCKS
        record.epoch[cells] = touch.epochs
        record.op[cells] = self._number(touch.op)
        return None

    def _clash(self, touch: Touch, others: NDArray[np.bool_]) -> int | None:
        """Return a lane that writes another value to its cell than the last one that writes it."""
        if touch.values is None:
            return int(np.flatnonzero(others)[0])
        last = np.empty(self.size, np.int64)
        last[touch.cells] = np.arange(len(touch.cells))
        values, kept = touch.values, touch.values[last[touch.cells]]
        differ = others & (values != kept) & ~((values != values) & (kept != kept))
        lanes = np.flatnonzero(differ)
        return int(lanes[0]) if lanes.size else None

    def _number(self, op: Operation) -> int:
        if op not in self.ops:
            self.ops.append(op)
        return self.ops.index(op)
