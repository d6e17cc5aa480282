"""Questions about scheduled functions, and the small edits that primitives are made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NoReturn

from xdsl.dialects.builtin import AffineMapAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.utils.exceptions import PassFailedException

from nn_opt.dialects.loop import AllocOp, BlockOp, ForOp, Kind, LoadOp, StoreOp
from nn_opt.ir.affine import Range, simplify
from nn_opt.ir.diagnostics import complaint


def refuse(op: Operation, problem: str, hint: str = "") -> NoReturn:
    """Stop a primitive that would change what the program computes."""
    raise PassFailedException(complaint(op, problem, hint=hint))


def loop_name(loop: ForOp) -> str:
    """Return a loop's name for messages: `%q`."""
    return f"%{loop.index.name_hint or '?'}"


def blocks_in(op: Operation) -> list[BlockOp]:
    """Return the blocks inside an op (or itself), in order."""
    return list(_blocks(op))


def _blocks(op: Operation) -> Iterator[BlockOp]:
    if type(op) is BlockOp:  # quicker than `isinstance`, which asks abstract classes
        yield op
        return  # a block holds no block, and most ops of a kernel are inside blocks
    for region in op.regions:
        for block in region.blocks:
            for inner in block.ops:
                yield from _blocks(inner)


def find_block(function: FuncOp, stage: str) -> BlockOp:
    """Return the block of a stage; refuses a name that no block has."""
    for block in _blocks(function):
        if block.stage.data == stage:
            return block
    stages = ", ".join(dict.fromkeys(b.stage.data for b in _blocks(function)))
    refuse(function, f"has no stage {stage!r}", hint=f"its stages are {stages}")


def loops_around(op: Operation) -> list[ForOp]:
    """Return the loops that an op is in, outermost first."""
    found: list[ForOp] = []
    parent = op.parent_op()
    while parent is not None:
        if type(parent) is ForOp:
            found.append(parent)
        parent = parent.parent_op()
    return found[::-1]


def loop_of(index: SSAValue) -> ForOp:
    """Return the loop whose variable a value is."""
    assert isinstance(index, BlockArgument)
    loop = index.block.parent_op()
    assert isinstance(loop, ForOp), "a block is bound to loop variables only"
    return loop


def ranges_of(indices: Iterable[SSAValue]) -> list[Range]:
    """Return the range of each loop variable."""
    return [(0, loop_of(index).trips - 1) for index in indices]


def only_child(loop: ForOp) -> Operation | None:
    """Return the one op in a loop's body, None if there are more."""
    ops = list(loop.body.block.ops)
    return ops[0] if len(ops) == 1 else None


def statement_in(parent: Block, op: Operation) -> Operation:
    """Return the op directly in `parent` that is or contains `op`."""
    while op.parent is not parent:
        outer = op.parent_op()
        assert outer is not None, "the op is not inside this block"
        op = outer
    return op


def is_inside(op: Operation, loop: ForOp) -> bool:
    """Return whether an op is in the body of a loop."""
    return loop in loops_around(op)


def is_ancestor(outer: Operation, op: Operation) -> bool:
    """Return whether `op` is inside `outer`."""
    parent = op.parent_op()
    while parent is not None and parent is not outer:
        parent = parent.parent_op()
    return parent is outer


def top_of_nest(op: BlockOp | ForOp) -> Operation:
    """Return the outermost op around a block or loop that holds nothing else."""
    top: Operation = op
    while isinstance(parent := top.parent_op(), ForOp) and only_child(parent) is top:
        top = parent
    return top


def loads_in(block: BlockOp) -> Iterator[LoadOp]:
    """Yield the loads of a block's regions."""
    return (op for region in block.regions_of_work for op in region.ops if isinstance(op, LoadOp))


def stores_in(block: BlockOp) -> Iterator[StoreOp]:
    """Yield the stores of a block's regions."""
    return (op for region in block.regions_of_work for op in region.ops if isinstance(op, StoreOp))


def written(block: BlockOp) -> list[SSAValue]:
    """Return the buffers that a block writes, each once."""
    return list(dict.fromkeys(store.memref for store in stores_in(block)))


def read(block: BlockOp) -> list[SSAValue]:
    """Return the buffers that a block reads and does not write, in order of the first load."""
    mine = written(block)
    return [
        buffer
        for buffer in dict.fromkeys(load.memref for load in loads_in(block))
        if buffer not in mine
    ]


def accessors(buffer: SSAValue) -> list[BlockOp]:
    """Return the blocks that load from or store to a buffer, each once, in order of use."""
    found: dict[BlockOp, None] = {}
    for use in buffer.uses:
        parent = use.operation.parent_op()
        if isinstance(parent, BlockOp):
            found[parent] = None
    return list(found)


