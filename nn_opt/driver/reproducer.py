"""`--crash-reproducer=FILE`: what a failing pass was given, in a file that replays the failure."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from nn_opt.driver.arguments import Options
from nn_opt.driver.counters import Counters, parse_counters
from nn_opt.instrument import Instrument
from nn_opt.ir.diagnostics import Diagnostic, DiagnosticError
from nn_opt.ir.files import write_text
from nn_opt.ir.printing import print_module
from nn_opt.pipeline_text import FUNCTION
from nn_opt.plans import Group, Member, OnFunctions, print_plan, steps_of

_HEADER = "// nn-opt-arguments: "


class Progress(Instrument):
    """Know which pass runs, for the message about a mistake of ours."""

    def __init__(self, counters: Counters) -> None:
        self.step: ModulePass | None = None
        self.counters = counters

    def before_pass(self, step: ModulePass, module: ModuleOp) -> None:
        self.step = step

    def after_pass(self, step: ModulePass, module: ModuleOp) -> None:
        self.step = None

    def written(self, error: Exception) -> str:
        """Return a note for the message about `error`, if there is more to say."""
        return ""


class Recorder(Progress):
    """Keep the module as it was before the pass that runs, and write it if the pass fails."""

    def __init__(self, options: Options, plan: Sequence[Member], counters: Counters):
        super().__init__(counters)
        self._options = options
        self._pending = list(steps_of(plan))
        self._counts: list[str] = []
        self._module: ModuleOp | None = None

    def before_pass(self, step: ModulePass, module: ModuleOp) -> None:
        super().before_pass(step, module)
        self._module = module.clone()
        self._counts = self.counters.left()

    def after_pass(self, step: ModulePass, module: ModuleOp) -> None:
        super().after_pass(step, module)
        self._pending.pop(0)
        self._module = None

    def written(self, error: Exception) -> str:
        """Write the reproducer if a pass failed; return a note that says so."""
        path = self._options.crash_reproducer
        if self._module is None or path is None:
            return ""
        failure = str(error).split("\n")[0]
        head = f"// Replay it with nn-opt --run-reproducer. It ended in: {failure}\n"
        try:
            arguments = [*self._arguments(), *save_beside(self._module, path)]
            head += f"{_HEADER}{shlex.join(arguments)}\n"
            write_text(path, head + print_module(self._module, locations=True))
        except DiagnosticError as problem:
            return f"no reproducer was written: {problem}"
        return f"nn-opt --run-reproducer {path} replays this"

    def _arguments(self) -> list[str]:
        """Return the flags that decide what the pending passes do."""
        options = self._options
        flags = [f"--pass-pipeline={pipeline_text(self._pending)}"]
        flags += [f"--debug-counter={text}" for text in self._counts]
        if not options.verify_each:
            flags.append("--no-verify-each")
        if options.allow_unregistered_dialect:
            flags.append("--allow-unregistered-dialect")
        if options.check is not None:
            flags.append(f"--check={options.check}")
        return flags


def save_beside(module: ModuleOp, path: str) -> list[str]:
    """Write the weights of a module to PATH.safetensors, if it has any; return the flag for them.

    The flag names the file without its folder, so that both files may move.
    """
    from nn_opt.ir.weights import resources, save_weights

    found = [attribute for _, _, attribute in resources(module)]
    if not found or any(attribute.data.array is None for attribute in found):
        return []
    file = f"{path}.safetensors"
    save_weights(module, file)
    return [f"--weights={Path(file).name}"]


def pipeline_text(passes: Sequence[ModulePass]) -> str:
    """Return passes as --pass-pipeline takes them, in one line."""
    plan = [Group(FUNCTION, (step,)) if isinstance(step, OnFunctions) else step for step in passes]
    return "".join(line.strip() for line in print_plan(plan).splitlines())


def recorded_arguments(path: str) -> list[str]:
    """Return the flags that a reproducer was written with; its weights lie beside it.

    Raises: DiagnosticError for a file that is no reproducer.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8").split("\n", 2)
    except (OSError, UnicodeDecodeError) as error:
        problem = getattr(error, "strerror", None) or "this is no UTF-8 text"
        raise DiagnosticError(f"{path}: error: {problem}") from error
    found = [line.removeprefix(_HEADER) for line in lines[:2] if line.startswith(_HEADER)]
    if not found:
        hint = "--crash-reproducer=FILE writes one when a pass fails"
        raise DiagnosticError(f"{path}:1:1: error: this is no reproducer\n  hint: {hint}")
    flag = "--weights="
    return [
        f"{flag}{Path(path).parent / text.removeprefix(flag)}" if text.startswith(flag) else text
        for text in shlex.split(found[0])
    ]


def internal_error(filename: str, error: Exception, step: ModulePass | None) -> Diagnostic:
    """Return what to say about a mistake of ours: one line, and how to see more."""
    place = f" in --{step.name}" if step is not None else ""
    text = f"{type(error).__name__}: {error}".split("\n")[0]
    hint = "--debug shows the traceback, --crash-reproducer=FILE keeps what the pass was given"
    return Diagnostic("error", filename, f"internal error{place}: {text}", hint=hint)


def watch(options: Options, plan: Sequence[Member]) -> Progress:
    """Return what follows the passes and knows what to say, or to write, if one fails.

    Raises: DiagnosticError for a debug counter of no pass.
    """
    counters = Counters(parse_counters(options.debug_counter))
    if options.crash_reproducer is None:
        return Progress(counters)
    return Recorder(options, plan, counters)
