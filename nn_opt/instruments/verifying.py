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

    >>> import nn_opt
    >>> @nn_opt.register_pass
    ... class UnreturnedPass(nn_opt.ModulePass):
    ...     '''Break a function.'''
    ...     name = "unreturned"
    ...     def apply(self, ctx, op):
    ...         op.body.block.first_op.body.block.last_op.detach()
    >>> module = nn_opt.parse('''func.func @f(%x: f32) {
    ...   %y = arith.mulf %x, %x : f32
    ...   func.return
    ... }''')
    >>> try:
    ...     nn_opt.Pipeline("cse,unreturned").run(module)
    ... except nn_opt.DiagnosticError as error:
    ...     print(error)
    <text>:2:8: error: arith.mulf: ends a block of func.func, but is no terminator
      note: this is what --unreturned left
    """

    def after_pass(self, step: ModulePass, module: ModuleOp) -> None:
        try:
            verify(module)
        except VerifyException as error:
            raise DiagnosticError(with_note(error, f"this is what --{step.name} left")) from error
