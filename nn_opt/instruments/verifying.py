"""`--verify-each`: no pass leaves what is not well-formed."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import VerifyException

from nn_opt.instrument import Instrument
from nn_opt.ir.diagnostics import DiagnosticError, with_note
from nn_opt.ir.verify import verify


class VerifyEach(Instrument):
    """Verify the module after each pass; the message says which pass broke it.

    `Pipeline.run` does so by itself, unless it is told `verify=False`.
    """

    def after_pass(self, step: ModulePass, module: ModuleOp) -> None:
        try:
            verify(module)
        except VerifyException as error:
            raise DiagnosticError(with_note(error, f"this is what --{step.name} left")) from error
