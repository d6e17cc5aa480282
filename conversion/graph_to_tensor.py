"""graph -> tensor: each operator becomes index formulas, one stage or a few."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from nn_opt.conversion.to_tensor.control import convert_function
from nn_opt.ir.legality import require_absent, require_one_block


class ConvertGraphToTensorPass(ModulePass):
    """Needs: graph, static shapes, no graph.fused. Leaves: tensor, arith, math, func.

    Integers lose their sign: ui8 becomes i8, and the arith ops say how to read it. The entry
    function keeps the NumPy names of its types as `arg_dtypes` and `result_dtypes`.
    Order: after outline-kernels, or without kernels on a small program.
    """

    name = "convert-graph-to-tensor"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        require_one_block(op, self.name)
        for function in list(op.walk()):
            if isinstance(function, func.FuncOp):
                convert_function(function)
        require_absent(op, "graph", after=self.name)
