"""func: calls and returns."""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    ReturnedValues,
    TerminatorValue,
    impl,
    impl_callable,
    impl_terminator,
    register_impls,
)
from xdsl.utils.exceptions import InterpretationError

from nn_opt.ir.diagnostics import complaint


@register_impls
class FuncFunctions(InterpreterFunctions):
    """Functions by name, values as they are."""

    @impl_terminator(func.ReturnOp)
    def run_return(
        self, interpreter: Interpreter, op: func.ReturnOp, args: PythonValues
    ) -> tuple[TerminatorValue, PythonValues]:
        return ReturnedValues(args), ()

    @impl(func.CallOp)
    def run_call(
        self, interpreter: Interpreter, op: func.CallOp, args: PythonValues
    ) -> PythonValues:
        return interpreter.call_op(op.callee, args)

    @impl_callable(func.FuncOp)
    def call_function(
        self, interpreter: Interpreter, op: func.FuncOp, args: PythonValues
    ) -> PythonValues:
        if op.body.blocks.first is None or op.body.blocks.first.last_op is None:
            problem = f"@{op.sym_name.data} has no body to run"
            raise InterpretationError(complaint(op, problem, hint="define it in this module"))
        return interpreter.run_ssacfg_region(op.body, args, op.sym_name.data)


FUNCTIONS: list[type[InterpreterFunctions]] = [FuncFunctions]
