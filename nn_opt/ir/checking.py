"""What is wrong with a text, for editors and other tools that show diagnostics themselves."""

from __future__ import annotations

from xdsl.context import Context

from nn_opt.ir.diagnostics import Diagnostic, DiagnosticError, with_excerpts
from nn_opt.ir.parsing import make_context, parse_module
from nn_opt.ir.verify import problems_of


def check_text(text: str, filename: str, ctx: Context | None = None) -> list[Diagnostic]:
    """Return all that is wrong with the text of a module, nothing if it is well-formed.

    >>> for found in check_text("func.func @f() {\\n  func.return\\n}\\n" * 2, "m.mlir"):
    ...     print(found.severity, found.position, found.text)
    error ('m.mlir', 4, 1) func.func: symbol @f is defined twice
    """
    try:
        found = problems_of(parse_module(ctx or make_context(), text, filename))
    except DiagnosticError as error:
        found = error.diagnostics
    return [with_excerpts(diagnostic, {filename: text}) for diagnostic in found]
