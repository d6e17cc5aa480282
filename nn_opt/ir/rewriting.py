"""The one way that patterns and conversions are run: locations survive."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from xdsl.context import Context
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, PatternRewriterListener, RewritePattern
from xdsl.rewriter import InsertPoint

from nn_opt.ir.counters import active_counter, describe
from nn_opt.ir.greedy import Greedy, Sweep
from nn_opt.ir.locations import carry_location as carry_location
from nn_opt.ir.locations import current_place, set_place
from nn_opt.ir.locations import fuse_locations as fuse_locations
from nn_opt.ir.locations import located as located
from nn_opt.ir.sidecar import let_go
from nn_opt.ir.watching import active_watchers, note_attempt, watched

Rule: TypeAlias = Callable[[Any, PatternRewriter], None]
"""What a conversion does with one type of op: replace or erase it through the rewriter."""


def rewrite(
    root: Operation,
    *patterns: RewritePattern,
    once: bool = False,
    erase_dead: bool = True,
    fold: Context | None = None,
    after_sweep: Sweep | None = None,
    matched: Callable[[], None] | None = None,
) -> bool:
    """Apply `patterns` below `root` until nothing changes; return whether anything did.

    New ops carry the location of the op that was matched, and of what else went with it.
    once: one sweep in program order, new ops are not visited again.
    erase_dead: pure ops without readers go as they are met.
    fold: also run the ops' own folders, with this context.
    after_sweep: what else to do in a region after its ops were visited; returns whether it changed.
    matched: called after each pattern that fired.
    Raises: PassFailedException if patterns undo each other's work.
    """
    driver = Greedy(
        patterns, once, erase_dead, fold, after_sweep, active_counter(), active_watchers(), matched
    )
    changes = [driver.run(region) for region in root.regions]
    let_go(driver.gone)
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
    counter, watchers = active_counter(), active_watchers()
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
            rule = rules[type(op)]
            apply = watched(rule, watchers) if watchers else rule
            try:
                apply(op, rewriter)
            except Exception as error:  # any: what is wrong is told on, with a place
                note_attempt(error, rule, op)
                raise
            if counter is not None and rewriter.has_done_action:
                counter.count(what)
    finally:
        set_place(outer)
