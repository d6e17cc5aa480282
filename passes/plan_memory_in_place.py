"""Which results of a kernel may overwrite which of its inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.ir.affine import AffineDimExpr

from nn_opt.dialects import loop
from nn_opt.ir.affine import linear
from nn_opt.ir.types import element_type, lanes_of, shape_of

Pair = tuple[int, int]  # positions of the input and the result among a kernel's arguments


def pairs_in_place(kernel: func.FuncOp) -> list[Pair]:
    """Return (input, result) where each input element is read only to write its own place."""
    counts = [kernel.attributes.get(name) for name in ("num_outputs", "num_scratch")]
    outputs, scratch = (c.value.data if isinstance(c, IntegerAttr) else 0 for c in counts)
    arguments = list(kernel.body.block.args)
    last = len(arguments) - scratch
    first = last - outputs
    return [
        (source, result)
        for result in range(first, last)
        for source in range(first)
        if overwrites_itself(arguments[source], arguments[result])
    ]


def overwrites_itself(source: SSAValue, result: SSAValue) -> bool:
    """Return whether result[e] is written where, and after, source[e] is read, and nowhere else."""
    if element_type(source) != element_type(result) or _size(source) != _size(result):
        return False
    reads = [Touch.of(use.operation) for use in source.uses]
    writes = [Touch.of(use.operation) for use in result.uses]
    if not reads or not writes or None in reads or None in writes:
        return False
    nests: dict[Block, set[tuple[object, ...]]] = {}
    for touch in (*reads, *writes):
        assert touch is not None
        nests.setdefault(touch.block, set()).add(touch.place)
    ordered = all(_reads_come_first(block, source, result) for block in nests)
    if not ordered or any(len(places) != 1 for places in nests.values()):
        return False
    touches = {touch.block: touch for touch in writes if touch is not None}
    if set(touches) != set(nests):
        return False
    return all(touch.is_injective() for touch in touches.values()) and _disjoint(
        [touch.span() for touch in touches.values()]
    )


def _size(buffer: SSAValue) -> int:
    total = 1
    for extent in shape_of(buffer):
        total *= extent
    return total


def _reads_come_first(block: Block, source: SSAValue, result: SSAValue) -> bool:
    written = False
    for op in block.ops:
        if isinstance(op, loop.StoreOp) and op.memref is result:
            written = True
        if isinstance(op, loop.LoadOp) and op.memref is source and written:
            return False
    return True


def _disjoint(spans: Sequence[tuple[int, int]]) -> bool:
    ordered = sorted(spans)
    return all(one[1] < two[0] for one, two in pairwise(ordered))


@dataclass(frozen=True)
class Touch:
    """One load or store, as a linear function of the loops around it."""

    block: Block
    steps: tuple[tuple[SSAValue, int], ...]  # loop variable, elements it moves by
    constant: int
    accessed: Attribute

    @property
    def place(self) -> tuple[object, ...]:
        """What two accesses of the same elements have in common."""
        return (frozenset(self.steps), self.constant, self.accessed)

    @property
    def lanes(self) -> int:
        return lanes_of(self.accessed) or 1

    @classmethod
    def of(cls, op: object) -> Touch | None:
        """Return the access of a plain load or store; None for anything else."""
        if not isinstance(op, loop.LoadOp | loop.StoreOp) or op.step != 1:
            return None
        if op.parent is None or (isinstance(op, loop.LoadOp) and op.default is not None):
            return None
        moves: dict[SSAValue, int] = {}
        constant, stride = 0, 1
        sizes = shape_of(op.memref)
        for expr, size in reversed(list(zip(op.map.data.results, sizes, strict=True))):
            form = linear(expr)
            constant += form.constant * stride
            for atom, factor in form.terms.items():
                if not isinstance(atom, AffineDimExpr):
                    return None
                index = op.indices[atom.position]
                moves[index] = moves.get(index, 0) + factor * stride
            stride *= size
        steps = tuple((index, move) for index, move in moves.items() if move)
        return cls(op.parent, steps, constant, op.accessed)

    def loops(self) -> list[loop.ForOp] | None:
        """Return the loops around that run more than once; None if a branch is among them."""
        found: list[loop.ForOp] = []
        outer = self.block.parent_op()
        while outer is not None and not isinstance(outer, func.FuncOp):
            if not isinstance(outer, loop.ForOp):
                return None
            if outer.trips > 1:
                found.append(outer)
            outer = outer.parent_op()
        return found

    def is_injective(self) -> bool:
        """Return whether no two iterations touch the same element."""
        loops = self.loops()
        if loops is None:
            return False
        moves = dict(self.steps)
        if {op.index for op in loops} != {index for index in moves if _trips(index) > 1}:
            return False
        reach = self.lanes
        for move, trips in sorted((abs(moves[op.index]), op.trips) for op in loops):
            if move < reach:
                return False
            reach += move * (trips - 1)
        return True

    def span(self) -> tuple[int, int]:
        """Return the first and last element that is touched."""
        low = high = self.constant
        for index, move in self.steps:
            far = move * (_trips(index) - 1)
            low, high = low + min(0, far), high + max(0, far)
        return low, high + self.lanes - 1


def _trips(index: SSAValue) -> int:
    """Return how many values a loop variable takes; a huge number for what is none."""
    owner = index.owner
    parent = owner.parent_op() if isinstance(owner, Block) else None
    return parent.trips if isinstance(parent, loop.ForOp) else 1 << 62
