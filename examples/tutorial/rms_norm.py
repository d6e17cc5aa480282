"""A dialect with one op, its meaning, a pass and a lowering: what docs/tutorial.md builds."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from xdsl.builder import ImplicitBuilder
from xdsl.context import Context
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import FloatAttr, ModuleOp, TensorType, f32
from xdsl.ir import Block, Dialect, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

import nn_opt
from nn_opt.dialects import graph, tensor
from nn_opt.ir.diagnostics import complaint
from nn_opt.ir.legality import require_absent
from nn_opt.ir.rewriting import convert
from nn_opt.ir.types import shape_of, tensor_type


# [op]
@irdl_op_definition
class RmsOp(IRDLOperation):
    """x / sqrt(mean(x * x) + epsilon) * scale, the mean over the last axis of x."""

    name = "norm.rms"

    T: ClassVar = VarConstraint("T", TensorType.constr(f32))

    x = operand_def(T)
    scale = operand_def(TensorType.constr(f32))
    epsilon = prop_def(FloatAttr.constr(f32))
    result = result_def(T)

    traits = traits_def(Pure())

    assembly_format = "$x `,` $scale `epsilon` $epsilon attr-dict `:` type($x) `,` type($scale)"

    def __init__(self, x: SSAValue, scale: SSAValue, epsilon: FloatAttr):
        super().__init__(
            operands=[x, scale], properties={"epsilon": epsilon}, result_types=[x.type]
        )

    # [/op]

    # [verify]
    def verify_(self) -> None:
        columns = shape_of(self.x)[-1:]
        if not columns or shape_of(self.scale) != columns:
            problem = f"scale is {self.scale.type}, expected a number for each of {list(columns)}"
            raise VerifyException(complaint(self, problem, hint="a scale is as long as a row of x"))

    # [/verify]


# [dialect]
NORM = nn_opt.register_dialect(Dialect("norm", [RmsOp]))
# [/dialect]


# [meaning]
@nn_opt.meaning(RmsOp)
def rms(op: RmsOp, x: np.ndarray, scale: np.ndarray) -> np.ndarray:
    mean = np.mean(np.square(x, dtype=np.float64), axis=-1, keepdims=True)
    return x / np.sqrt(mean + op.epsilon.value.data) * scale


# [/meaning]


# [pattern]
@nn_opt.rewrite("fold-norm-scale")
def fold_norm_scale(op: graph.MulOp, rewriter: PatternRewriter) -> None:
    """norm.rms(x, s) * t  ->  norm.rms(x, s * t),  if nothing else reads the norm

    and t is as long as a row.
    """
    norm = op.lhs.owner
    if not isinstance(norm, RmsOp) or not norm.result.has_one_use():
        return
    if op.rhs.type != norm.scale.type:
        return
    scale = graph.MulOp(norm.scale, op.rhs)
    rewriter.replace(op, [scale, RmsOp(norm.x, scale.result, norm.epsilon)])


# [/pattern]


# [lowering]
def lower_rms(op: RmsOp, rewriter: PatternRewriter) -> None:
    """norm.rms  ->  a stage that sums the squares of each row, a stage that scales elements"""
    *rows, columns = shape_of(op.x)
    body = tensor.ComputeOp.body_block(len(rows) + 1)
    with ImplicitBuilder(body) as index:
        x = tensor.ReadOp(op.x, index).result
        tensor.YieldOp(arith.MulfOp(x, x))
    sums = tensor.ComputeOp(
        "squares", Region(body), [tensor_type(rows, f32)], reduce_sizes=[columns], combiner="add"
    )
    body = tensor.ComputeOp.body_block(len(rows) + 1)
    with ImplicitBuilder(body) as index:
        share = arith.ConstantOp(FloatAttr(1 / columns, f32))
        mean = arith.MulfOp(tensor.ReadOp(sums.result[0], index[:-1]), share)
        factor = math.RsqrtOp(arith.AddfOp(mean, arith.ConstantOp(op.epsilon)))
        scaled = arith.MulfOp(tensor.ReadOp(op.x, index), factor)
        tensor.YieldOp(arith.MulfOp(scaled, tensor.ReadOp(op.scale, index[-1:])))
    rewriter.replace(op, [sums, tensor.ComputeOp("rms", Region(body), [op.result.type])])


@nn_opt.register_pass
class ConvertNormToTensorPass(ModulePass):
    """Needs: norm, static shapes. Leaves: tensor. Order: before convert-graph-to-tensor."""

    name = "convert-norm-to-tensor"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        convert(op, {RmsOp: lower_rms})
        require_absent(op, "norm", after=self.name)


# [/lowering]


# [kernel]
@nn_opt.rewrite("norm-into-kernel")
def norm_into_kernel(op: RmsOp, rewriter: PatternRewriter) -> None:
    """norm.rms  ->  graph.fused { norm.rms }"""
    if isinstance(op.parent_op(), graph.FusedOp):
        return
    block = Block(arg_types=op.operand_types)
    with ImplicitBuilder(block) as (x, scale):
        graph.YieldOp(RmsOp(x, scale, op.epsilon))
    rewriter.replace(op, graph.FusedOp(op.operands, op.result_types, Region(block)))


# [/kernel]
