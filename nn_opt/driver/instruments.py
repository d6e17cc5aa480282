"""What looks on while passes run: verifier, dumps, clock."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import VerifyException

from nn_opt.driver.arguments import Options
from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.ir.printing import print_module
from nn_opt.ir.verify import verify
from nn_opt.pipelines import Instrument


class VerifyEach:
    """Verify the module after each pass; the message says which pass broke it."""

    def before(self, step: ModulePass, module: ModuleOp) -> None:
        pass

    def after(self, step: ModulePass, module: ModuleOp) -> None:
        try:
            verify(module)
        except VerifyException as error:
            text = f"{error}\n  note: this is what --{step.name} left"
            raise DiagnosticError(text) from error


@dataclass
class Dump:
    """Print the module to stderr around the passes named, or around `all`."""

    names_before: list[str]
    names_after: list[str]
    on_change: bool
    _last: str = ""

    def before(self, step: ModulePass, module: ModuleOp) -> None:
        if self.on_change:
            self._last = print_module(module)
        if {step.name, "all"} & set(self.names_before):
            _dump(f"Before {step.name}", print_module(module))

    def after(self, step: ModulePass, module: ModuleOp) -> None:
        chosen = bool({step.name, "all"} & set(self.names_after))
        if not chosen and not self.on_change:
            return
        text = print_module(module)
        if chosen or text != self._last:
            _dump(f"After {step.name}", text)


def _dump(title: str, text: str) -> None:
    sys.stderr.write(f"// -----// IR Dump {title} //----- //\n{text}\n")


@dataclass
class Clock:
    """Time steps by name, in the order of their first start."""

    seconds: dict[str, float] = field(default_factory=dict[str, float])
    _start: float = 0.0

    def start(self) -> None:
        """Begin a step."""
        self._start = time.perf_counter()

    def stop(self, name: str) -> None:
        """End the step that was begun last."""
        spent = time.perf_counter() - self._start
        self.seconds[name] = self.seconds.get(name, 0.0) + spent

    def before(self, step: ModulePass, module: ModuleOp) -> None:
        self.start()

    def after(self, step: ModulePass, module: ModuleOp) -> None:
        self.stop(step.name)

    def report(self) -> str:
        """Return one line a step and the total, in milliseconds."""
        rows = [*self.seconds.items(), ("total", sum(self.seconds.values()))]
        lines = [f"{1000 * spent:10.1f} ms  {name}\n" for name, spent in rows]
        return "// timing\n" + "".join(lines)


def make_instruments(options: Options, clock: Clock) -> list[Instrument]:
    """Return what the options ask for; the clock is innermost, so that it times passes alone."""
    instruments: list[Instrument] = []
    if options.print_before or options.print_after or options.print_after_change:
        change = options.print_after_change
        instruments.append(Dump(options.print_before, options.print_after, change))
    if options.check is not None:
        from nn_opt.check import Checker

        instruments.append(Checker(options.check))
    if options.verify_each:
        instruments.append(VerifyEach())
    return [*instruments, clock]
