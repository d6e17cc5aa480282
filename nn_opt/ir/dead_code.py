"""Erasing what nobody reads, in one sweep from the last op to the first.

It replaces `xdsl.transforms.dead_code_elimination.region_dce`, which marks live ops in rounds.
Values are defined before they are read, save in graph regions, so that from the end on every reader
of an op has been judged before the op itself.
"""

from __future__ import annotations

from functools import cache
from typing import Any, TypeAlias

from xdsl.ir import Block, Operation, OpResult, Region
from xdsl.pattern_rewriter import PatternRewriterListener
from xdsl.traits import (
    IsTerminator,
    MemoryAllocEffect,
    MemoryEffect,
    MemoryFreeEffect,
    MemoryReadEffect,
    MemoryWriteEffect,
    NoMemoryEffect,
    RecursiveMemoryEffect,
    SymbolOpInterface,
)
from xdsl.transforms.dead_code_elimination import would_be_trivially_dead

from nn_opt.ir.recursion import unbounded
from nn_opt.ir.surgery import erase

_HARMLESS = (NoMemoryEffect, MemoryReadEffect)
_HARMFUL = (MemoryWriteEffect, MemoryAllocEffect, MemoryFreeEffect)


@cache
def _harmless(op_type: type[Operation]) -> bool | None:
    """Return whether ops of a class do nothing beyond their results; None: it depends on the op."""
    effects = op_type.get_traits_of_type(MemoryEffect)
    kinds = {_kind(effect) for effect in effects} or {False}
    return False if False in kinds else None if None in kinds else True


def _kind(effect: MemoryEffect) -> bool | None:
    """Return what an effect trait says of all ops alike, as `_harmless` does."""
    says: Any = type(effect).get_effects
    for answer, traits in ((True, _HARMLESS), (False, _HARMFUL)):
        for trait in traits:
            meant: Any = trait.get_effects
            if getattr(says, "__func__", says) is meant.__func__:
                return answer
    return None


@cache
def _recursive(op_type: type[Operation]) -> bool:
    """Return whether ops of a class do what the ops inside of them do, and nothing else."""
    effects = op_type.get_traits_of_type(MemoryEffect)
    return bool(effects) and all(type(effect) is RecursiveMemoryEffect for effect in effects)


@cache
def _may_go(op_type: type[Operation]) -> bool:
    return not any(
        op_type.has_trait(trait, value_if_unregistered=True)
        for trait in (IsTerminator, SymbolOpInterface)
    )


Busy: TypeAlias = dict[int, Operation]
"""Ops that have ops with effects inside, by place: not looked into again, or nests take long."""


def is_dead(op: Operation, busy: Busy) -> bool:
    """Return whether nothing would be missed: no result is read, and there is no effect.

    An op in `busy` is not dead; ops are added to it.
    """
    for result in op.results:
        if result.first_use is not None:
            return False
    op_type = type(op)
    if id(op) in busy or not _may_go(op_type):
        return False
    answer = _harmless(op_type)
    if answer is None and _recursive(op_type):
        answer = _harmless_inside(op, busy)
    return would_be_trivially_dead(op) if answer is None else answer


def _harmless_inside(op: Operation, busy: Busy) -> bool | None:
    """Return whether no op inside of another one does anything; None where only each op can say."""
    unsure = False
    pending = [op]
    while pending:  # no recursion: regions nest deeply
        outer = pending.pop()
        for region in outer.regions:
            for block in region.blocks:
                inner = block.first_op
                while inner is not None:
                    kind = type(inner)
                    answer = False if id(inner) in busy else _harmless(kind)
                    if answer is False:
                        _note_busy(outer, op, busy)
                        return False
                    if answer is None and _recursive(kind):
                        pending.append(inner)
                    else:
                        unsure |= answer is None
                    inner = inner.next_op
    return None if unsure else True


def _note_busy(inner: Operation, outer: Operation, busy: Busy) -> None:
    """Add an op, and those around it up to another one."""
    op: Operation | None = inner
    while op is not None:
        busy[id(op)] = op
        op = None if op is outer else op.parent_op()


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
        self._busy: Busy = {}

    @unbounded
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
                if is_dead(op, self._busy):
                    self._erase(op, suspects)
                else:
                    for inner in op.regions:
                        self.region(inner)
                op = previous
        while suspects:
            op = suspects.pop()
            if op.parent is not None and is_dead(op, self._busy):
                self._erase(op, suspects)

    def _erase(self, op: Operation, suspects: list[Operation]) -> None:
        self.changed = True
        if self._listener is not None:
            self._listener.handle_operation_removal(op)
        suspects += [value.op for value in op.operands if isinstance(value, OpResult)]
        erase(op)

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
