"""Unification: whether a loop does what an intrinsic means, and on which of its buffers."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import permutations

from xdsl.dialects import arith, math
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr

from nn_opt.dialects.loop import BlockOp, ForOp, LoadOp, StoreOp
from nn_opt.ir.affine import Range, flat_form, range_of
from nn_opt.ir.types import element_type, shape_of
from nn_opt.schedule.intrinsics import Intrinsic
from nn_opt.schedule.nest import access_exprs, loop_name

Access = LoadOp | StoreOp
UNKNOWN: Range = (-(1 << 40), 1 << 40)  # of an index that is no loop's variable
SWAPS: dict[type[Operation], int] = {  # how many first operands may change places
    math.FmaOp: 2,
    arith.AddfOp: 2,
    arith.MulfOp: 2,
    arith.AddiOp: 2,
    arith.MuliOp: 2,
}


class Mismatch(Exception):
    """Why a loop is not what an intrinsic means."""


@dataclass
class Match:
    """The accesses of a nest that stand for each buffer of an intrinsic.

    `agreed` counts what was found alike, to tell which of several failures came closest.
    """

    intrinsic: Intrinsic
    loops: list[ForOp]
    bound: dict[SSAValue, Access] = field(default_factory=dict[SSAValue, Access])
    agreed: int = 0

    @property
    def accesses(self) -> list[Access]:
        """One access for each of the intrinsic's buffers, in their order."""
        return [self.bound[buffer] for buffer in self.intrinsic.buffers]


def unify(intrinsic: Intrinsic, nest: ForOp) -> Match:
    """Return how a nest, of one block or of plain ops, is what an intrinsic means.

    Raises: Mismatch, with the loop or op and the reason.
    """
    wanted, pattern = _descend(intrinsic.nest)
    loops, body = _descend(nest)
    sizes = [loop.trips for loop in wanted]
    if [loop.trips for loop in loops] != sizes:
        have = " x ".join(f"{loop_name(loop)} of {loop.trips}" for loop in loops)
        raise Mismatch(f"its loops are {have}, expected {' x '.join(map(str, sizes))}")
    if isinstance(stage := body.parent_op(), BlockOp):
        _require_plain(stage, loops)
    stores = [op for op in body.ops if isinstance(op, StoreOp)]
    (goal,) = [op for op in pattern.ops if isinstance(op, StoreOp)]
    if len(stores) != 1:
        raise Mismatch(f"it stores {len(stores)} values, expected 1")
    match = Match(intrinsic, loops)
    _bind(match, wanted, goal, stores[0])
    _unify_value(match, wanted, goal.value, stores[0].value)
    return match


def _descend(nest: ForOp) -> tuple[list[ForOp], Block]:
    """Return the loops of a perfect nest, and the innermost body that is not a loop's alone."""
    loops = [nest]
    while isinstance(inner := loops[-1].body.block.first_op, ForOp):
        if inner is not loops[-1].body.block.last_op:
            raise Mismatch(f"{loop_name(loops[-1])} holds more than {loop_name(inner)}")
        loops.append(inner)
    body = loops[-1].body.block
    if isinstance(body.first_op, BlockOp):
        if body.first_op is not body.last_op:
            raise Mismatch(f"{loop_name(loops[-1])} holds several stages")
        body = body.first_op.body.block
    return loops, body


def _require_plain(block: BlockOp, loops: list[ForOp]) -> None:
    """Refuse a stage that starts its sum inside the loops, or tests their variables."""
    stage = f"stage {block.stage.data!r}"
    if block.init is not None:
        raise Mismatch(f"{stage} has a start of its own, which decompose_init takes out")
    for loop in loops:
        position = list(block.indices).index(loop.index) if loop.index in block.indices else -1
        if any(position in expr.used_dims() for expr in block.conditions.data.results):
            raise Mismatch(f"{stage} tests {loop_name(loop)}")


