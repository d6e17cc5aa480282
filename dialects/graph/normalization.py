"""Normalisation and what inference makes of training's ops."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def

from nn_opt.dialects.graph.fields import float_def, real
from nn_opt.dialects.graph.shapes import compatible
from nn_opt.dialects.graph.traits import Elements, Fusion, GraphOp, UnaryOp, check_elements
from nn_opt.ir.types import shape_of


@irdl_op_definition
class BatchNormOp(GraphOp):
    """scale * (x - mean) / sqrt(variance + epsilon) + bias, one of each a channel (axis 1)."""

    name = "graph.batch_norm"
    FUSION: ClassVar[Fusion] = Fusion.BROADCAST
    ELEMENTS: ClassVar[Elements] = Elements.FLOAT

    x = operand_def(TensorType)
    scale = operand_def(TensorType)
    bias = operand_def(TensorType)
    mean = operand_def(TensorType)
    variance = operand_def(TensorType)
    epsilon = float_def()

    def __init__(
        self,
        x: SSAValue,
        scale: SSAValue,
        bias: SSAValue,
        mean: SSAValue,
        variance: SSAValue,
        epsilon: float = 1e-5,
    ):
        self.build_inferred((x, scale, bias, mean, variance), {"epsilon": real(epsilon)})

    def infer_result_types(self) -> list[Attribute]:
        shape = shape_of(self.x)
        channels = shape[1] if len(shape) > 1 else 1
        for name in ("scale", "bias", "mean", "variance"):
            value: SSAValue = getattr(self, name)
            check_elements(value, Elements.FLOAT, name)
            if not compatible(shape_of(value), (channels,)):
                raise ValueError(f"{name} has shape {list(shape_of(value))}, expected {[channels]}")
        return [self.x.type]


@irdl_op_definition
class DropoutOp(UnaryOp):
    """x itself: inference drops nothing."""

    name = "graph.dropout"
    ELEMENTS: ClassVar[Elements] = Elements.ANY
