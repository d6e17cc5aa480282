"""States of a scan of which a step changes one element a row: written in place, the rest stays.

Without this a step would copy the whole state, so that n steps on n elements would take n * n.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, Region, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap

from nn_opt.conversion.to_loop.nest import Nest, nest_around
from nn_opt.dialects import loop, tensor
from nn_opt.ir.types import shape_of

EQUAL = 0  # the predicate


@dataclass(frozen=True)
class Update:
    """state[.., index, ..] = value, for all indices along the other axes.

    Found in a compute that yields `select(axis == index, value, read)`.
    """

    compute: tensor.ComputeOp
    axis: int
    index: SSAValue
    value: SSAValue
    dead: tuple[Operation, ...]  # what only the elements that stay take, the last one first

    def build(self, nest: Nest) -> Operation:
        """Return the loops over the other axes; takes the compute's body."""
        compute, axis = self.compute, self.axis
        body = Region(compute.body.detach_block(0))
        for op in self.dead:
            op.detach()
            op.drop_all_references()
        places: list[SSAValue] = list(body.block.args)
        hints = [place.name_hint for place in places]
        gone = body.block.args[axis]
        places[axis] = self.index
        body.block.add_op(loop.StoreOp(self.value, nest.targets[0], places))
        body.block.erase_arg(gone)
        for op in list(body.block.ops):
            if isinstance(op, tensor.ReadOp):
                nest.convert_read(op)
        sizes = [n for k, n in enumerate(compute.axis_sizes) if k != axis]
        kinds = [loop.Kind.PAR] * len(sizes)
        block = loop.BlockOp(nest.stage, (), AffineMap(0, 0, ()), sizes, kinds, body)
        block.attributes |= compute.attributes
        return nest_around(block, sizes, [hint for k, hint in enumerate(hints) if k != axis])


def find_updates(scan: tensor.ScanOp) -> dict[tensor.ComputeOp, Update]:
    """Return the stages of a scan's body that change single elements of a state."""
    body = scan.body.block
    last = body.last_op
    assert last is not None
    found: dict[tensor.ComputeOp, Update] = {}
    for state, value in zip(body.args[: scan.states], last.operands, strict=False):
        compute = value.owner
        if isinstance(compute, tensor.ComputeOp) and compute.parent is body:
            update = _update(compute, state)
            if update and _is_last_use(state, compute):
                found[compute] = update
    return found


def _update(compute: tensor.ComputeOp, state: SSAValue) -> Update | None:
    chosen = compute.yielded[0].owner
    if compute.combiner or compute.stack or len(compute.result) > 1:
        return None
    if not isinstance(chosen, arith.SelectOp) or not chosen.result.has_one_use():
        return None
    test, kept = chosen.cond.owner, chosen.rhs.owner
    if not isinstance(test, arith.CmpiOp) or test.predicate.value.data != EQUAL:
        return None
    if not isinstance(kept, tensor.ReadOp) or not _reads(kept, state, compute.axes):
        return None
    last = compute.body.block.last_op
    assert last is not None
    for axis, index in ((test.lhs, test.rhs), (test.rhs, test.lhs)):
        if axis not in compute.axes:
            continue
        place = list(compute.axes).index(axis)
        if _is_free(index, axis, compute, state, (test, kept)) and _is_within(
            index, shape_of(state)[place]
        ):
            return Update(compute, place, index, chosen.lhs, (last, chosen, test, kept))
    return None


def _is_free(
    index: SSAValue,
    axis: SSAValue,
    compute: tensor.ComputeOp,
    state: SSAValue,
    dead: tuple[Operation, Operation],
) -> bool:
    """Return whether only what goes reads along the axis, and the rest of the state at its place.

    The value that stays is read once, and the test has one use.
    """
    if any(not op.results[0].has_one_use() for op in dead):
        return False
    if any(use.operation not in dead for use in axis.uses):
        return False
    place = [index if other is axis else other for other in compute.axes]
    own = [use.operation for use in state.uses if use.operation.parent is compute.body.block]
    return all(op in dead or _reads(op, state, place) for op in own)


def _reads(op: Operation, state: SSAValue, place: Sequence[SSAValue]) -> bool:
    """Return whether an op reads one element of a state, and which."""
    if not isinstance(op, tensor.ReadOp) or op.source is not state or op.default is not None:
        return False
    dims = [expr.position for expr in op.map.data.results if isinstance(expr, AffineDimExpr)]
    return [op.indices[dim] for dim in dims] == list(place)


def _is_within(index: SSAValue, size: int) -> bool:
    """Return whether an index is kept between 0 and the size by a minimum of a maximum."""
    high = index.owner
    if not isinstance(high, arith.MinSIOp) or _number(high.rhs) not in range(size):
        return False
    low = high.lhs.owner
    return isinstance(low, arith.MaxSIOp) and _number(low.rhs) in range(size)


def _number(value: SSAValue) -> int:
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return owner.value.value.data
    return -1


def _is_last_use(state: SSAValue, compute: tensor.ComputeOp) -> bool:
    """Return whether nothing after an update hangs on what the state was before it.

    A stage may be computed where it is read, so that what it reads must be as it was until then.
    """
    stale: set[SSAValue] = {state}
    after = False
    body = compute.parent
    assert body is not None
    last = body.last_op
    for op in body.ops:
        if op is compute:
            after = True
            continue
        used = {operand for inner in op.walk() for operand in inner.operands}
        if op is last:  # what it yields is computed by now
            return state not in used
        if not stale & used:
            continue
        if after or isinstance(op, tensor.ViewOp):
            return False
        stale.update(op.results)
    return False
