"""What a default schedule asks of a kernel's stages: sizes, reuse, cost, access patterns."""

from __future__ import annotations

import math

from xdsl.dialects import arith
from xdsl.dialects import math as math_dialect
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr

from nn_opt.dialects.loop import AllocOp, ApplyOp, BlockOp, ForOp, Kind, LoadOp, StoreOp
from nn_opt.ir.affine import Linear, flat_form
from nn_opt.ir.target import Target
from nn_opt.ir.types import element_type, shape_of
from nn_opt.schedule.nest import (
    access_exprs,
    accessors,
    blocks_in,
    is_own,
    kinds_bound,
    loads_in,
    loops_around,
    ranges_of,
    stores_in,
)

# Cost of one op in units of an addition; transcendental functions are polynomials of that length.
COSTS: dict[type[Operation], int] = {
    math_dialect.ExpOp: 12,
    math_dialect.LogOp: 15,
    math_dialect.TanhOp: 15,
    math_dialect.ErfOp: 20,
    math_dialect.PowFOp: 30,
    math_dialect.SinOp: 20,
    math_dialect.CosOp: 20,
    math_dialect.SqrtOp: 6,
    arith.DivfOp: 6,
    arith.DivSIOp: 20,
    arith.DivUIOp: 20,
    arith.RemSIOp: 20,
    arith.RemUIOp: 20,
    arith.ConstantOp: 0,
    ApplyOp: 0,
}
LONGEST_VECTOR = 16  # 32-bit lanes of any target's registers
STORED = (Float32Type(), BFloat16Type(), IntegerType(32), IntegerType(8))
COMPUTED = (Float32Type(), IntegerType(32), IntegerType(8), IntegerType(1))
LONG = (IntegerType(64), Float64Type())
LONG_BYTES = 8  # of those
ARITHMETIC = (LoadOp, math_dialect.FmaOp, math_dialect.AbsFOp, math_dialect.SqrtOp)  # and arith's
DIVISIONS = (arith.DivSIOp, arith.DivUIOp, arith.RemSIOp, arith.RemUIOp)  # of no vectors
GATHERING = 8  # lanes of a target that loads lanes from any places at once
CHEAP = 6  # recomputing up to this cost beats storing and loading a value


def stages(function: FuncOp) -> list[BlockOp]:
    """Return the kernel's stages, in order."""
    return blocks_in(function)


def cost(block: BlockOp) -> int:
    """Return the cost of one instance of a stage, in additions."""
    return sum(COSTS.get(type(op), 1) for op in block.body.block.ops)


def work(op: Operation) -> int:
    """Return the cost of all stages in a kernel or nest, in additions."""
    return sum(cost(block) * math.prod(block.axis_sizes) for block in blocks_in(op))


def is_reduction(block: BlockOp) -> bool:
    """Return whether a stage accumulates."""
    return any(kind is not Kind.PAR for kind in block.axis_kinds)


def par_axes(block: BlockOp) -> list[int]:
    """Return the positions of the independent axes."""
    return [k for k, kind in enumerate(block.axis_kinds) if kind is Kind.PAR]


def reduce_axes(block: BlockOp) -> list[int]:
    """Return the positions of the reduced axes; ordered ones count too."""
    return [k for k, kind in enumerate(block.axis_kinds) if kind is not Kind.PAR]


def is_stacked(block: BlockOp) -> bool:
    """Return whether an instance of a stage stores several elements."""
    return block.init is None and len(list(stores_in(block))) > 1


def axis_loops(block: BlockOp) -> list[ForOp]:
    """Return the loop of each axis of an unscheduled stage."""
    return loops_around(block)[-len(block.axis_sizes) :]


def is_contraction(block: BlockOp) -> bool:
    """Return whether a stage sums products, as matmul and convolution do."""
    return is_reduction(block) and any(_adds_product(op) for op in block.body.block.ops)


def _adds_product(op: Operation) -> bool:
    if isinstance(op, arith.AddiOp) and isinstance(op.result.type, IntegerType):
        return any(isinstance(operand.owner, arith.MuliOp) for operand in op.operands)
    return isinstance(op, math_dialect.FmaOp)


def local_buffer(block: BlockOp) -> AllocOp | None:
    """Return the buffer that a stage writes, if it is the kernel's own."""
    buffer = next(stores_in(block)).memref
    return buffer.owner if isinstance(buffer.owner, AllocOp) and is_own(buffer) else None


def readers(block: BlockOp) -> list[BlockOp]:
    """Return the other stages that read what a stage writes."""
    alloc = local_buffer(block)
    if alloc is None:
        return []
    return [other for other in accessors(alloc.result) if other is not block]


def loads_of(buffer: SSAValue, block: BlockOp) -> list[LoadOp]:
    """Return a stage's loads from one buffer."""
    return [load for load in loads_in(block) if load.memref is buffer]


