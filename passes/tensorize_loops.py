"""tensorize-loops: loops that a schedule marked with an intrinsic become that instruction."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from nn_opt.dialects import loop
from nn_opt.ir.affine import compact
from nn_opt.ir.diagnostics import complaint
from nn_opt.ir.types import element_type, shape_of, vector_type
from nn_opt.passes.lanes import erase
from nn_opt.schedule.intrinsics import INTRINSICS
from nn_opt.schedule.tensorize import ATTRIBUTE
from nn_opt.schedule.unify import Access, Match, Mismatch, unify


@dataclass(frozen=True)
class TensorizeLoopsPass(ModulePass):
    """loop.for vector {intrinsic = "dot_bf16x2"} { ... }  ->  loads of vectors, loop.dot, a store.

    Needs: loop without blocks. Keeps: loop. Order: after compact-buffers, before vectorize-loops.
    Fails if the nest is no longer what the intrinsic means.
    """

    name = "tensorize-loops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for nest in list(op.walk()):
            if isinstance(nest, loop.ForOp) and ATTRIBUTE in nest.attributes:
                tensorize(nest)


def tensorize(nest: loop.ForOp) -> None:
    """Put the instruction in the place of a nest."""
    name = nest.attributes[ATTRIBUTE]
    intrinsic = INTRINSICS.get(name.data) if isinstance(name, StringAttr) else None
    if intrinsic is None:
        hint = f"the intrinsics are {', '.join(INTRINSICS)}"
        raise PassFailedException(complaint(nest, f"no intrinsic is named {name}", hint=hint))
    try:
        match = unify(intrinsic, nest)
    except Mismatch as mismatch:
        problem = f"cannot become {intrinsic.name}: {mismatch}"
        raise PassFailedException(complaint(nest, problem)) from mismatch
    values: list[SSAValue] = []
    for buffer, access in zip(intrinsic.buffers, match.accesses, strict=True):
        indices, exprs = first_place(match, access)
        type_ = vector_type(shape_of(buffer)[0], element_type(buffer))
        values.append(insert(loop.LoadOp(access.memref, indices, exprs, type_=type_), nest))
    result = insert(intrinsic.build(values), nest)
    target = match.accesses[-1]
    insert(loop.StoreOp(result, target.memref, *first_place(match, target)), nest)
    erase(nest)


def first_place(match: Match, access: Access) -> tuple[list[SSAValue], list[AffineExpr]]:
    """Return the indices of an access in the first iteration of all loops."""
    own = [nest.index for nest in match.loops]
    zeroed = [
        AffineExpr.constant(0) if value in own else AffineExpr.dimension(position)
        for position, value in enumerate(access.indices)
    ]
    exprs = [expr.replace_dims_and_symbols(zeroed, ()) for expr in access.map.data.results]
    return compact(exprs, list(access.indices))


def insert(op: Operation, nest: loop.ForOp) -> SSAValue:
    """Insert an op before the nest that it stands for; return its result, if it has one."""
    block = nest.parent
    assert block is not None
    op.location = nest.location
    block.insert_op_before(op, nest)
    return op.results[0] if op.results else nest.index
