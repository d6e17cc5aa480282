"""`nn-opt completion SHELL`: what makes a shell complete options, passes, pipelines and files."""

from __future__ import annotations

import argparse

from nn_opt.ir.diagnostics import DiagnosticError


def script(shell: str) -> str:
    """Return the completion script of a shell, to be read by it at its start.

    Raises: DiagnosticError for a shell that is not supported.
    """
    import shtab

    if shell not in shtab.SUPPORTED_SHELLS:
        known = ", ".join(shtab.SUPPORTED_SHELLS)
        problem = f"completion: unknown shell '{shell}'" if shell else "completion: which shell?"
        raise DiagnosticError(f"error: {problem}\n  hint: there are {known}")
    return shtab.complete(_parser(), shell).rstrip("\n") + "\n"


def _parser() -> argparse.ArgumentParser:
    """Return the parser of the tool, with a flag for each pass and pipeline."""
    import shtab

    from nn_opt.driver.flags import make_parser
    from nn_opt.driver.listing import pass_summary
    from nn_opt.pipelines import PIPELINES
    from nn_opt.registry import PASSES

    parser = make_parser()
    for action in parser._actions:  # pyright: ignore[reportPrivateUsage]
        if action.dest in FILES or not action.option_strings:
            action.complete = shtab.FILE  # pyright: ignore[reportAttributeAccessIssue]
    passes = parser.add_argument_group("passes")
    for name in PASSES:
        summary = pass_summary(name).replace("%", "%%")
        passes.add_argument(f"--{name}", action="store_true", help=summary)
    for name in PIPELINES:
        passes.add_argument(f"--{name}", action="store_true", help="a pipeline")
    return parser


FILES = frozenset(
    {"output", "weights", "emit_weights", "crash_reproducer", "pass_pipeline_file", "apply_pdl"}
)
