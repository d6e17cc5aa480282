"""Buffers in global memory that stand inside a nest: each block or thread has one of its own."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import AffineMapAttr
from xdsl.ir import Operation
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.utils.exceptions import PassFailedException

from nn_opt.dialects import loop
from nn_opt.dialects.loop.buffers import byte_size
from nn_opt.ir.diagnostics import complaint
from nn_opt.ir.types import element_type, memory_space, memref_type, shape_of

PRIVATE_BYTES = 1024  # of a buffer that a thread has itself; more would leave its registers anyway


def give_each_its_own(nest: Operation) -> None:
    """Take buffers in global memory out of the bound loops around them.

    A small one that only one thread uses becomes that thread's; any other gets a dimension for
    each bound loop around it, and stands before the nest.
    """
    for alloc in [op for op in nest.walk() if isinstance(op, loop.AllocOp)]:
        if memory_space(alloc.result) != "global":
            continue
        around = bound_loops(alloc)
        if byte_size(alloc.result) <= PRIVATE_BYTES and any(n.how.is_thread for n in around):
            _replace(alloc, shape_of(alloc.result), "stack", alloc, ())
        else:
            shape = [*(n.trips for n in around), *shape_of(alloc.result)]
            _replace(alloc, shape, None, nest, around)


def bound_loops(op: Operation) -> list[loop.ForOp]:
    """Return the bound loops around an op, outermost first."""
    found: list[loop.ForOp] = []
    outer = op.parent_op()
    while outer is not None:
        if isinstance(outer, loop.ForOp) and outer.how.is_bound:
            found.append(outer)
        outer = outer.parent_op()
    return found[::-1]


def _replace(
    alloc: loop.AllocOp,
    shape: Sequence[int],
    space: str | None,
    before: Operation,
    around: Sequence[loop.ForOp],
) -> None:
    """Put a buffer of another shape before an op; accesses begin with the loops' variables."""
    new = loop.AllocOp(alloc.buffer.data, memref_type(shape, element_type(alloc.result), space))
    new.location = alloc.location
    new.result.name_hint = alloc.result.name_hint
    home = before.parent
    assert home is not None
    home.insert_op_before(new, before)
    for use in list(alloc.result.uses):
        access = use.operation
        if isinstance(access, loop.LoadOp | loop.StoreOp):
            _prefix(access, around)
        elif around:
            problem = f"buffer {alloc.buffer.data!r} of each block is passed on whole"
            raise PassFailedException(complaint(access, problem, hint="keep it in shared memory"))
    alloc.result.replace_all_uses_with(new.result)
    alloc.detach()
    alloc.erase()


def _prefix(access: loop.LoadOp | loop.StoreOp, around: Sequence[loop.ForOp]) -> None:
    """%m[f(%i)]  ->  %m[%bx, %tx, f(%i)]"""
    count = len(access.indices)
    first = [AffineExpr.dimension(count + k) for k in range(len(around))]
    results = (*first, *access.map.data.results)
    access.map = AffineMapAttr(AffineMap(count + len(around), 0, results))
    access.operands = [*access.operands, *(nest.index for nest in around)]
