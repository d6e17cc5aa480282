"""What scores of ai.onnx.ml's models become: transforms after them, labels, two of one class."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from xdsl.ir import SSAValue

from nn_opt.dialects import graph
from nn_opt.frontends.onnx.node import (
    F32,
    BadNode,
    Node,
    cast,
    constant,
    rank_of,
    reshaped,
    scalar_like,
)
from nn_opt.frontends.onnx.reader import ML_DOMAIN
from nn_opt.ir.types import element_type, mlir_type, shape_of

DOMAIN = ML_DOMAIN
F64 = mlir_type(np.float64)
NEARLY_ZERO = 1e-7  # scores this near to nothing stay nothing under SOFTMAX_ZERO


def rows_of(x: SSAValue) -> SSAValue:
    """Return features as rows of floats, [N, C]: a vector is one row; doubles stay doubles."""
    if rank_of(x) not in (1, 2):
        raise BadNode(f"operand 0 has shape {list(shape_of(x))}, expected rows of features")
    x = x if element_type(x) == F64 else cast(x, F32)
    return reshaped(x, [1, *shape_of(x)]) if rank_of(x) == 1 else x


def _neither(x: SSAValue) -> SSAValue:
    return x


def _softmax(x: SSAValue) -> SSAValue:
    return graph.SoftmaxOp(x, 1).result


def _sigmoid(x: SSAValue) -> SSAValue:
    return graph.SigmoidOp(x).result


def _softmax_zero(x: SSAValue) -> SSAValue:
    """A softmax among the scores that are not zero; the others stay nothing."""
    highest = graph.ReduceOp(x, "max", [1]).result
    far = graph.GreaterOp(graph.AbsOp(x).result, scalar_like(NEARLY_ZERO, x)).result
    powers = graph.ExpOp(graph.SubOp(x, highest).result).result
    small = graph.MulOp(x, graph.ExpOp(graph.NegOp(highest).result).result).result
    total = graph.ReduceOp(graph.WhereOp(far, powers, scalar_like(0, x)).result, "sum", [1]).result
    return graph.DivOp(graph.WhereOp(far, powers, small).result, total).result


def _probit(p: SSAValue) -> SSAValue:
    """Where the normal distribution reaches p, by Winitzki's inverse of erf with a = 0.147."""
    x = graph.SubOp(graph.MulOp(p, scalar_like(2, p)).result, scalar_like(1, p)).result
    log = graph.LogOp(graph.SubOp(scalar_like(1, x), graph.MulOp(x, x).result).result).result
    half = graph.MulOp(log, scalar_like(0.5, x)).result
    v = graph.AddOp(half, scalar_like(2 / (3.14159 * 0.147), x)).result
    rest = graph.MulOp(log, scalar_like(1 / 0.147, x)).result
    root = graph.SqrtOp(graph.SubOp(graph.MulOp(v, v).result, rest).result).result
    y = graph.SqrtOp(graph.SubOp(root, v).result).result
    return graph.MulOp(graph.MulOp(y, graph.SignOp(x).result).result, scalar_like(2**0.5, x)).result


Transform = Callable[[SSAValue], SSAValue]
TRANSFORMS: dict[str, Transform] = {
    "NONE": _neither,
    "SOFTMAX": _softmax,
    "LOGISTIC": _sigmoid,
    "SOFTMAX_ZERO": _softmax_zero,
    "PROBIT": _probit,
}


def transform_of(node: Node) -> str:
    """Return the name of the transform after the scores."""
    name = node.attrs.text("post_transform", "NONE")
    node.attrs.choice("post_transform", "NONE", TRANSFORMS)
    return name


def transformed(scores: SSAValue, name: str) -> SSAValue:
    """Return scores [N, C] after the transform; a single score only takes PROBIT."""
    single = shape_of(scores)[1] == 1 and name != "PROBIT"
    return scores if single else TRANSFORMS[name](scores)


def columns(*parts: SSAValue) -> SSAValue:
    """Return columns [N, 1] side by side."""
    return graph.ConcatOp(list(parts), 1).result


def of_two(score: SSAValue, name: str, *, shares: bool) -> SSAValue:
    """Return the scores [N, 2] of a class and the other of which one score [N, 1] is known.

    shares: they add up to one; otherwise they are opposite.
    """
    if name == "PROBIT":
        return columns(_probit(score), graph.MulOp(score, scalar_like(0, score)).result)
    if shares and name != "LOGISTIC":
        return columns(graph.SubOp(scalar_like(1, score), score).result, score)
    both = columns(graph.NegOp(score).result, score)
    return _sigmoid(both) if name == "LOGISTIC" else both


def class_labels(node: Node, ints: str) -> list[int]:
    """Return the labels of classes, which are numbers; BadNode without any."""
    labels = node.attrs.ints(ints)
    if not labels:
        raise BadNode(f"neither {ints} nor classlabels_strings is given, expected one label each")
    return labels


def labelled(places: SSAValue, labels: Sequence[int]) -> SSAValue:
    """Return the label of each class, given by its place."""
    return graph.GatherOp(constant(np.asarray(labels, np.int64)), places).result


def best(scores: SSAValue) -> SSAValue:
    """Return the place of the first best score of each row, [N]."""
    return graph.ArgReduceOp(scores, "max", 1, keepdims=False).result


def is_above(score: SSAValue, limit: float, labels: Sequence[int]) -> SSAValue:
    """Return one of two labels, [N], for one score a row: the second for one above a limit."""
    above = graph.GreaterOp(score, scalar_like(limit, score)).result
    below, top = (constant(np.asarray(label, np.int64)) for label in labels)
    return reshaped(graph.WhereOp(above, top, below).result, [shape_of(score)[0]])
