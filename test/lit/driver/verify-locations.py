# A pass that makes operations from nothing is refused if that is asked for.
# RUN: nn-opt --load=%s --add-functions %S/Inputs/relus.mlir | filecheck %s
# RUN: not nn-opt --load=%s --verify-locations --cse --add-functions %S/Inputs/relus.mlir 2>&1 | filecheck %s --check-prefix=LOST
# RUN: nn-opt --load=%s --verify-locations --add-functions=located %S/Inputs/relus.mlir | filecheck %s
# What has no location before is no pass's fault.
# RUN: echo "func.func @f() { func.return loc(unknown) }" | nn-opt --load=%s --verify-locations --add-functions | filecheck %s

# CHECK:         func.func private @g()
# CHECK-NEXT:    func.func private @h()
# LOST:          relus.mlir:1:1: error: func.func: --add-functions left 2 operation(s) without a location
# LOST:          hint: make them in `with located(op):` of nn_opt.ir.locations, op being their origin

from contextlib import nullcontext
from dataclasses import dataclass

from xdsl.dialects.func import FuncOp

import nn_opt
from nn_opt.ir.locations import located


@nn_opt.register_pass
@dataclass(frozen=True)
class AddFunctionsPass(nn_opt.ModulePass):
    """Declare two functions."""

    name = "add-functions"
    located: bool = False

    def apply(self, ctx, op):
        with located(op) if self.located else nullcontext():
            op.body.block.add_ops([FuncOp.external(name, [], []) for name in "gh"])
