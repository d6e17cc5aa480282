"""`--bisect=CMD`: the first pass, and the first rewrite in it, after which a command fails."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import VerifyException

from nn_opt.driver.checks import Check, make_check, write_state
from nn_opt.instrument import Instrument
from nn_opt.instruments.reproducer import pipeline_text
from nn_opt.ir.counters import Counter, counting
from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.ir.verify import verify
from nn_opt.ir.watching import Tried, title_of, watching
from nn_opt.pipelines import run_passes

State = tuple[int, ModuleOp]
"""A module after so many passes or rewrites."""


@dataclass
class Search:
    """The module after `good[0]` steps is accepted, the one after `bad[0]` is not."""

    good: State
    bad: State
    advance: Callable[[State, int], ModuleOp]

    def narrow(self, check: Check) -> None:
        """Halve the distance until it is one; a state that `check` cannot see raises."""
        while self.bad[0] - self.good[0] > 1:
            middle = (self.good[0] + self.bad[0]) // 2
            state = (middle, self.advance(self.good, middle))
            if check.accepts(state[1]):
                self.good = state
            else:
                self.bad = state


@dataclass
class Rewrites:
    """Counts the rewrites of a pass, and keeps what the last one was."""

    counter: Counter
    _fired: tuple[int, str] = (0, "")  # by its number, the pattern that fired last

    @contextmanager
    def looking_on(self) -> Generator[None]:
        """While active, rewrites are counted."""
        with counting(self.counter), watching([self]):
            yield

    def before_pattern(self, pattern: Tried, op: Operation) -> None:
        pass

    def after_pattern(self, pattern: Tried, op: Operation, changed: bool) -> None:
        if changed:
            self._fired = self.counter.seen + 1, title_of(pattern)

    @property
    def last(self) -> str:
        """The last rewrite: its op and, unless that was folded or dead, the pattern."""
        number, pattern = self._fired
        by = f" by {pattern}" if number == self.counter.seen else ""
        return f"{self.counter.last}{by}"


def bisect(
    ctx: Context,
    module: ModuleOp,
    passes: Sequence[ModulePass],
    command: str,
    output: str,
    instruments: Sequence[Instrument] = (),
) -> str:
    """Return a report; the modules before and after go to files whose names begin with `output`.

    instruments: what looks on while passes run, not while their rewrites are counted.
    If the command succeeds again along the way, any pass that makes it fail may be the one found.
    Raises: DiagnosticError if the command fails before all passes, or not even after them.
    """
    with make_check("--bisect", command) as check:
        search = _search_passes(ctx, module, passes, check, instruments)
        number = search.bad[0]
        step = passes[number - 1]
        report = f"--{step.name} (pass {number} of {len(passes)}) makes the command fail\n"
        report += f"  pass:   {pipeline_text([step])}\n"
        report += _files(search, f"{output}.pass") + _rewrites(ctx, step, search, check, output)
        return report + f"  {check.runs} runs of the command\n"


def _search_passes(
    ctx: Context,
    module: ModuleOp,
    passes: Sequence[ModulePass],
    check: Check,
    instruments: Sequence[Instrument],
) -> Search:
    def advance(start: State, stop: int) -> ModuleOp:
        reached = start[1].clone()
        run_passes(ctx, reached, passes[start[0] : stop], instruments)
        return reached

    if not check.accepts(module):
        raise DiagnosticError(
            "error: --bisect: the command fails on the input already\n"
            "  hint: it has to exit with 0 as long as all is well"
        )
    last = advance((0, module), len(passes))
    if check.accepts(last):
        raise DiagnosticError("error: --bisect: the command succeeds after all passes")
    search = Search((0, module), (len(passes), last), advance)
    search.narrow(check)
    return search


def _rewrites(ctx: Context, step: ModulePass, outer: Search, check: Check, output: str) -> str:
    """Return which rewrite of a pass it is, as far as its debug counter tells."""
    before, after = outer.good[1], outer.bad[1]
    seen: dict[int, Rewrites] = {}

    def advance(_: State, stop: int) -> ModuleOp:
        seen[stop] = Rewrites(Counter(stop))
        reached = before.clone()
        with seen[stop].looking_on():
            step.apply(ctx, reached)
        verify(reached)
        return reached

    everything = Rewrites(Counter())
    with everything.looking_on():
        step.apply(ctx, before.clone())
    count = everything.counter.seen
    if not count:
        return "  it counts no rewrites, so there is nothing smaller to name\n"
    search = Search((0, before), (count, after), advance)
    try:
        none = advance((0, before), 0)
        if not check.accepts(none):
            return "  the command fails even if none of its rewrites happen\n"
        search.good = (0, none)
        search.narrow(check)
    except VerifyException:
        return "  its rewrites are needed all together, so there is nothing smaller to name\n"
    number = search.bad[0]
    report = f"  rewrite {number} of {count}: {seen.get(number, everything).last}"
    report += f" (--debug-counter={step.name}={number})\n"
    return report + _files(search, f"{output}.rewrite")


def _files(search: Search, prefix: str) -> str:
    """Write the modules on both sides; return the lines that name the files."""
    good = write_state(search.good[1], f"{prefix}-before.mlir")
    bad = write_state(search.bad[1], f"{prefix}-after.mlir")
    return f"  before: {good}\n  after:  {bad}\n"
