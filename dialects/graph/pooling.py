"""Windows reduced to one element each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def

from nn_opt.dialects.graph.fields import (
    flag,
    flag_def,
    integer,
    ints,
    ints_def,
    opt_int_def,
    opt_text,
    opt_text_def,
    text,
    text_def,
)
from nn_opt.dialects.graph.layouts import blocked_pool_shape
from nn_opt.dialects.graph.shapes import check_positive, pool_shape
from nn_opt.dialects.graph.traits import Elements, Fusion, GraphOp, check_choice
from nn_opt.ir.types import element_type, shape_of, tensor_type

POOL_KINDS = ("max", "average", "lp")


@irdl_op_definition
class PoolOp(GraphOp):
    """The maximum, average or p-norm of each window; see `pool_shape` for shapes and units.

    An average counts padding only if `count_include_pad`, and never what lies beyond it.
    """

    name = "graph.pool"
    FUSION: ClassVar[Fusion] = Fusion.REDUCTION
    ELEMENTS: ClassVar[Elements] = Elements.NUMBER
    HINT: ClassVar[str] = "kernel, strides, dilations: one a spatial axis; pads: begins, then ends"

    x = operand_def(TensorType)
    kind = text_def()
    kernel = ints_def()
    strides = ints_def()
    pads = ints_def()
    dilations = ints_def()
    ceil_mode = flag_def()
    count_include_pad = flag_def()
    p = opt_int_def()
    layout = opt_text_def()

    def __init__(
        self,
        x: SSAValue,
        kind: str,
        kernel: Sequence[int],
        *,
        strides: Sequence[int],
        pads: Sequence[int],
        dilations: Sequence[int],
        ceil_mode: bool = False,
        count_include_pad: bool = False,
        p: int = 2,
        layout: str = "",
    ):
        properties: dict[str, Attribute | None] = {
            "kind": text(kind),
            "kernel": ints(kernel),
            "strides": ints(strides),
            "pads": ints(pads),
            "dilations": ints(dilations),
            "ceil_mode": flag(ceil_mode),
            "count_include_pad": flag(count_include_pad),
            "p": integer(p) if kind == "lp" else None,
            "layout": opt_text(layout),
        }
        self.build_inferred((x,), properties)

    def check(self) -> None:
        super().check()
        check_choice("kind", self.kind.data, POOL_KINDS)
        if (self.kind.data == "lp") != (self.p is not None):
            raise ValueError('has p without kind "lp" or the other way round')
        check_positive("p", () if self.p is None else (self.p.value.data,))

    def infer_result_types(self) -> list[Attribute]:
        kernel, dilations = self.kernel.get_values(), self.dilations.get_values()
        windows = kernel, self.strides.get_values(), self.pads.get_values(), dilations
        ceil = self.ceil_mode is not None
        x = shape_of(self.x)
        if self.layout is None:
            shape = pool_shape(x, *windows, ceil)
        else:
            shape = blocked_pool_shape(x, *windows, ceil, self.layout.data)
        return [tensor_type(shape, element_type(self.x))]
