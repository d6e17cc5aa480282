"""What looks on while passes run: the verifier, and what the options ask for."""

from __future__ import annotations

from nn_opt.driver.arguments import Options
from nn_opt.driver.timing import Clock
from nn_opt.instrument import Instrument
from nn_opt.instruments.verifying import VerifyEach


def make_instruments(options: Options, clock: Clock, part: int = 0) -> list[Instrument]:
    """Return what the options ask for; the clock is innermost, so that it times passes alone.

    part: the number of the part of the input, which has a folder of its own; 0 if it is whole.
    """
    instruments = _dumps(options, part)
    if options.check is not None:
        from nn_opt.check import Checker

        instruments.append(Checker(options.check))
    if options.verify_each:
        instruments.append(VerifyEach())
    return [*instruments, clock]


def _dumps(options: Options, part: int) -> list[Instrument]:
    full = options.print_before or options.print_after or options.print_after_change
    if not (full or options.print_change or options.print_tree_dir):
        return []
    from nn_opt.driver.dumps import Changes, Dump, TreeDump

    found: list[Instrument] = []
    if full:
        change = options.print_after_change
        found.append(Dump(options.print_before, options.print_after, change))
    if options.print_change:
        found.append(Changes())
    if options.print_tree_dir:
        folder = options.print_tree_dir
        found.append(TreeDump(f"{folder}/{part}" if part else folder))
    return found
