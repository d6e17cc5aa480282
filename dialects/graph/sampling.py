"""Images read at places that are data: between their elements, and beyond their edges."""

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
    int_def,
    integer,
    ints,
    ints_def,
    real,
    text,
    text_def,
)
from nn_opt.dialects.graph.movement import check_indices
from nn_opt.dialects.graph.shapes import Shape, check_length, check_positive, same_size
from nn_opt.dialects.graph.traits import Elements, GraphOp, check_choice, check_elements
from nn_opt.ir.types import element_type, shape_of, tensor_type

SAMPLING_MODES = ("nearest", "linear", "cubic")
PADDINGS = ("zeros", "border", "reflection")
ROI_MODES = ("avg", "max")


def sampled_shape(x: Sequence[int], grid: Sequence[int]) -> Shape:
    """Return the shape [N, C, P, Q, ..] of samples.

    Shapes: x [N, C, H, W, ..]; grid [N, P, Q, .., spatial axes].
    Source: ONNX GridSample-22.
    """
    spatial = len(x) - 2
    if spatial < 1 or len(grid) != len(x):
        raise ValueError(f"ranks are {len(x)} and {len(grid)}, expected equal ones of at least 3")
    if not same_size(x[0], grid[0]) or not same_size(grid[-1], spatial):
        raise ValueError(
            f"grid has shape {list(grid)}, expected {x[0]} images and {spatial} coordinates"
        )
    return (x[0], x[1], *grid[1:-1])


@irdl_op_definition
class GridSampleOp(GraphOp):
    """x at the places of the grid, which names the last axis of x first.

    Places are from -1 to 1: the middles of the first and the last element with `align_corners`,
    else their outer edges. With `pixels` they count elements. What lies outside is zero, the
    nearest element of the border, or the image reflected there. Source: ONNX GridSample-22.
    """

    name = "graph.grid_sample"
    HINT: ClassVar[str] = "x [N, C, H, W, ..], grid [N, P, Q, .., number of spatial axes]"

    x = operand_def(TensorType)
    grid = operand_def(TensorType)
    mode = text_def()
    padding = text_def()
    align_corners = flag_def()
    pixels = flag_def()

    def __init__(
        self,
        x: SSAValue,
        grid: SSAValue,
        mode: str = "linear",
        padding: str = "zeros",
        *,
        align_corners: bool = False,
        pixels: bool = False,
    ):
        fields: dict[str, Attribute | None] = {
            "mode": text(mode),
            "padding": text(padding),
            "align_corners": flag(align_corners),
            "pixels": flag(pixels),
        }
        self.build_inferred((x, grid), fields)

    def check(self) -> None:
        super().check()
        check_elements(self.grid, Elements.FLOAT, "grid")
        check_choice("mode", self.mode.data, SAMPLING_MODES)
        check_choice("padding", self.padding.data, PADDINGS)

    def infer_result_types(self) -> list[Attribute]:
        shape = sampled_shape(shape_of(self.x), shape_of(self.grid))
        return [tensor_type(shape, element_type(self.x))]


@irdl_op_definition
class RoiAlignOp(GraphOp):
    """Regions of images, each cut in bins: the average or maximum of samples of each bin.

    Shapes: x [N, C, H, W]; rois [R, 4] of left, top, right, bottom, times `scale` in elements;
    batch [R] tells the image; result [R, C, *sizes]. A bin takes samples x samples of them or, if
    `adaptive`, one an element, rounded up, but not more than `samples` along each axis. The maximum
    is that of the four weighted elements of each sample. Source: ONNX RoiAlign-22.
    """

    name = "graph.roi_align"
    ELEMENTS: ClassVar[Elements] = Elements.FLOAT
    HINT: ClassVar[str] = "x [N, C, H, W], rois [R, 4], batch [R]"

    x = operand_def(TensorType)
    rois = operand_def(TensorType)
    batch = operand_def(TensorType)
    mode = text_def()
    sizes = ints_def()
    samples = int_def()
    scale = float_def()
    half_pixel = flag_def()
    adaptive = flag_def()

    def __init__(
        self,
        x: SSAValue,
        rois: SSAValue,
        batch: SSAValue,
        sizes: Sequence[int],
        *,
        samples: int,
        mode: str = "avg",
        scale: float = 1.0,
        half_pixel: bool = True,
        adaptive: bool = False,
    ):
        fields: dict[str, Attribute | None] = {
            "mode": text(mode),
            "sizes": ints(sizes),
            "samples": integer(samples),
            "scale": real(scale),
            "half_pixel": flag(half_pixel),
            "adaptive": flag(adaptive),
        }
        self.build_inferred((x, rois, batch), fields)

    def check(self) -> None:
        super().check()
        check_choice("mode", self.mode.data, ROI_MODES)
        check_elements(self.rois, Elements.FLOAT, "rois")
        check_length("sizes", self.sizes.get_values(), 2)
        check_positive("sizes", self.sizes.get_values())
        check_positive("samples", (self.samples.value.data,))

    def infer_result_types(self) -> list[Attribute]:
        check_indices(self.batch)
        x, rois, batch = map(shape_of, (self.x, self.rois, self.batch))
        if len(x) != 4 or len(rois) != 2 or len(batch) != 1 or not same_size(rois[0], batch[0]):
            shapes = ", ".join(str(list(shape)) for shape in (x, rois, batch))
            raise ValueError(f"operands have shapes {shapes}")
        if not same_size(rois[1], 4):
            raise ValueError(f"rois have {rois[1]} coordinates, expected 4")
        return [tensor_type((rois[0], x[1], *self.sizes.get_values()), element_type(self.x))]
