"""`--run-reproducer`, and what is said of a mistake of ours."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from xdsl.passes import ModulePass

from nn_opt.instruments.reproducer import HEADER
from nn_opt.ir.diagnostics import Diagnostic, DiagnosticError


def recorded_arguments(path: str) -> list[str]:
    """Return the flags that a reproducer was written with; its weights lie beside it.

    Raises: DiagnosticError for a file that is no reproducer.
    """
    if path == "-":
        problem = "error: --run-reproducer needs a file, as weights may lie beside it"
        raise DiagnosticError(f"{problem}\n  hint: nn-opt --run-reproducer FILE")
    try:
        lines = Path(path).read_text(encoding="utf-8").split("\n", 2)
    except (OSError, UnicodeDecodeError) as error:
        problem = getattr(error, "strerror", None) or "this is no UTF-8 text"
        raise DiagnosticError(f"{path}: error: {problem}") from error
    found = [line.removeprefix(HEADER) for line in lines[:2] if line.startswith(HEADER)]
    if not found:
        hint = "--crash-reproducer=FILE writes one when a pass fails"
        raise DiagnosticError(f"{path}:1:1: error: this is no reproducer\n  hint: {hint}")
    flag = "--weights="
    return [
        f"{flag}{Path(path).parent / text.removeprefix(flag)}" if text.startswith(flag) else text
        for text in shlex.split(found[0])
    ]


def internal_error(
    filename: str, error: Exception, step: ModulePass | None, *, kept: bool = False
) -> Diagnostic:
    """Return what to say about a mistake of ours, or of a loaded file: one line, and a hint.

    kept: there is a reproducer already.
    """
    place = f" in --{step.name}" if step is not None else ""
    if isinstance(error, RecursionError):  # regions are no reason: they change stacks
        problem = f"types, attributes or locations are nested too deeply{place}"
        return Diagnostic("error", filename, problem)
    text = f"{type(error).__name__}: {error}".split("\n")[0]
    hint = "--debug shows the traceback"
    hint += "" if kept else ", --crash-reproducer=FILE keeps what the pass was given"
    if "nn_opt.driver.loading" in sys.modules:
        from nn_opt.driver.loading import place_of

        if line := place_of(error):
            return Diagnostic("error", line, f"{text}{place}", hint=hint)
    return Diagnostic("error", filename, f"internal error{place}: {text}", hint=hint)
