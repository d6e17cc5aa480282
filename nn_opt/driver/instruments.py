"""What looks on in a run: the instruments that the options ask for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from nn_opt.driver.arguments import Options
from nn_opt.driver.flags import ALL
from nn_opt.instrument import Instrument
from nn_opt.instruments.counters import DebugCounter, DisablePass, known, parse_limits
from nn_opt.instruments.remarks import Remarks
from nn_opt.instruments.statistics import Statistics
from nn_opt.instruments.timing import Timing
from nn_opt.instruments.verifying import VerifyEach

if TYPE_CHECKING:
    from nn_opt.instruments.patterns import PatternStatistics
    from nn_opt.instruments.reproducer import CrashReproducer


class Progress(Instrument):
    """Knows which pass runs, or has failed, for the message about a mistake of ours."""

    step: ModulePass | None = None

    def before_pass(self, step: ModulePass, module: ModuleOp) -> None:
        self.step = step

    def after_pass(self, step: ModulePass, module: ModuleOp) -> None:
        self.step = None


class Reports:
    """What is measured over all parts of the input, and told at the end."""

    def __init__(self, options: Options) -> None:
        self.timing = Timing()
        self._told: list[tuple[Timing | Statistics | PatternStatistics, str]] = []
        if options.timing is not None:
            self._told.append((self.timing, options.timing))
        if options.statistics is not None:
            self._told.append((Statistics(), options.statistics))
        if options.pattern_statistics is not None:
            from nn_opt.instruments.patterns import PatternStatistics

            self._told.append((PatternStatistics(), options.pattern_statistics))

    @property
    def instruments(self) -> list[Instrument]:
        """What measures."""
        return [instrument for instrument, _ in self._told]

    def __str__(self) -> str:
        return "".join(
            instrument.json() if form == "json" else str(instrument)
            for instrument, form in self._told
        )


class Observers:
    """The instruments of a run on one part of the input.

    Raises: DiagnosticError for a value of an option that an instrument refuses.
    """

    def __init__(self, options: Options, reports: Reports) -> None:
        self.progress, self.remarks, self.reports = Progress(), Remarks(), reports
        self.counter = DebugCounter(parse_limits(options.debug_counter))
        self.disabled = DisablePass(*options.disable_pass)
        for when, names in (("before", options.print_before), ("after", options.print_after)):
            for name in names:
                if name != ALL:
                    known(f"--print-ir-{when}", name)
        self._options = options
        self._reproducer: CrashReproducer | None = None

    @property
    def note(self) -> str:
        """What the reproducer says about a failure, if there is one."""
        return self._reproducer.note if self._reproducer is not None else ""

    def instruments(self, part: int = 0) -> list[Instrument]:
        """Return them all, the outermost first.

        part: the number of the part of the input, which has a folder of its own; 0 if it is whole.
        """
        options = self._options
        found: list[Instrument] = [self.progress, self.disabled, self.counter, self.remarks]
        if options.crash_reproducer is not None:
            from nn_opt.instruments.reproducer import CrashReproducer

            flags = replay_flags(options)
            self._reproducer = CrashReproducer(options.crash_reproducer, flags, self.counter)
            found.append(self._reproducer)
        found += _dumps(options, part)
        if options.print_patterns:
            from nn_opt.instruments.patterns import PrintPatterns

            found.append(PrintPatterns())
        if options.check is not None:
            from nn_opt.check import Check

            found.append(Check(options.check))
        if options.verify_locations:
            from nn_opt.instruments.locating import VerifyLocations

            found.append(VerifyLocations())
        if options.verify_each:
            found.append(VerifyEach())
        return [*found, *self.reports.instruments]


def _dumps(options: Options, part: int) -> list[Instrument]:
    before, after = options.print_before, options.print_after
    changed, failed = options.print_after_change, options.print_after_failure
    full = before or after or changed or failed
    if not (full or options.print_change or options.print_tree_dir):
        return []
    from nn_opt.instruments.printing import PrintChanges, PrintIR, PrintIRTree

    found: list[Instrument] = []
    if full:
        found.append(PrintIR(before, after, changed=changed, failed=failed))
    if options.print_change:
        from nn_opt.driver.diagnostics import is_coloured

        found.append(PrintChanges(coloured=is_coloured(options.color)))
    if options.print_tree_dir:
        folder = options.print_tree_dir
        found.append(PrintIRTree(f"{folder}/{part}" if part else folder))
    return found


def replay_flags(options: Options) -> list[str]:
    """Return the flags, besides passes and counters, that decide what passes do."""
    flags = [f"--load={Path(f).resolve() if f.endswith('.py') else f}" for f in options.load]
    flags += [f"--disable-pass={name}" for name in options.disable_pass]
    if not options.verify_each:
        flags.append("--no-verify-each")
    if options.allow_unregistered_dialect:
        flags.append("--allow-unregistered-dialect")
    if options.check is not None:
        flags.append(f"--check={options.check}")
    return flags
