"""Resampling to other sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def

from nn_opt.dialects.graph.fields import (
    flag,
    flag_def,
    float_def,
    floats,
    floats_def,
    opt_floats_def,
    real,
    text,
    text_def,
)
from nn_opt.dialects.graph.shapes import check_length
from nn_opt.dialects.graph.traits import Fusion, GraphOp, check_choice
from nn_opt.ir.types import element_type, shape_of, tensor_type

MODES = ("nearest", "linear", "cubic")
COORDINATES = (
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "tf_half_pixel_for_nn",
    "align_corners",
    "asymmetric",
    "tf_crop_and_resize",
)
NEAREST_MODES = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")


@irdl_op_definition
class ResizeOp(GraphOp):
    """x resampled to the sizes of the result. `scales` are result size / input size, one an axis.

    The scales are kept beside the sizes because a rounded size does not tell the exact scale.
    `roi` (starts then ends, one an axis each) is only read by "tf_crop_and_resize".
    Source: ONNX Resize-19.
    """

    name = "graph.resize"
    FUSION: ClassVar[Fusion] = Fusion.INJECTIVE

    x = operand_def(TensorType)
    mode = text_def()
    coordinate = text_def()
    nearest_mode = text_def()
    scales = floats_def()
    cubic_coeff = float_def()
    exclude_outside = flag_def()
    antialias = flag_def()
    extrapolation = float_def()
    roi = opt_floats_def()

    def __init__(
        self,
        x: SSAValue,
        sizes: Sequence[int],
        scales: Sequence[float],
        *,
        mode: str = "nearest",
        coordinate: str = "half_pixel",
        nearest_mode: str = "round_prefer_floor",
        cubic_coeff: float = -0.75,
        exclude_outside: bool = False,
        antialias: bool = False,
        extrapolation: float = 0.0,
        roi: Sequence[float] = (),
    ):
        properties: dict[str, Attribute | None] = {
            "mode": text(mode),
            "coordinate": text(coordinate),
            "nearest_mode": text(nearest_mode),
            "scales": floats(scales),
            "cubic_coeff": real(cubic_coeff),
            "exclude_outside": flag(exclude_outside),
            "antialias": flag(antialias),
            "extrapolation": real(extrapolation),
            "roi": floats(roi) if roi else None,
        }
        self.build_inferred((x,), properties, declared=tensor_type(sizes, element_type(x)))

    def check(self) -> None:
        super().check()
        check_choice("mode", self.mode.data, MODES)
        check_choice("coordinate", self.coordinate.data, COORDINATES)
        check_choice("nearest_mode", self.nearest_mode.data, NEAREST_MODES)
        rank = len(shape_of(self.x))
        cropping = self.coordinate.data == "tf_crop_and_resize"
        roi = () if self.roi is None else self.roi.get_values()
        check_length("roi numbers", roi, 2 * rank if cropping else 0)

    def infer_result_types(self) -> list[Attribute]:
        rank = len(shape_of(self.x))
        check_length("scales", self.scales.get_values(), rank)
        check_length("result sizes", shape_of(self.result), rank)
        return [tensor_type(shape_of(self.result), element_type(self.x))]
