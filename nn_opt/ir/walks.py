"""xDSL's walks, clones and drops without recursion: same results, any depth, linear time.

xDSL 0.75 recurses once an op, a block and a region, and hands each op of a walk through all
generators around it. `install` puts these in the place of its methods; offered upstream, they are
the bodies of those methods.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from xdsl.ir import Block, IRNode, Operation, Region, SSAValue
from xdsl.traits import (
    EffectInstance,
    IsolatedFromAbove,
    MemoryEffect,
    RecursiveMemoryEffect,
    get_effects,
)
from xdsl.utils.exceptions import VerifyException

from nn_opt.ir.copying import all_ops, append, copy_op, set_operands


def _ops_of(regions: Sequence[Region], reverse: bool) -> Iterator[Operation]:
    """Yield the ops that lie directly in regions."""
    for region in reversed(regions) if reverse else regions:
        for block in reversed(region.blocks) if reverse else region.blocks:
            yield from reversed(block.ops) if reverse else block.ops


def _walk(ops: Iterator[Operation], reverse: bool, region_first: bool) -> Iterator[Operation]:
    """Yield ops and what is in them."""
    pending = [ops]
    owners: list[Operation] = []
    while pending:
        op = next(pending[-1], None)
        if op is None:
            pending.pop()
            if region_first and owners:
                yield owners.pop()
            continue
        if not region_first:
            yield op
        if op.regions:
            pending.append(_ops_of(op.regions, reverse))
            if region_first:
                owners.append(op)
        elif region_first:
            yield op


def walk_operation(
    self: Operation, *, reverse: bool = False, region_first: bool = False
) -> Iterator[Operation]:
    """Replace `Operation.walk`."""
    return _walk(iter((self,)), reverse, region_first)


def walk_block(
    self: Block, *, reverse: bool = False, region_first: bool = False
) -> Iterator[Operation]:
    """Replace `Block.walk`."""
    return _walk(iter(reversed(self.ops) if reverse else self.ops), reverse, region_first)


def walk_region(
    self: Region, *, reverse: bool = False, region_first: bool = False
) -> Iterator[Operation]:
    """Replace `Region.walk`."""
    return _walk(_ops_of((self,), reverse), reverse, region_first)


def _blocks_of(regions: Sequence[Region], reverse: bool) -> Iterator[Block]:
    for region in reversed(regions) if reverse else regions:
        yield from reversed(region.blocks) if reverse else region.blocks


def _walk_blocks(blocks: Iterator[Block], reverse: bool) -> Iterator[Block]:
    """Yield blocks and those in their ops; the outer ones first, or last in reverse."""
    pending: list[tuple[Iterator[Block], Block | None]] = [(blocks, None)]
    while pending:
        block = next(pending[-1][0], None)
        if block is None:
            owner = pending.pop()[1]
            if reverse and owner is not None:
                yield owner
            continue
        if not reverse:
            yield block
        ops = reversed(block.ops) if reverse else block.ops
        inner = (b for op in ops if op.regions for b in _blocks_of(op.regions, reverse))
        pending.append((inner, block))


def walk_blocks_of_operation(self: Operation, *, reverse: bool = False) -> Iterator[Block]:
    """Replace `Operation.walk_blocks`."""
    return _walk_blocks(_blocks_of(self.regions, reverse), reverse)


def walk_blocks_of_block(self: Block, *, reverse: bool = False) -> Iterator[Block]:
    """Replace `Block.walk_blocks`."""
    return _walk_blocks(iter((self,)), reverse)


def drop_all_references(self: IRNode) -> None:
    """Replace `drop_all_references` of operations, blocks and regions."""
    pending: list[Any] = [self]
    while pending:
        node = pending.pop()
        node.parent = None
        if isinstance(node, Operation):
            _drop_uses(node)
            pending += node.regions
        elif isinstance(node, Region):
            pending += node.blocks
        else:
            node._next_block = node._prev_block = None
            pending += node.ops


def _drop_uses(op: Any) -> None:
    for operand, use in zip(op._operands, op._operand_uses, strict=False):
        operand.remove_use(use)
    op._operand_uses = ()
    for successor, use in zip(op._successors, op._successor_uses, strict=False):
        successor.remove_use(use)
    op._successor_uses = ()
    op._successors = ()


def clone_operation(
    self: Operation,
    value_mapper: dict[SSAValue, SSAValue] | None = None,
    block_mapper: dict[Block, Block] | None = None,
    *,
    clone_name_hints: bool = True,
    clone_operands: bool = True,
) -> Operation:
    """Replace `Operation.clone`."""
    values = {} if value_mapper is None else value_mapper
    blocks = {} if block_mapper is None else block_mapper
    copy = copy_op(self, values, blocks, clone_name_hints)
    for source, target in zip(self.regions, copy.regions, strict=True):
        _clone_blocks(source, target, 0, values, blocks, clone_name_hints)
    if clone_operands:
        set_operands((self,), (copy,), values)
        for source, target in zip(self.regions, copy.regions, strict=True):
            set_operands(all_ops(source.blocks), all_ops(target.blocks), values)
    return copy


def clone_into(
    self: Region,
    dest: Region,
    insert_index: int | None = None,
    value_mapper: dict[SSAValue, SSAValue] | None = None,
    block_mapper: dict[Block, Block] | None = None,
    *,
    clone_name_hints: bool = True,
    clone_operands: bool = True,
) -> None:
    """Replace `Region.clone_into`."""
    assert dest != self
    values = {} if value_mapper is None else value_mapper
    blocks = {} if block_mapper is None else block_mapper
    index = len(dest.blocks) if insert_index is None else insert_index
    copies = _clone_blocks(self, dest, index, values, blocks, clone_name_hints)
    if clone_operands:
        set_operands(all_ops(self.blocks), all_ops(copies), values)


def _clone_blocks(
    region: Region,
    dest: Region,
    index: int,
    values: dict[SSAValue, SSAValue],
    blocks: dict[Block, Block],
    clone_name_hints: bool,
) -> list[Block]:
    """Copy the blocks of a region, and all that is in them, but for the operands; return them.

    Blocks go to their regions last, inner ones first: xDSL looks at all that is around a region
    that gets a block.
    """
    pending = [(region, dest, index)]
    filled: list[tuple[Region, list[Block], int]] = []
    while pending:
        source, target, index = pending.pop()
        copies = [_clone_arguments(block, values, clone_name_hints) for block in source.blocks]
        blocks.update(zip(source.blocks, copies, strict=True))
        filled.append((target, copies, index))
        for block, copy in zip(source.blocks, copies, strict=True):
            for op in block.ops:
                new = copy_op(op, values, blocks, clone_name_hints)
                append(copy, new)
                pending += [(r, n, 0) for r, n in zip(op.regions, new.regions, strict=True)]
    for target, copies, index in reversed(filled):
        target.insert_block(copies, index)
    return filled[0][1]


def _clone_arguments(
    block: Block, values: dict[SSAValue, SSAValue], clone_name_hints: bool
) -> Block:
    """Return an empty block with the arguments of another one."""
    copy = Block(arg_types=[argument.type for argument in block.args])
    for old, new in zip(block.args, copy.args, strict=True):
        new.location = old.location
        values[old] = new
        if clone_name_hints:
            new.name_hint = old.name_hint
    return copy


def verify_isolation(self: IsolatedFromAbove, op: Operation) -> None:
    """Replace `IsolatedFromAbove.verify`, which looks up from each operand to the op."""
    inside: set[int] = set()
    ops: list[Operation] = []
    pending = list(op.regions)
    while pending:
        for block in pending.pop().blocks:
            inside.update(map(id, block.args))
            for child in block.ops:
                ops.append(child)
                inside.update(map(id, child.results))
                if child.regions and not child.has_trait(IsolatedFromAbove):
                    pending += child.regions
    for child in ops:
        if any(id(o) not in inside for o in child._operands):  # pyright: ignore[reportPrivateUsage]
            text = f"Operation using value defined out of its IsolatedFromAbove parent: {child}"
            raise VerifyException(text)


def recursive_effects(
    cls: type[RecursiveMemoryEffect], op: Operation
) -> AbstractSet[EffectInstance] | None:
    """Replace `RecursiveMemoryEffect.get_effects`."""
    effects: set[EffectInstance] = set()
    pending = [op]
    while pending:
        for child in _ops_of(pending.pop().regions, reverse=False):
            traits = child.get_traits_of_type(MemoryEffect)
            if traits and all(type(trait) is RecursiveMemoryEffect for trait in traits):
                pending.append(child)
            elif (found := get_effects(child)) is None:
                return None
            else:
                effects |= found
    return effects


def install() -> None:
    """Put the methods of this file in the place of xDSL's."""
    for kind, methods in _METHODS.items():
        for name, method in methods.items():
            setattr(kind, name, method)


_METHODS: dict[type[Any], dict[str, Any]] = {
    Operation: {
        "walk": walk_operation,
        "walk_blocks": walk_blocks_of_operation,
        "clone": clone_operation,
        "drop_all_references": drop_all_references,
    },
    Block: {
        "walk": walk_block,
        "walk_blocks": walk_blocks_of_block,
        "drop_all_references": drop_all_references,
    },
    Region: {
        "walk": walk_region,
        "clone_into": clone_into,
        "drop_all_references": drop_all_references,
    },
    IsolatedFromAbove: {"verify": verify_isolation},
    RecursiveMemoryEffect: {"get_effects": classmethod(recursive_effects)},
}
