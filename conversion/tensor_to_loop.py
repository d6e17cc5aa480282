"""tensor -> loop: formulas become loop nests, values become buffers that the caller provides."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from nn_opt.conversion.to_loop.function import convert_function
from nn_opt.ir.legality import require_absent, require_one_block


@dataclass(frozen=True)
class ConvertTensorToLoopPass(ModulePass):
    """Needs: tensor. Leaves: loop, arith, math, func. Order: before any schedule.

    Every function takes its results' buffers after its arguments and returns nothing; its
    attribute `num_outputs` says how many there are. A scan's state is written in place where a step
    changes one element a row, which `select(axis == index, value, what was there)` says.
    """

    name = "convert-tensor-to-loop"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        require_one_block(op, self.name)
        for function in list(op.walk()):
            if isinstance(function, func.FuncOp):
                convert_function(function)
        require_absent(op, "tensor", after=self.name)
