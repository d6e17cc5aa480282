# A Python file adds a pass that is a flag like any other, and is its own test.
# RUN: nn-opt --load=%s --no-double-relu %S/Inputs/relus.mlir | filecheck %s
# RUN: nn-opt --load %s --no-double-relu{keep} %S/Inputs/relus.mlir | filecheck %s --check-prefix=KEPT
# RUN: nn-opt --load=%s --pass-pipeline='func.func(no-double-relu,cse)' %S/Inputs/relus.mlir | filecheck %s
# RUN: nn-opt --load=%s --no-double-relu --statistics --dump-pass-pipeline %S/Inputs/relus.mlir 2>&1 >%t | filecheck %s --check-prefix=COUNT
# RUN: nn-opt --load=%s --nameless %S/Inputs/relus.mlir | filecheck %s --check-prefix=NAMELESS
# RUN: nn-opt --load=%s --list-passes | filecheck %s --check-prefix=LIST
# RUN: nn-opt --load=%s --pass-help=no-double-relu | filecheck %s --check-prefix=HELP
# RUN: nn-opt --load=%s --tidy-relus %S/Inputs/relus.mlir | filecheck %s
# RUN: nn-opt --load=%s --tidy-relus=keep --dump-pass-pipeline %S/Inputs/relus.mlir 2>&1 >%t | filecheck %s --check-prefix=PIPELINE
# RUN: not nn-opt --load=%s --no-double-relu{kept} %S/Inputs/relus.mlir 2>&1 | filecheck %s --check-prefix=OPTION
# RUN: not nn-opt --load=%s --no-double-rel %S/Inputs/relus.mlir 2>&1 | filecheck %s --check-prefix=NAME

# CHECK-LABEL: @f
# CHECK:         graph.relu
# CHECK-NOT:     graph.relu
# KEPT:          builtin.module @named
# KEPT-COUNT-2:  graph.relu
# COUNT:         no-double-relu{keep=false}
# COUNT:         (S) 1 patterns-applied
# NAMELESS:      {{^}}builtin.module {
# LIST:          passes of {{.*}}load.py
# LIST-NEXT:     --no-double-relu  relu(relu(x)) -> relu(x)
# LIST-NEXT:     --nameless        Take the name of the module.
# LIST:          pipelines of {{.*}}load.py
# LIST-NEXT:     --tidy-relus  no-double-relu cse
# PIPELINE:      no-double-relu{keep=true},
# PIPELINE-NEXT: cse
# HELP:          --no-double-relu
# HELP-NEXT:     relu(relu(x)) -> relu(x)
# HELP:          runs on builtin.module or func.func
# HELP-NEXT:     options
# HELP-NEXT:       keep  bool = false
# HELP-NEXT:     statistics
# HELP-NEXT:       patterns-applied
# HELP-NEXT:     from {{.*}}load.py
# OPTION:        error: --no-double-relu has no option 'kept'
# OPTION-NEXT:   hint: did you mean keep?
# NAME:          error: unknown pass or option '--no-double-rel'
# NAME-NEXT:     hint: did you mean --no-double-relu?
"""A pattern and a pass of one's own."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter

import nn_opt
from nn_opt.dialects import graph


@nn_opt.rewrite("no-double-relu")
def no_double_relu(relu: graph.ReluOp, rewriter: PatternRewriter, keep: bool = False):
    """relu(relu(x)) -> relu(x)"""
    if isinstance(relu.x.owner, graph.ReluOp) and not keep:
        rewriter.replace(relu, [], [relu.x])


@nn_opt.register_pass
class NamelessPass(ModulePass):
    """Take the name of the module."""

    name = "nameless"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        op.properties.pop("sym_name", None)


nn_opt.register_pipeline("tidy-relus", no_double_relu, "cse")
