"""The greedy driver: rewrite ops, and what that may have made rewritable, until all is at rest.

It replaces xDSL's `PatternRewriteWalker` and `GreedyRewritePatternApplier`: ops are visited in the
same order, but patterns are looked up by the type of the op, a folded constant exists once a
region, and nothing is made for an op that no pattern is for.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, runtime_checkable

from xdsl.context import Context
from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Operation, OpResult, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, PatternRewriterListener, RewritePattern
from xdsl.utils.exceptions import PassFailedException

from nn_opt.ir.copying import all_ops
from nn_opt.ir.counters import Counter, describe
from nn_opt.ir.dead_code import Busy, is_dead
from nn_opt.ir.diagnostics import complaint
from nn_opt.ir.folding import Folds, folder_of, is_constant
from nn_opt.ir.locations import current_place, fused, set_place
from nn_opt.ir.surgery import QuickRewriter
from nn_opt.ir.watching import Watched, Watcher, note_attempt, title_of

Apply: TypeAlias = Callable[[Any, PatternRewriter], None]
Sweep: TypeAlias = Callable[[Region, PatternRewriterListener], bool]

_ENOUGH, _PER_OP = 20_000, 200  # rewrites after which patterns are taken to undo each other
_SHOWN = 8  # of the last rewrites, in the message about that


@runtime_checkable
class ByType(Protocol):
    """Stands for several patterns, which depend on the type of op."""

    def patterns_for(self, op_type: type[Operation]) -> Sequence[RewritePattern]:
        """Return the patterns to try on ops of a type."""
        ...


class NeedsConstant:
    """Mixin, or a class in `patterns_that_need_a_constant`: no match without a constant operand."""


# Patterns of others of which this is known.
patterns_that_need_a_constant: set[type[RewritePattern]] = set()


@dataclass(frozen=True)
class _Step:
    """A pattern as the driver applies it."""

    apply: Apply
    pattern: RewritePattern
    needs_constant: bool


@dataclass(frozen=True)
class _Rules:
    """What may be done with ops of one type."""

    fold: Callable[[Operation], Sequence[Any] | None] | None
    fold_needs_constant: bool
    steps: tuple[_Step, ...]

    @property
    def idle(self) -> bool:
        """Whether there is nothing to try."""
        return self.fold is None and not self.steps


def roots_of(pattern: RewritePattern) -> Any:
    """Return the op types that a pattern is for, as `issubclass` takes them.

    They are the class attribute `roots`, or what `op_type_rewrite_pattern` read from a signature.
    """
    explicit = getattr(pattern, "roots", None)
    if explicit is not None:
        return explicit
    return _enclosed(pattern, "expected_type") or Operation


def _enclosed(pattern: RewritePattern, name: str) -> Any:
    """Return a variable that xDSL's decorator of `match_and_rewrite` holds, if it was used."""
    method: Any = type(pattern).match_and_rewrite
    names = method.__code__.co_freevars if hasattr(method, "__code__") else ()
    if method.__module__ != "xdsl.pattern_rewriter" or name not in names:
        return None
    return method.__closure__[names.index(name)].cell_contents


def _step(pattern: RewritePattern, watchers: tuple[Watcher, ...]) -> _Step:
    kind = type(pattern)
    needs = isinstance(pattern, NeedsConstant) or kind in patterns_that_need_a_constant
    if watchers:
        return _Step(Watched(pattern, watchers).match_and_rewrite, pattern, needs)
    inner = _enclosed(pattern, "func")  # past the check of the op's type, which the table is
    apply = pattern.match_and_rewrite if inner is None else inner.__get__(pattern, kind)
    return _Step(apply, pattern, needs)


