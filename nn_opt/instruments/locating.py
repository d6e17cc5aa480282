"""`--verify-locations`: no pass leaves operations of which nobody knows where they come from."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from nn_opt.instrument import Instrument
from nn_opt.ir.diagnostics import Complaints, Diagnostic, DiagnosticError, locate, name_of
from nn_opt.ir.locations import is_unknown


class VerifyLocations(Instrument):
    """Refuse a pass that leaves operations without a location, if it was given none.

    >>> import nn_opt
    >>> from xdsl.dialects.func import FuncOp
    >>> @nn_opt.register_pass
    ... class AddFunctionPass(nn_opt.ModulePass):
    ...     '''Declare a function.'''
    ...     name = "add-function"
    ...     def apply(self, ctx, op):
    ...         op.body.block.add_op(FuncOp.external("g", [], []))
    >>> module = nn_opt.parse('''func.func @f() {
    ...   func.return
    ... }''')
    >>> try:
    ...     nn_opt.Pipeline("add-function").run(module, instruments=[nn_opt.VerifyLocations()])
    ... except nn_opt.DiagnosticError as error:
    ...     print(error)
    <text>:1:1: error: func.func: --add-function left 1 operation(s) without a location
      hint: make them in `with located(op):` of nn_opt.ir.locations, op being their origin
    """

    def before_pass(self, step: ModulePass, module: ModuleOp) -> None:
        self._applies = next(_lost(module), None) is None

    def after_pass(self, step: ModulePass, module: ModuleOp) -> None:
        lost = list(_lost(module)) if self._applies else []
        if not lost:
            return
        problem = f"--{step.name} left {len(lost)} operation(s) without a location"
        hint = "make them in `with located(op):` of nn_opt.ir.locations, op being their origin"
        found = Diagnostic("error", _near(lost[0]), problem, name_of(lost[0]), hint)
        raise DiagnosticError(Complaints([found]))


def _lost(module: ModuleOp) -> Iterator[Operation]:
    return (op for op in module.walk() if is_unknown(op))


def _near(op: Operation) -> str:
    """Return the place of the innermost op around that has one."""
    outer: Operation | None = op
    while outer is not None and is_unknown(outer):
        outer = outer.parent_op()
    return locate(outer if outer is not None else op)
