"""default-schedules: a `sched.script` beside every kernel that has none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from nn_opt.dialects.sched import ScriptOp
from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.ir.legality import require_one_block
from nn_opt.ir.target import target_of
from nn_opt.schedule.defaults import default_schedule


@dataclass(frozen=True)
class DefaultSchedulesPass(ModulePass):
    """Needs: loop, as convert-tensor-to-loop leaves it. Adds: sched. Order: before apply-schedule.

    The script is found by scheduling a copy of the kernel for the module's target. apply-now:
    schedule the kernel itself and write no script, half the work of both passes. tile: elements
    along the lanes of a register tile, instead of those that are estimated to cost least.
    """

    name: ClassVar[str] = "default-schedules"  # pyright: ignore[reportIncompatibleVariableOverride]
    apply_now: bool = False
    tile: int | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        require_one_block(op, self.name)
        if self.tile is not None and self.tile < 1:
            raise DiagnosticError(f"error: --{self.name}: tile is {self.tile}, expected 1 or more")
        target = target_of(op)
        scheduled = {
            script.kernel.string_value() for script in op.ops if isinstance(script, ScriptOp)
        }
        for kernel in kernels(op):
            if kernel.sym_name.data in scheduled:
                continue
            if self.apply_now:
                default_schedule(kernel, target, self.tile)
            else:
                script = default_schedule(kernel.clone(), target, self.tile).script
                op.body.block.insert_op_after(script, kernel)


def kernels(module: ModuleOp) -> list[FuncOp]:
    """Return the functions that fusion made to be one kernel each, where their bodies are here."""
    functions = [op for op in module.ops if isinstance(op, FuncOp) and op.body.blocks]
    return [function for function in functions if "kernel" in function.attributes]
