"""The one way that patterns and conversions are run: locations survive."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Operation, OpResult, Region
from xdsl.pattern_rewriter import (
    GreedyRewritePatternApplier,
    PatternRewriter,
    PatternRewriterListener,
    PatternRewriteWalker,
    RewritePattern,
)
from xdsl.rewriter import InsertPoint

from nn_opt.ir.counters import Counted, active_counter, counted_sweep, describe
from nn_opt.ir.locations import carry_location as carry_location
from nn_opt.ir.locations import current_place, fused, set_place
from nn_opt.ir.locations import fuse_locations as fuse_locations
from nn_opt.ir.locations import located as located
from nn_opt.ir.sidecar import let_go

Rule: TypeAlias = Callable[[Any, PatternRewriter], None]
"""What a conversion does with one type of op: replace or erase it through the rewriter."""


@dataclass(eq=False, repr=False)
class LocatingWalker(PatternRewriteWalker):
    """A walker whose new ops carry the location of the op that was matched.

    If others went with it, or are read by nobody any more, new ops carry theirs, too.
    """

    _inserted: list[Operation] = field(default_factory=list[Operation], init=False)
    _merged: list[Operation] = field(default_factory=list[Operation], init=False)

    def _process_worklist(self, listener: PatternRewriterListener) -> bool:
        changed = False
        outer = current_place()
        inserted, merged = self._inserted, self._merged
        listener.operation_insertion_handler.insert(0, inserted.append)
        listener.operation_removal_handler.insert(0, self._note_removal)
        try:
            while self._worklist:
                op = self._worklist.pop()
                location = op.location
                set_place(location)
                rewriter = PatternRewriter(op)
                rewriter.extend_from_listener(listener)
                self.pattern.match_and_rewrite(op, rewriter)
                changed |= rewriter.has_done_action
                if inserted:
                    if merged:
                        _fuse_into(inserted, location, merged)
                    inserted.clear()
                merged.clear()
        finally:
            set_place(outer)
        listener.operation_insertion_handler.remove(inserted.append)
        listener.operation_removal_handler.remove(self._note_removal)
        return changed

    def _note_removal(self, op: Operation) -> None:
        """Note what goes, and what it alone may have read, constants aside."""
        self._merged.append(op)
        self._merged += [
            value.owner for value in op.operands if isinstance(value, OpResult) and value.op.operands
        ]


def _fuse_into(inserted: list[Operation], location: LocationAttr, merged: list[Operation]) -> None:
    """Add the locations of what has become unread to new ops that have but the matched op's."""
    gone = [op for op in merged if not any(result.uses for result in op.results)]
    place = fused([location, *(op.location for op in gone)])
    if place is location:
        return
    for root in inserted:
        for op in root.walk() if root.regions else (root,):
            if op.location is location:
                op.location = place


def rewrite(
    root: Operation,
    *patterns: RewritePattern,
    once: bool = False,
    erase_dead: bool = True,
    fold: Context | None = None,
    after_sweep: Callable[[Region, PatternRewriterListener], bool] | None = None,
) -> bool:
    """Apply `patterns` below `root` until nothing changes; return whether anything did.

    once: one sweep in program order, new ops are not visited again.
    erase_dead: pure ops without readers go as they are met.
    fold: also run the ops' own folders, with this context.
    """
    applier: RewritePattern = GreedyRewritePatternApplier(
        list(patterns), ctx=fold, folding_enabled=fold is not None, dce_enabled=erase_dead
    )
    if counter := active_counter():
        applier = Counted(applier, counter)
        after_sweep = after_sweep and counted_sweep(after_sweep, counter)
    walker = LocatingWalker(applier, apply_recursively=not once, post_walk_func=after_sweep)
    gone: list[Operation] = []
    walker.listener.operation_removal_handler.append(gone.append)
    changes = [walker.rewrite_region(region) for region in root.regions]
    let_go(gone)
    return any(changes)


def convert(root: Operation, rules: Mapping[type[Operation], Rule], *, inner_first: bool = False):
    """Give each op below `root` to the rule of its exact type, once, in program order.

    An op that a rule inserts is not visited; an op that a rule erased before its turn neither.
    inner_first: ops inside a region come before the op that holds it.
    """
    gone: set[Operation] = set()
    listener = PatternRewriterListener(
        operation_removal_handler=[lambda op: gone.update(op.walk())],
    )
    counter = active_counter()
    pending = [op for op in root.walk(region_first=inner_first) if type(op) in rules]
    outer = current_place()
    try:
        for op in pending:
            if op in gone or op is root:
                continue
            if counter is not None and counter.spent:
                return
            what = describe(op) if counter is not None else ""
            set_place(op.location)
            rewriter = PatternRewriter(InsertPoint.before(op))
            rewriter.extend_from_listener(listener)
            rules[type(op)](op, rewriter)
            if counter is not None and rewriter.has_done_action:
                counter.count(what)
    finally:
        set_place(outer)