@dataclass
class Greedy:
    """Applies patterns to regions.

    once: one sweep in program order; what is new or changed is not visited again.
    matched: called after each pattern that fired, but not for folds and dead code.
    """

    patterns: Sequence[RewritePattern]
    once: bool = False
    erase_dead: bool = True
    fold: Context | None = None
    after_sweep: Sweep | None = None
    counter: Counter | None = None
    watchers: tuple[Watcher, ...] = ()
    matched: Callable[[], None] | None = None
    gone: list[Operation] = field(default_factory=list[Operation])

    def __post_init__(self) -> None:
        self._rules: dict[type[Operation], _Rules] = {}
        self._stack: list[Operation] = []
        self._pending: set[int] = set()  # ids of what is to be visited; all are in the stack
        self._busy: Busy = {}
        self._inserted: list[Operation] = []
        self._merged: list[Operation] = []
        self._count, self._limit = 0, 0
        self._recent: deque[str] = deque(maxlen=_SHOWN)
        self._folds = Folds(self.fold) if self.fold is not None else None

    def run(self, region: Region) -> bool:
        """Rewrite what is in a region; return whether anything changed."""
        first = next((block.first_op for block in region.blocks if block.first_op), None)
        if first is None:
            return False
        rewriter = self._make_rewriter(first)
        outer = current_place()
        changed = False
        try:
            while self._sweep(region, rewriter):
                changed = True
                if self.once:
                    break
        finally:
            set_place(outer)
        return changed

    def _make_rewriter(self, first: Operation) -> QuickRewriter:
        rewriter = QuickRewriter(first)
        rewriter.operation_insertion_handler.append(self._note_insertion)
        rewriter.operation_removal_handler.append(self._note_removal)
        if not self.once:
            rewriter.operation_modification_handler.append(self._push)
            rewriter.operation_replacement_handler.append(self._note_replacement)
        return rewriter

    def _sweep(self, region: Region, rewriter: QuickRewriter) -> bool:
        """Visit all ops once, and again what that changes; return whether anything changed."""
        ops = all_ops(region.blocks)
        self._busy.clear()  # what is busy may have come to rest
        self._limit = max(self._limit, _ENOUGH + _PER_OP * len(ops))
        rules = self._rules_of
        dead, busy = self.erase_dead, self._busy
        seeds = [op for op in ops if not rules(type(op)).idle or (dead and is_dead(op, busy))]
        seeds.reverse()
        self._stack = seeds
        self._pending = set(map(id, seeds))
        changed = self._work(rewriter)
        if self.after_sweep is not None and not (self.counter and self.counter.spent):
            if self.after_sweep(region, rewriter):
                changed = True
                if self.counter is not None:
                    self.counter.count("dead code")
            self._inserted.clear()
            self._merged.clear()
        return changed

    def _work(self, rewriter: QuickRewriter) -> bool:
        changed = False
        stack, pending = self._stack, self._pending
        while stack:
            op = stack.pop()
            key = id(op)
            if key not in pending:
                continue
            pending.discard(key)
            what = ""
            if self.counter is not None:
                if self.counter.spent:
                    return changed
                what = describe(op)
            location = op.location
            rewriter.turn_to(op)
            self._visit(op, rewriter)
            if rewriter.has_done_action:
                changed = True
                self._settle(location)
                if self.counter is not None:
                    self.counter.count(what)
        return changed

    def _visit(self, op: Operation, rewriter: QuickRewriter) -> None:
        """Do the first thing that can be done with an op."""
        if self.erase_dead and is_dead(op, self._busy):
            rewriter.erase(op)
            return
        rules = self._rules_of(type(op))
        if rules.idle:
            return
        set_place(op.location)
        constant = None
        if rules.fold is not None and self._folds is not None:
            constant = reads_constant(op) if rules.fold_needs_constant else True
            if constant and self._folds.fold(op, rules.fold, rewriter):
                return
            constant = constant if rules.fold_needs_constant else None
        for step in rules.steps:
            if step.needs_constant:
                constant = reads_constant(op) if constant is None else constant
                if not constant:
                    continue
            try:
                step.apply(op, rewriter)
            except Exception as error:  # any: what is wrong is told on, with a place
                note_attempt(error, step.pattern, op)
                raise
            if rewriter.has_done_action:
                self._note_match(op, step)
                return

    def _rules_of(self, op_type: type[Operation]) -> _Rules:
        rules = self._rules.get(op_type)
        if rules is None:
            fold, needs = folder_of(op_type) if self.fold is not None else (None, False)
            steps = tuple(
                _step(pattern, self.watchers)
                for given in self.patterns
                for pattern in _resolved(given, op_type)
                if issubclass(op_type, roots_of(pattern))
            )
            rules = self._rules[op_type] = _Rules(fold, needs, steps)
        return rules

    def _note_match(self, op: Operation, step: _Step) -> None:
        if self.matched is not None:
            self.matched()
        self._count += 1
        if self._count > self._limit - _SHOWN and not self.once:
            self._recent.append(title_of(step.pattern))
            if self._count > self._limit:
                problem = _endless(sorted(set(self._recent)), self._count)
                hint = "a pattern must not match what another one, or itself, makes"
                raise PassFailedException(complaint(op, problem, hint=hint))

    def _settle(self, location: LocationAttr) -> None:
        """Give new ops the places of all that they replace."""
        if self._inserted:
            if self._merged:
                _fuse_into(self._inserted, location, self._merged)
            self._inserted.clear()
        self._merged.clear()

    def _push(self, op: Operation) -> None:
        key = id(op)
        if key not in self._pending:
            self._pending.add(key)
            self._stack.append(op)

    def _note_insertion(self, op: Operation) -> None:
        self._inserted.append(op)
        if not self.once:
            self._push(op)

    def _note_replacement(self, op: Operation, new: Sequence[SSAValue | None]) -> None:
        for result in op.results:
            use = result.first_use
            while use is not None:
                self._push(use._operation)
                use = use._next_use

    def _note_removal(self, op: Operation) -> None:
        """Forget an op; look again at what it alone, or with one other op, has read."""
        self.gone.append(op)
        self._merged.append(op)
        for value in op._operands:
            if type(value) is OpResult:
                if value.op._operands:  # constants aside
                    self._merged.append(value.op)
                if not self.once:
                    self._look_again(value, op)
        for inner in op.walk() if op.regions else (op,):
            self._pending.discard(id(inner))
            if self._folds is not None and not inner._operands:
                self._folds.forget(inner)

    def _look_again(self, value: OpResult, gone: Operation) -> None:
        """Visit the op of a value that has one reader left at most, and that reader."""
        other: Operation | None = None
        use = value.first_use
        while use is not None:
            user = use._operation
            use = use._next_use
            if user is gone or user is other:
                continue
            if other is not None:
                return
            other = user
        self._push(value.op)
        if other is not None:
            self._push(other)


def _endless(names: Sequence[str], count: int) -> str:
    if len(names) == 1:
        return f"{names[0]} goes on after {count} rewrites: it matches its own work"
    return f"{' and '.join(names)} go on after {count} rewrites: one undoes the other's work"


def _resolved(pattern: RewritePattern, op_type: type[Operation]) -> Sequence[RewritePattern]:
    return pattern.patterns_for(op_type) if isinstance(pattern, ByType) else (pattern,)


def reads_constant(op: Operation) -> bool:
    """Return whether an operand is the result of a constant."""
    for value in op._operands:
        if type(value) is OpResult and is_constant(type(value.op)):
            return True
    return False


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
