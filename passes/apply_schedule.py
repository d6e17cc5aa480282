"""apply-schedule: each `sched.script` is applied to its kernel and goes."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from nn_opt.dialects.sched import ScriptOp
from nn_opt.ir.diagnostics import complaint
from nn_opt.schedule.script import replay


@dataclass(frozen=True)
class ApplySchedulePass(ModulePass):
    """Needs: loop, sched. Leaves: loop. Order: after the scripts, before lower-blocks."""

    name = "apply-schedule"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = {f.sym_name.data: f for f in op.ops if isinstance(f, FuncOp)}
        for script in [script for script in op.ops if isinstance(script, ScriptOp)]:
            name = script.kernel.string_value()
            if name not in functions:
                known = ", ".join(f"@{function}" for function in functions)
                problem = f"there is no function @{name}"
                raise PassFailedException(complaint(script, problem, hint=f"there are {known}"))
            replay(script, functions[name])
            script.detach()
            script.erase()
