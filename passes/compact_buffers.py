"""compact-buffers: a buffer in a loop shrinks to what one iteration of that loop touches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import AffineMapAttr, DenseArrayBase, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.passes import ModulePass

from nn_opt.dialects import loop
from nn_opt.ir.affine import ANYTHING, Linear, Range, compact, linear, range_of
from nn_opt.ir.types import element_type, memory_space, memref_type, shape_of
from nn_opt.passes.flatten_accesses import range_of_index

Access = loop.LoadOp | loop.StoreOp
ALIGN = "align"  # on a loop.alloc: a row has k * first + second elements


@dataclass(frozen=True)
class CompactBuffersPass(ModulePass):
    """Needs: loop without blocks. Keeps: loop. Order: between partition- and vectorize-loops.

    Each dimension that all accesses index by (the same outer loops) + (a range of inner ones)
    keeps only that range; the others stay whole, and those that a load may leave. A shared buffer
    lies outside of all threads, but keeps no more than what each iteration of a loop around its
    accesses fills anew. Then rows of a buffer with the attribute `align` get the length that it
    asks for.
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
    fixed = loops_around(alloc)
    windows = windows_of(alloc, accesses, variables, fixed)
    if more := refilled(alloc, accesses) - fixed:
        narrow = windows_of(alloc, accesses, variables, fixed | more)
        if filled_first(accesses, narrow, variables, fixed | more):
            windows = narrow
    sizes = [w.high - w.low + 1 if w else n for w, n in zip(windows, shape, strict=True)]
    sizes = aligned(sizes, alloc)
    if not accesses or sizes == list(shape):
        return
    for access in accesses:
        shift_access(access, windows, variables)
    space = memory_space(alloc.result)
    space = None if space == "global" else space
    new = loop.AllocOp(alloc.buffer.data, memref_type(sizes, element_type(alloc.result), space))
    replace_alloc(alloc, new)


def aligned(sizes: list[int], alloc: loop.AllocOp) -> list[int]:
    """Return sizes whose last is lengthened as the attribute `align` asks for: k * first + second.

    So neighbours in a column are in other banks of a GPU's shared memory.
    """
    align = alloc.attributes.get(ALIGN)
    if not isinstance(align, DenseArrayBase):
        return sizes
    multiple, offset = (int(value) for value in align.iter_values())
    return [*sizes[:-1], sizes[-1] + (offset - sizes[-1]) % multiple]


def refilled(alloc: loop.AllocOp, accesses: Sequence[Access]) -> set[Operation]:
    """Return the loops between a shared buffer and all its accesses that no threads run."""
    if memory_space(alloc.result) != "shared" or not accesses:
        return set()
    common = set[Operation].intersection(*(loops_around(access) for access in accesses))
    return {op for op in common if isinstance(op, loop.ForOp) and not op.how.is_thread}


def filled_first(
    accesses: Sequence[Access],
    windows: Sequence[Window | None],
    variables: Variables,
    fixed: set[Operation],
) -> bool:
    """Return whether one store, before all loads, fills the windows of every iteration."""
    order = {op: place for place, op in enumerate(function_of(accesses[0]).walk())}
    first = min(accesses, key=lambda access: order[access])
    own = [access_window(first, k, variables, fixed) for k in range(len(windows))]
    return isinstance(first, loop.StoreOp) and own == list(windows)


def function_of(op: Operation) -> Operation:
    """Return the function that an op is in."""
    while not isinstance(op, FuncOp):
        parent = op.parent_op()
        assert parent is not None, "buffers are in functions"
        op = parent
    return op


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


def windows_of(
    alloc: loop.AllocOp, accesses: list[Access], variables: Variables, fixed: set[Operation]
) -> list[Window | None]:
    """Return what all accesses touch in each dimension; None where that is not one window."""
    rank = len(shape_of(alloc.result))
    return [window_of(accesses, dimension, variables, fixed) for dimension in range(rank)]


def window_of(
    accesses: list[Access], dimension: int, variables: Variables, fixed: set[Operation]
) -> Window | None:
    """Return what all accesses touch in a dimension; None if that is not one window."""
    windows = [access_window(access, dimension, variables, fixed) for access in accesses]
    if not windows or windows[0] is None:
        return None
    low, high = windows[0].low, windows[0].high
    for window in windows:
        if window is None or window.base != windows[0].base:
            return None
        low, high = min(low, window.low), max(high, window.high)
    return Window(windows[0].base, low, high)


def access_window(
    access: Access, dimension: int, variables: Variables, fixed: set[Operation]
) -> Window | None:
    """Return what one access touches in a dimension; None if no loop bounds an index.

    fixed: the loops around the buffer, whose variables do not move while it lives.
    """
    if isinstance(access, loop.LoadOp) and may_leave(access, dimension):
        return None
    form = linear(access.map.data.results[dimension])
    indices = list(access.indices)
    base: Base = {}
    inner: dict[AffineExpr, int] = {}
    for atom, factor in form.terms.items():
        places = [loop_of(indices[k]) in fixed for k in atom.used_dims()]
        if all(places):
            base[renumbered(atom, indices, variables)] = factor
        elif any(places) or any(range_of_index(indices[k]) is None for k in atom.used_dims()):
            return None
        else:
            inner[atom] = factor
    ranges: list[Range] = [range_of_index(index) or (0, 0) for index in indices]
    return Window(base, *range_of(Linear(inner, form.constant).expr(), ranges))


def may_leave(load: loop.LoadOp, dimension: int) -> bool:
    """Return whether an index may be outside of its dimension, so that a value is there instead."""
    if load.default is None:
        return False
    ranges = [range_of_index(index) or ANYTHING for index in load.indices]
    low, high = range_of(load.map.data.results[dimension], ranges)
    return low < 0 or high >= shape_of(load.memref)[dimension]


def renumbered(expr: AffineExpr, old: Sequence[SSAValue], new: Sequence[SSAValue]) -> AffineExpr:
    """Return an expression over old values as one over new values, which hold all it uses."""
    zero = AffineExpr.constant(0)
    places = {value: AffineExpr.dimension(k) for k, value in enumerate(new)}
    return expr.replace_dims_and_symbols([places.get(value, zero) for value in old], ())


def loop_of(index: SSAValue) -> Operation | None:
    """Return the loop whose variable an index is."""
    return index.block.parent_op() if isinstance(index, BlockArgument) else None


def loops_around(op: Operation) -> set[Operation]:
    """Return the loops that an op is in."""
    found: set[Operation] = set()
    parent = op.parent_op()
    while parent is not None:
        if isinstance(parent, loop.ForOp):
            found.add(parent)
        parent = parent.parent_op()
    return found


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
