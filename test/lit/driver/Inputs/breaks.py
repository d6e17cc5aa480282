"""A pass with a mistake: the module that it leaves is refused."""

from xdsl.dialects.builtin import DenseArrayBase, i64

import nn_opt
from nn_opt.dialects import graph


@nn_opt.rewrite("breaks")
def breaks(op: graph.ReluOp, rewriter):
    """relu(x)  ->  a transposition that takes one axis twice"""
    wrong = graph.TransposeOp(op.x, [1, 0])
    wrong.properties["perm"] = DenseArrayBase.from_list(i64, [0, 0])
    rewriter.replace(op, wrong)