def step(access: LoadOp | StoreOp, block: BlockOp, loop: ForOp) -> int | None:
    """Return how many elements an access moves with a loop; None if that is no constant.

    In a blocked layout it is a constant within a block, which is as long as a vector or longer.
    """
    known: list[AffineExpr] = []
    for expr, map in zip(access_exprs(access, block), access.map.data.results, strict=True):
        if expr is None and any(_varies(access.indices[k], block, loop) for k in map.used_dims()):
            return None
        known.append(AffineExpr.constant(0) if expr is None else expr)
    indices = list(block.indices)
    if loop.index not in indices:
        return 0
    shape, ranges = shape_of(access.memref), ranges_of(indices)
    position = indices.index(loop.index)
    moved = _coefficient(flat_form(known, shape, ranges), position)
    if moved is not None:
        return moved
    inside = len(indices)
    dims: list[AffineExpr] = [AffineExpr.dimension(k) for k in range(inside)]
    dims[position] = dims[position] * LONGEST_VECTOR + AffineExpr.dimension(inside)
    ranges[position] = (0, (loop.trips - 1) // LONGEST_VECTOR)
    split = [expr.replace_dims_and_symbols(dims, ()) for expr in known]
    offset = flat_form(split, shape, [*ranges, (0, LONGEST_VECTOR - 1)])
    return _coefficient(offset, inside)


def _varies(value: SSAValue, block: BlockOp, loop: ForOp) -> bool:
    """Return whether a value inside a stage may change along a loop."""
    if isinstance(value.owner, Operation):
        return any(_varies(operand, block, loop) for operand in used_operands(value.owner))
    axes: list[SSAValue] = [axis for region in block.regions_of_work for axis in region.args]
    if value not in axes:
        return False  # a buffer
    binding = block.bindings.data.results[axes.index(value) % len(block.axes)]
    return _moves(block, binding, loop)


def used_operands(op: Operation) -> list[SSAValue]:
    """Return the operands of an op, without indices that its map does not use."""
    if not isinstance(op, LoadOp | StoreOp | ApplyOp):
        return list(op.operands)
    fixed = len(op.operands) - op.map.data.num_dims
    used = set[int]().union(*(expr.used_dims() for expr in op.map.data.results))
    return [*op.operands[:fixed], *(op.operands[fixed + k] for k in sorted(used))]


def _coefficient(form: Linear, position: int) -> int | None:
    """Return the factor of one dimension; None if it is in a division too."""
    opaque = [atom for atom in form.terms if not isinstance(atom, AffineDimExpr)]
    if any(position in atom.used_dims() for atom in opaque):
        return None
    return form.coefficient(position)


def steps(block: BlockOp, loop: ForOp) -> list[int | None]:
    """Return the step of every access of a stage along a loop."""
    return [step(access, block, loop) for access in [*loads_in(block), *stores_in(block)]]


def vectorizable(block: BlockOp, loop: ForOp, target: Target | None = None) -> bool:
    """Return whether a loop's iterations can be lanes, each access contiguous or invariant.

    target: whose vectors hold numbers of 64 bits, too, and are loaded from places that data name,
    if it is wide enough for that to be quicker.
    """
    long = target is not None and holds_long(target)
    if Kind.SEQ in kinds_bound(loop, block) or not computes_lanes(block, loop, long=long):
        return False
    gathers = target is not None and target.lanes >= GATHERING
    loads = (0, 1, None) if gathers else (0, 1)
    return all(step(store, block, loop) in (0, 1) for store in stores_in(block)) and all(
        step(load, block, loop) in loads for load in loads_in(block)
    )


def lanes_of(block: BlockOp, target: Target) -> int:
    """Return how many elements of a stage go side by side: half as many if some are long."""
    return target.lanes // 2 if holds_long(target) and is_long(block) else target.lanes


def holds_long(target: Target) -> bool:
    """Return whether a vector has several numbers of 64 bits."""
    return target.vector_bytes >= 2 * LONG_BYTES


def is_long(block: BlockOp) -> bool:
    """Return whether a stage has numbers of 64 bits."""
    return any(result.type in LONG for op in block.body.block.ops for result in op.results)


def computes_lanes(block: BlockOp, loop: ForOp, *, long: bool = False) -> bool:
    """Return whether what changes along a loop is arithmetic of 32 bits and its tests alone.

    Numbers that are stored as bf16 or as integers of 8 bits count as such. long: so do those stored
    as f16, and those of 64 bits, of which half as many go side by side, but not values that are
    reduced together, as an element and its place.
    """
    more = (*LONG, Float16Type(), IndexType()) if long else ()
    written = {store.memref for store in stores_in(block)}
    if is_long(block) and is_reduction(block) and len(written) > 1:
        return False
    if any(element_type(store.memref) not in (*STORED, *more) for store in stores_in(block)):
        return False
    bound = zip(block.axes, block.bindings.data.results, strict=True)
    varying: set[SSAValue] = {axis for axis, expr in bound if _moves(block, expr, loop)}
    for op in block.body.block.ops:
        if not op.results or not varying.intersection(used_operands(op)):
            continue
        if op.results[0].type not in (*COMPUTED, *_narrow_results(op), *more):
            return False
        if op.results[0].type in LONG and not _has_long_lanes(op):
            return False
        if isinstance(op, DIVISIONS):
            return False
        if isinstance(op, LoadOp) and op.results[0].type not in (*STORED, *more):
            return False
        varying.update(op.results)
    return True


def _has_long_lanes(op: Operation) -> bool:
    """Return whether there is an instruction for vectors of 64 bits, unlike for functions."""
    return isinstance(op, ARITHMETIC) or op.name.startswith("arith.")


def _narrow_results(op: Operation) -> tuple[Attribute, ...]:
    """Return bf16 for the ops that take numbers from memory or make them ready for it."""
    return (BFloat16Type(),) if isinstance(op, LoadOp | arith.TruncFOp) else ()


def _moves(block: BlockOp, expr: AffineExpr, loop: ForOp) -> bool:
    indices = list(block.indices)
    return loop.index in indices and indices.index(loop.index) in expr.used_dims()