def own_buffer(function: FuncOp, stage: str) -> tuple[BlockOp, AllocOp]:
    """Return a stage's block and the local buffer that it writes; refuses an output."""
    block = find_block(function, stage)
    buffers = written(block)
    if len(buffers) != 1 or not is_own(buffers[0]):
        refuse(
            block,
            f"stage {stage!r} does not write one buffer of its own",
            hint=f'give it one by cache_write "{stage}"',
        )
    alloc = buffers[0].owner
    assert isinstance(alloc, AllocOp)
    return block, alloc


def is_own(buffer: SSAValue) -> bool:
    """Return whether a buffer is the kernel's own and only blocks use it, under its own shape."""
    uses = (use.operation.parent_op() for use in buffer.uses)
    return isinstance(buffer.owner, AllocOp) and all(isinstance(op, BlockOp) for op in uses)


def access_exprs(access: LoadOp | StoreOp, block: BlockOp) -> list[AffineExpr | None]:
    """Return an access's indices over `block.indices`; None for a data-dependent one."""
    region = access.parent
    assert region is not None
    axes: dict[SSAValue, int] = {value: k for k, value in enumerate(region.args)}
    bindings = block.bindings.data.results
    known = [bindings[axes[value]] if value in axes else None for value in access.indices]
    return [_compose(expr, known) for expr in access.map.data.results]


def _compose(expr: AffineExpr, known: Sequence[AffineExpr | None]) -> AffineExpr | None:
    if any(known[position] is None for position in expr.used_dims()):
        return None
    replacements = [k if k is not None else AffineExpr.constant(0) for k in known]
    return expr.replace_dims_and_symbols(replacements, ())


def set_bindings(
    block: BlockOp,
    indices: Sequence[SSAValue],
    bindings: Sequence[AffineExpr],
    conditions: Sequence[AffineExpr],
) -> None:
    """Bind a block anew: simplified, each variable once, none that is not used."""
    ranges = ranges_of(indices)
    exprs = [simplify(expr, ranges) for expr in (*bindings, *conditions)]
    used = sorted(set[int]().union(*(expr.used_dims() for expr in exprs)))
    new_dims = [AffineExpr.constant(0)] * len(indices)
    for position, dim in enumerate(used):
        new_dims[dim] = AffineExpr.dimension(position)
    exprs = [expr.replace_dims_and_symbols(new_dims, ()) for expr in exprs]
    block.operands = [indices[dim] for dim in used]
    count = len(bindings)
    block.bindings = AffineMapAttr(AffineMap(len(used), 0, tuple(exprs[:count])))
    block.conditions = AffineMapAttr(AffineMap(len(used), 0, tuple(exprs[count:])))


def rebind(block: BlockOp, old: SSAValue, expr: AffineExpr, values: Sequence[SSAValue]) -> None:
    """Replace a loop variable in a block's bindings by an expression over `values`."""
    indices = [value for value in block.indices if value is not old]
    indices += [value for value in values if value not in indices]
    moved = expr.replace_dims_and_symbols(
        [AffineExpr.dimension(indices.index(value)) for value in values], ()
    )
    replacements = [
        moved if value is old else AffineExpr.dimension(indices.index(value))
        for value in block.indices
    ]
    set_bindings(
        block,
        indices,
        [e.replace_dims_and_symbols(replacements, ()) for e in block.bindings.data.results],
        [e.replace_dims_and_symbols(replacements, ()) for e in block.conditions.data.results],
    )


def add_condition(block: BlockOp, expr: AffineExpr, values: Sequence[SSAValue]) -> None:
    """Run a block only where `expr`, over `values`, is >= 0."""
    indices = [*block.indices, *(value for value in values if value not in block.indices)]
    moved = expr.replace_dims_and_symbols(
        [AffineExpr.dimension(indices.index(value)) for value in values], ()
    )
    conditions = [*block.conditions.data.results, moved]
    set_bindings(block, indices, block.bindings.data.results, conditions)


def replace_variable(loop: ForOp, expr: AffineExpr, values: Sequence[SSAValue]) -> None:
    """Replace a loop's variable by an expression over others in every block that is bound to it."""
    for use in list(loop.index.uses):
        assert isinstance(use.operation, BlockOp), "only blocks are bound to loop variables"
        if loop.index in use.operation.indices:
            rebind(use.operation, loop.index, expr, values)


def kinds_bound(loop: ForOp, block: BlockOp) -> set[Kind]:
    """Return the kinds of a block's axes that a loop's variable takes part in."""
    if loop.index not in block.indices:
        return set()
    position = list(block.indices).index(loop.index)
    pairs = zip(block.bindings.data.results, block.axis_kinds, strict=True)
    return {kind for expr, kind in pairs if position in expr.used_dims()}


def move_ops(source: Block, target: Block) -> None:
    """Move all ops of one block to the end of another."""
    for op in list(source.ops):
        op.detach()
        target.add_op(op)


def replace_op(old: Operation, new: Operation) -> None:
    """Put `new` where `old` stands and detach `old`; neither has results."""
    block = old.parent
    assert block is not None
    new.location = old.location
    block.insert_op_before(new, old)
    old.detach()
