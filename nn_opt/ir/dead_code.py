"""Erasing what nobody reads, in one sweep from the last op to the first.

It replaces `xdsl.transforms.dead_code_elimination.region_dce`, which marks live ops in rounds.
Values are defined before they are read, save in graph regions, so that from the end on every reader
of an op has been judged before the op itself.
"""

from __future__ import annotations

from functools import cache

from xdsl.ir import Block, Operation, OpResult, Region
from xdsl.pattern_rewriter import PatternRewriterListener
from xdsl.traits import (
    IsTerminator,
    MemoryEffect,
    MemoryReadEffect,
    NoMemoryEffect,
    SymbolOpInterface,
)
from xdsl.transforms.dead_code_elimination import would_be_trivially_dead

_HARMLESS = (NoMemoryEffect, MemoryReadEffect)


@cache
def erasable(op_type: type[Operation]) -> bool | None:
    """Return whether ops of a class may go once nobody reads them; None: it depends on the op."""
    if op_type.has_trait(IsTerminator, value_if_unregistered=True):
        return False
    if op_type.has_trait(SymbolOpInterface, value_if_unregistered=True):
        return False
    effects = op_type.get_traits_of_type(MemoryEffect)
    if all(isinstance(effect, _HARMLESS) for effect in effects):
        return bool(effects)
    return None


def is_dead(op: Operation) -> bool:
    """Return whether nothing would be missed: no result is read, and there is no effect."""
    for result in op.results:
        if result.first_use is not None:
            return False
    answer = erasable(type(op))
    return would_be_trivially_dead(op) if answer is None else answer


def erase_dead_code(region: Region, listener: PatternRewriterListener | None = None) -> bool:
    """Erase unread ops without effects below a region, and blocks that no path reaches.

    The listener is told of each op that goes, but not of those inside of it.
    """
    sweep = _Sweep(listener)
    sweep.region(region)
    return sweep.changed


class _Sweep:
    """One sweep; what is read before it is defined, in a graph region, has a second chance."""

    def __init__(self, listener: PatternRewriterListener | None) -> None:
        self.changed = False
        self._listener = listener

    def region(self, region: Region) -> None:
        """Erase what is dead in a region, the last op first."""
        entry = region.blocks.first
        if entry is None:
            return
        blocks = [entry]
        if entry is not region.blocks.last:
            blocks = _postorder(entry)
            self._erase_unreached(region, set(blocks))
        suspects: list[Operation] = []
        for block in blocks:
            op = block.last_op
            while op is not None:
                previous = op.prev_op
                if is_dead(op):
                    self._erase(op, suspects)
                else:
                    for inner in op.regions:
                        self.region(inner)
                op = previous
        while suspects:
            op = suspects.pop()
            if op.parent is not None and is_dead(op):
                self._erase(op, suspects)

    def _erase(self, op: Operation, suspects: list[Operation]) -> None:
        self.changed = True
        if self._listener is not None:
            self._listener.handle_operation_removal(op)
        suspects += [value.op for value in op.operands if isinstance(value, OpResult)]
        op.detach()
        op.erase()

    def _erase_unreached(self, region: Region, reached: set[Block]) -> None:
        gone = [block for block in region.blocks if block not in reached]
        for block in gone:
            if self._listener is not None:
                for op in block.ops:
                    self._listener.handle_operation_removal(op)
            region.detach_block(block)
        for block in gone:
            block.drop_all_references()
        for block in gone:
            self.changed = True
            block.erase(safe_erase=False)


def _postorder(entry: Block) -> list[Block]:
    """Return the reachable blocks, each after those that it dominates."""
    order: list[Block] = []
    seen = {entry}
    stack = [(entry, list(_successors(entry)))]
    while stack:
        block, ahead = stack[-1]
        if not ahead:
            order.append(block)
            stack.pop()
        elif (follower := ahead.pop()) not in seen:
            seen.add(follower)
            stack.append((follower, list(_successors(follower))))
    return order


def _successors(block: Block) -> tuple[Block, ...]:
    last = block.last_op
    return () if last is None else tuple(last.successors)
