"""What options may not be: a number below 0, two that exclude each other, a missing folder."""

from __future__ import annotations

import os
from argparse import Namespace

from nn_opt.ir.diagnostics import DiagnosticError


def check_values(known: Namespace) -> None:
    """Check the options of a command line.

    Raises: DiagnosticError for those that can do nothing.
    """
    for flag, value in (("--check", known.check), ("--error-limit", known.error_limit)):
        if value is not None and not value >= 0:
            raise DiagnosticError(f"error: {flag} is {value}, expected at least 0")
    _check_pairs(known)
    if known.debug_info and known.emit != "llvm-ir":
        hint = "--print-locations shows the places of IR"
        raise DiagnosticError(f"error: --debug-info needs --emit=llvm-ir\n  hint: {hint}")
    folder = os.path.dirname(known.output)
    if folder and not os.path.isdir(folder):  # it would be a pity to find out in the end
        raise DiagnosticError(f"{known.output}: error: No such file or directory")


def _check_pairs(known: Namespace) -> None:
    """Refuse options that do not go together."""
    if known.bisect is not None and known.reduce is not None:
        hint = "reduce what --bisect writes before the first pass that fails"
        raise DiagnosticError(f"error: --bisect and --reduce do not go together\n  hint: {hint}")
    for flag, value in (("--bisect", known.bisect), ("--reduce", known.reduce)):
        if value is not None and known.emit != "mlir":
            problem = f"error: {flag} and --emit={known.emit} do not go together"
            raise DiagnosticError(f"{problem}\n  hint: let nn-opt translate what comes out of it")
    if known.split_input_file:
        for flag, value in (("--emit-weights", known.emit_weights), ("--bisect", known.bisect)):
            if value is not None:
                problem = f"error: {flag} and --split-input-file do not go together"
                raise DiagnosticError(f"{problem}\n  hint: each part would write the same file")
