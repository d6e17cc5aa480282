"""A pass that goes on with no function of the llvm dialect."""

from xdsl.dialects import llvm
from xdsl.utils.exceptions import PassFailedException

import nn_opt


@nn_opt.rewrite("gives-up")
def gives_up(op: llvm.FuncOp, rewriter):
    """llvm.func  ->  a message"""
    raise PassFailedException(f"gives-up: {op.sym_name.data} is one too many")
