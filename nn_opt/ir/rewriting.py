"""The one way that patterns and conversions are run: locations survive."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, FusedLoc, LocationAttr, NoneAttr, UnknownLoc
from xdsl.ir import Operation, Region
from xdsl.pattern_rewriter import (
    GreedyRewritePatternApplier,
    PatternRewriter,
    PatternRewriterListener,
    PatternRewriteWalker,
    RewritePattern,
)
from xdsl.rewriter import InsertPoint

from nn_opt.ir.counters import Counted, active_counter, counted_sweep, describe
from nn_opt.ir.resources import let_go

Rule: TypeAlias = Callable[[Any, PatternRewriter], None]
"""What a conversion does with one type of op: replace or erase it through the rewriter."""


def fuse_locations(*ops: Operation) -> LocationAttr:
    """Return one location for what replaces several ops: theirs in order, each once."""
    places = list(dict.fromkeys(op.location for op in ops if not _is_unknown(op)))
    if len(places) > 1:
        return FusedLoc(ArrayAttr(places), NoneAttr())
    return places[0] if places else UnknownLoc()


def _is_unknown(op: Operation) -> bool:
    return isinstance(op.location, UnknownLoc)


def carry_location(location: LocationAttr, new_ops: list[Operation]) -> None:
    """Give each new op, and what is in it, the location unless it has one."""
    for root in new_ops:
        for op in root.walk() if root.regions else (root,):
            if _is_unknown(op):
                op.location = location


@dataclass(eq=False, repr=False)
class LocatingWalker(PatternRewriteWalker):
    """A walker whose new ops carry the location of the op that was matched."""

    _inserted: list[Operation] = field(default_factory=list[Operation], init=False)

    def _process_worklist(self, listener: PatternRewriterListener) -> bool:
        changed = False
        listener.operation_insertion_handler.insert(0, self._inserted.append)
        while self._worklist:
            op = self._worklist.pop()
            location = op.location
            rewriter = PatternRewriter(op)
            rewriter.extend_from_listener(listener)
            self.pattern.match_and_rewrite(op, rewriter)
            changed |= rewriter.has_done_action
            if self._inserted:
                carry_location(location, self._inserted)
                self._inserted.clear()
        listener.operation_insertion_handler.remove(self._inserted.append)
        return changed


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
    inserted: list[Operation] = []
    listener = PatternRewriterListener(
        operation_insertion_handler=[inserted.append],
        operation_removal_handler=[lambda op: gone.update(op.walk())],
    )
    counter = active_counter()
    pending = [op for op in root.walk(region_first=inner_first) if type(op) in rules]
    for op in pending:
        if op in gone or op is root:
            continue
        if counter is not None and counter.spent:
            return
        location, what = op.location, describe(op) if counter is not None else ""
        rewriter = PatternRewriter(InsertPoint.before(op))
        rewriter.extend_from_listener(listener)
        rules[type(op)](op, rewriter)
        if counter is not None and rewriter.has_done_action:
            counter.count(what)
        if inserted:
            carry_location(location, inserted)
            inserted.clear()
