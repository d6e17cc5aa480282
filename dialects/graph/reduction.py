"""Ops that combine elements along axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import TensorType, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def

from nn_opt.dialects.graph.fields import (
    flag,
    flag_def,
    int_def,
    integer,
    ints,
    ints_def,
    text,
    text_def,
)
from nn_opt.dialects.graph.shapes import normal_axis, reduce_shape
from nn_opt.dialects.graph.traits import (
    Elements,
    Fusion,
    GraphOp,
    UnaryOp,
    check_choice,
)
from nn_opt.ir.types import element_type, shape_of, tensor_type

REDUCE_KINDS = (
    "sum",
    "mean",
    "max",
    "min",
    "prod",
    "l1",
    "l2",
    "log_sum",
    "log_sum_exp",
    "sum_square",
)


@irdl_op_definition
class ReduceOp(GraphOp):
    """All elements along the axes combined into one; without axes, nothing is combined."""

    name = "graph.reduce"
    FUSION: ClassVar[Fusion] = Fusion.REDUCTION
    ELEMENTS: ClassVar[Elements] = Elements.ANY

    x = operand_def(TensorType)
    kind = text_def()
    axes = ints_def()
    keepdims = flag_def()

    def __init__(self, x: SSAValue, kind: str, axes: Sequence[int], keepdims: bool = True):
        properties = {"kind": text(kind), "axes": ints(axes), "keepdims": flag(keepdims)}
        self.build_inferred((x,), properties)

    def check(self) -> None:
        super().check()
        check_choice("kind", self.kind.data, REDUCE_KINDS)

    def infer_result_types(self) -> list[Attribute]:
        keepdims = self.keepdims is not None
        shape = reduce_shape(shape_of(self.x), self.axes.get_values(), keepdims)
        return [tensor_type(shape, element_type(self.x))]


@irdl_op_definition
class ArgReduceOp(GraphOp):
    """The index of the largest ("max") or smallest ("min") element along an axis, as i64."""

    name = "graph.arg_reduce"
    FUSION: ClassVar[Fusion] = Fusion.REDUCTION
    ELEMENTS: ClassVar[Elements] = Elements.NUMBER

    x = operand_def(TensorType)
    kind = text_def()
    axis = int_def()
    keepdims = flag_def()
    select_last = flag_def()

    def __init__(
        self,
        x: SSAValue,
        kind: str,
        axis: int,
        keepdims: bool = True,
        select_last: bool = False,
    ):
        flags = {"keepdims": flag(keepdims), "select_last": flag(select_last)}
        self.build_inferred((x,), {"kind": text(kind), "axis": integer(axis), **flags})

    def check(self) -> None:
        super().check()
        check_choice("kind", self.kind.data, ("max", "min"))

    def infer_result_types(self) -> list[Attribute]:
        keepdims = self.keepdims is not None
        shape = reduce_shape(shape_of(self.x), (self.axis.value.data,), keepdims)
        return [tensor_type(shape, i64)]


@irdl_op_definition
class SoftmaxOp(UnaryOp):
    """exp(x) over its sum along the axis."""

    name = "graph.softmax"
    FUSION: ClassVar[Fusion] = Fusion.REDUCTION

    axis = int_def()

    def __init__(self, x: SSAValue, axis: int = -1):
        self.build_inferred((x,), {"axis": integer(axis)})

    def infer_result_types(self) -> list[Attribute]:
        normal_axis(self.axis.value.data, len(shape_of(self.x)))
        return [self.x.type]


@irdl_op_definition
class LogSoftmaxOp(UnaryOp):
    """The logarithm of softmax along the axis."""

    name = "graph.log_softmax"
    FUSION: ClassVar[Fusion] = Fusion.REDUCTION

    axis = int_def()

    def __init__(self, x: SSAValue, axis: int = -1):
        self.build_inferred((x,), {"axis": integer(axis)})

    def infer_result_types(self) -> list[Attribute]:
        normal_axis(self.axis.value.data, len(shape_of(self.x)))
        return [self.x.type]
