"""compact-buffers: a buffer in a loop shrinks to what one iteration of that loop touches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import AffineMapAttr, ModuleOp
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.passes import ModulePass

from nn_opt.dialects import loop
from nn_opt.ir.affine import Linear, Range, compact, linear, range_of
from nn_opt.ir.types import element_type, memory_space, memref_type, shape_of
from nn_opt.passes.flatten_accesses import range_of_index

Access = loop.LoadOp | loop.StoreOp


@dataclass(frozen=True)
class CompactBuffersPass(ModulePass):
    """Needs: loop without blocks. Keeps: loop. Order: between partition- and vectorize-loops.

    Each dimension that all accesses index by (the same outer loops) + (a range of inner ones)
    keeps only that range; the others stay whole.
    """

    name = "compact-buffers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for alloc in list(op.walk()):
            if isinstance(alloc, loop.AllocOp):
                compact_buffer(alloc)


# A sum of terms that are fixed where the buffer lies, each with its factor; dimension k of a term
# is the k-th of all the loop variables in the buffer's accesses.
Base = dict[AffineExpr, int]
Variables = list[SSAValue]


@dataclass(frozen=True)
class Window:
    """What accesses touch in one dimension: base + low ... base + high."""

    base: Base
    low: int
    high: int


def compact_buffer(alloc: loop.AllocOp) -> None:
    """Shrink one buffer and shift its accesses; leaves alone what is not only loaded and stored."""
    accesses: list[Access] = []
    for use in alloc.result.uses:
        if not isinstance(use.operation, Access):
            return
        accesses.append(use.operation)
    shape = shape_of(alloc.result)
    variables = list(dict.fromkeys(index for access in accesses for index in access.indices))
    windows = [window_of(alloc, accesses, k, variables) for k in range(len(shape))]
    sizes = [w.high - w.low + 1 if w else n for w, n in zip(windows, shape, strict=True)]
    if not accesses or sizes == list(shape):
        return
    for access in accesses:
        shift_access(access, windows, variables)
    space = memory_space(alloc.result)
    space = None if space == "global" else space
    new = loop.AllocOp(alloc.buffer.data, memref_type(sizes, element_type(alloc.result), space))
    replace_alloc(alloc, new)


def replace_alloc(alloc: loop.AllocOp, new: loop.AllocOp) -> None:
    """Put a new buffer in the place of an old one."""
    block = alloc.parent
    assert block is not None
    new.location = alloc.location
    new.result.name_hint = alloc.result.name_hint
    block.insert_op_before(new, alloc)
    alloc.result.replace_all_uses_with(new.result)
    alloc.detach()
    alloc.erase()


def window_of(
    alloc: loop.AllocOp, accesses: list[Access], dimension: int, variables: Variables
) -> Window | None:
    """Return what all accesses touch in a dimension; None if that is not one window."""
    windows = [access_window(alloc, access, dimension, variables) for access in accesses]
    if not windows or windows[0] is None:
        return None
    low, high = windows[0].low, windows[0].high
    for window in windows:
        if window is None or window.base != windows[0].base:
            return None
        low, high = min(low, window.low), max(high, window.high)
    return Window(windows[0].base, low, high)


def access_window(
    alloc: loop.AllocOp, access: Access, dimension: int, variables: Variables
) -> Window | None:
    """Return what one access touches in a dimension; None if no loop bounds an index."""
    if isinstance(access, loop.LoadOp) and access.default is not None:
        return None
    form = linear(access.map.data.results[dimension])
    indices = list(access.indices)
    base: Base = {}
    inner: dict[AffineExpr, int] = {}
    for atom, factor in form.terms.items():
        places = [is_outside(indices[k], alloc) for k in atom.used_dims()]
        if all(places):
            base[renumbered(atom, indices, variables)] = factor
        elif any(places) or any(range_of_index(indices[k]) is None for k in atom.used_dims()):
            return None
        else:
            inner[atom] = factor
    ranges: list[Range] = [range_of_index(index) or (0, 0) for index in indices]
    return Window(base, *range_of(Linear(inner, form.constant).expr(), ranges))


def renumbered(expr: AffineExpr, old: Sequence[SSAValue], new: Sequence[SSAValue]) -> AffineExpr:
    """Return an expression over old values as one over new values, which hold all it uses."""
    zero = AffineExpr.constant(0)
    places = {value: AffineExpr.dimension(k) for k, value in enumerate(new)}
    return expr.replace_dims_and_symbols([places.get(value, zero) for value in old], ())


def is_outside(index: SSAValue, alloc: loop.AllocOp) -> bool:
    """Return whether a loop variable's loop is around the buffer, so that it is fixed there."""
    if not isinstance(index, BlockArgument):
        return False
    nest = index.block.parent_op()
    parent: Operation | None = alloc.parent_op()
    while parent is not None and parent is not nest:
        parent = parent.parent_op()
    return isinstance(nest, loop.ForOp) and parent is nest


def shift_access(access: Access, windows: list[Window | None], variables: Variables) -> None:
    """Let an access count from the start of each dimension's window."""
    indices = list(access.indices)
    exprs: list[AffineExpr] = []
    for expr, window in zip(access.map.data.results, windows, strict=True):
        if window is not None:
            for term, factor in window.base.items():
                expr = expr - renumbered(term, variables, indices) * factor
            expr = linear(expr - window.low).expr()
        exprs.append(expr)
    values, local = compact(exprs, indices)
    access.map = AffineMapAttr(AffineMap(len(values), 0, tuple(local)))
    fixed = len(access.operands) - len(indices)
    access.operands = [*access.operands[:fixed], *values]