def _unify_value(match: Match, wanted: list[ForOp], goal: SSAValue, value: SSAValue) -> None:
    """Bind what the goal's formula reads to what the value's formula reads."""
    pattern, op = goal.owner, value.owner
    assert isinstance(pattern, Operation)
    if not isinstance(op, Operation) or type(op) is not type(pattern):
        have = op.name if isinstance(op, Operation) else "an index"
        raise Mismatch(f"{have} computes what {pattern.name} should")
    if isinstance(op, LoadOp):
        assert isinstance(pattern, LoadOp)
        _bind(match, wanted, pattern, op)
        return
    if op.results[0].type != pattern.results[0].type:
        raise Mismatch(f"{op.name} gives {op.results[0].type}, not {pattern.results[0].type}")
    _unify_operands(match, wanted, pattern, op)


def _unify_operands(match: Match, wanted: list[ForOp], pattern: Operation, op: Operation) -> None:
    """Unify operands, in any order that the operation allows; the closest says why not."""
    count = SWAPS.get(type(op), 0)
    reason, reached = Mismatch(""), -1
    for order in permutations(range(count)):
        operands = [op.operands[k] for k in order] + list(op.operands[count:])
        before = dict(match.bound)
        match.agreed = 0
        try:
            for goal, value in zip(pattern.operands, operands, strict=True):
                _unify_value(match, wanted, goal, value)
        except Mismatch as mismatch:
            if match.agreed > reached:
                reason, reached = mismatch, match.agreed
            match.bound = before
        else:
            return
    raise reason


def _bind(match: Match, wanted: list[ForOp], pattern: Access, access: Access) -> None:
    """Let an access stand for a buffer of the intrinsic, if it walks through its own alike."""
    what = f"{access.name} of {element_type(access.memref)}"
    if element_type(access.memref) != element_type(pattern.memref):
        raise Mismatch(f"{what} stands where {element_type(pattern.memref)} is expected")
    if isinstance(access, LoadOp) and access.default is not None and not _stays_inside(access):
        raise Mismatch(f"{what} may leave its buffer")
    for loop, mine in zip(match.loops, wanted, strict=True):
        moved, expected = step(access, loop), step(pattern, mine)
        if moved != expected:
            moves = "by no constant" if moved is None else f"by {moved}"
            raise Mismatch(f"{what} moves {moves} with {loop_name(loop)}, expected {expected}")
        match.agreed += 1
    known = match.bound.setdefault(pattern.memref, access)
    if known.memref is not access.memref or place(known)[:2] != place(access)[:2]:
        raise Mismatch(f"{what} is not at the place of the other access that it belongs with")


def place(access: Access) -> tuple[list[AffineExpr], list[SSAValue], list[Range]]:
    """Return an access's indices, the loop variables they are over, and the ranges of these."""
    parent = access.parent_op()
    if isinstance(parent, BlockOp):
        values = list(parent.indices)
        exprs = [expr for expr in access_exprs(access, parent) if expr is not None]
    else:
        values, exprs = list(access.indices), list(access.map.data.results)
    return exprs, values, [_range(value) for value in values]


def _range(value: SSAValue) -> Range:
    nest = value.block.parent_op() if isinstance(value, BlockArgument) else None
    return (0, nest.trips - 1) if isinstance(nest, ForOp) else UNKNOWN


def step(access: Access, loop: ForOp) -> int | None:
    """Return how many elements an access moves with a loop; None if that is no constant."""
    exprs, values, ranges = place(access)
    if len(exprs) != len(access.map.data.results):
        return None
    if loop.index not in values:
        return 0
    form = flat_form(exprs, shape_of(access.memref), ranges)
    position = values.index(loop.index)
    opaque = [atom for atom in form.terms if not isinstance(atom, AffineDimExpr)]
    if any(position in atom.used_dims() for atom in opaque):
        return None
    return form.coefficient(position)


def _stays_inside(load: LoadOp) -> bool:
    """Return whether the ranges of the loops keep a load inside its buffer."""
    exprs, _, ranges = place(load)
    bounds = [range_of(expr, ranges) for expr in exprs]
    sizes = shape_of(load.memref)
    fits = len(bounds) == len(sizes)
    return fits and all(
        low >= 0 and high < size for (low, high), size in zip(bounds, sizes, strict=True)
    )
