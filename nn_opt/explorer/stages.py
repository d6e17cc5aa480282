"""What each primitive of a schedule makes of the loops: a script run line by line, on a copy."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from nn_opt.dialects.sched import AxesOp, ScriptOp
from nn_opt.explorer.applications import lines_of
from nn_opt.schedule.script import replay

Stages = list[tuple[int, list[str]]]  # a line of the script, and those of the loops after it
_PASS = "apply-schedule"


def stages_of(step: ModulePass, module: ModuleOp) -> dict[str, Stages]:
    """Return the stages of each kernel whose script a pass is about to apply."""
    if step.name != _PASS:
        return {}
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}
    scripts = [op for op in module.ops if isinstance(op, ScriptOp)]
    return {
        name: _stages(script, functions[name], module)
        for script in scripts
        if (name := script.kernel.string_value()) in functions
    }


def _stages(script: ScriptOp, kernel: FuncOp, module: ModuleOp) -> Stages:
    function = kernel.clone()
    _holder = ModuleOp([function], attributes=dict(module.attributes))  # says the target
    lines = {op: number for number, op in enumerate(script.body.block.ops, 1)}
    stages: Stages = [(0, lines_of(function))]

    def keep(op: Operation) -> None:
        if isinstance(op, AxesOp):  # only names loops
            return
        text = lines_of(function)
        if text != stages[-1][1]:
            stages.append((lines[op], text))

    try:
        replay(script, function, keep)
    except PassFailedException:  # the pass will say it
        pass
    return stages
