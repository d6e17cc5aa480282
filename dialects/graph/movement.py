"""Ops that move elements without computing: views, permutations, slices, gathers, scatters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import TensorType, i32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, var_operand_def

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
from nn_opt.dialects.graph.shapes import (
    concat_shape,
    expand_shape,
    gather_elements_shape,
    gather_nd_shape,
    gather_shape,
    normal_axis,
    pad_shape,
    reshape_shape,
    scatter_elements_shape,
    scatter_nd_shape,
    slice_shape,
    tile_shape,
    transpose_shape,
)
from nn_opt.dialects.graph.traits import (
    Elements,
    Fusion,
    GraphOp,
    check_choice,
    check_same_elements,
)
from nn_opt.ir.types import element_type, shape_of, tensor_type

SCATTER_REDUCTIONS = ("none", "add", "mul", "max", "min")
PAD_MODES = ("constant", "reflect", "edge", "wrap")


def check_indices(indices: SSAValue) -> None:
    """Raise ValueError unless the indices are i32 or i64."""
    if element_type(indices) not in (i32, i64):
        raise ValueError(f"indices have element type {element_type(indices)}, expected i32 or i64")


@irdl_op_definition
class ReshapeOp(GraphOp):
    """The same elements in row-major order under another shape."""

    name = "graph.reshape"
    FUSION: ClassVar[Fusion] = Fusion.VIEW

    x = operand_def(TensorType)

    def __init__(self, x: SSAValue, shape: Sequence[int]):
        self.build_inferred((x,), declared=tensor_type(shape, element_type(x)))

    def infer_result_types(self) -> list[Attribute]:
        shape = reshape_shape(shape_of(self.x), shape_of(self.result))
        return [tensor_type(shape, element_type(self.x))]


@irdl_op_definition
class TransposeOp(GraphOp):
    """Axis i of the result is axis perm[i] of x."""

    name = "graph.transpose"
    FUSION: ClassVar[Fusion] = Fusion.INJECTIVE

    x = operand_def(TensorType)
    perm = ints_def()

    def __init__(self, x: SSAValue, perm: Sequence[int]):
        self.build_inferred((x,), {"perm": ints(perm)})

    def infer_result_types(self) -> list[Attribute]:
        shape = transpose_shape(shape_of(self.x), self.perm.get_values())
        return [tensor_type(shape, element_type(self.x))]


@irdl_op_definition
class ExpandOp(GraphOp):
    """x broadcast to a larger shape."""

    name = "graph.expand"
    FUSION: ClassVar[Fusion] = Fusion.BROADCAST

    x = operand_def(TensorType)

    def __init__(self, x: SSAValue, shape: Sequence[int]):
        self.build_inferred((x,), declared=tensor_type(shape, element_type(x)))

    def infer_result_types(self) -> list[Attribute]:
        shape = expand_shape(shape_of(self.x), shape_of(self.result))
        return [tensor_type(shape, element_type(self.x))]


@irdl_op_definition
class ConcatOp(GraphOp):
    """The operands joined along an axis."""

    name = "graph.concat"
    FUSION: ClassVar[Fusion] = Fusion.INJECTIVE

    inputs = var_operand_def(TensorType)
    axis = int_def()

    def __init__(self, inputs: Sequence[SSAValue], axis: int):
        self.build_inferred((inputs,), {"axis": integer(axis)})

    def infer_result_types(self) -> list[Attribute]:
        shape = concat_shape([shape_of(x) for x in self.inputs], self.axis.value.data)
        check_same_elements(*self.inputs)
        return [tensor_type(shape, element_type(self.inputs[0]))]


@irdl_op_definition
class SliceOp(GraphOp):
    """Element i along an axis is x[start + i * step], i < size; a step may be negative."""

    name = "graph.slice"
    FUSION: ClassVar[Fusion] = Fusion.INJECTIVE

    x = operand_def(TensorType)
    starts = ints_def()
    sizes = ints_def()
    steps = ints_def()

    def __init__(
        self, x: SSAValue, starts: Sequence[int], sizes: Sequence[int], steps: Sequence[int]
    ):
        self.build_inferred(
            (x,), {"starts": ints(starts), "sizes": ints(sizes), "steps": ints(steps)}
        )

    def infer_result_types(self) -> list[Attribute]:
        starts, sizes = self.starts.get_values(), self.sizes.get_values()
        shape = slice_shape(shape_of(self.x), starts, sizes, self.steps.get_values())
        return [tensor_type(shape, element_type(self.x))]


@irdl_op_definition
class PadOp(GraphOp):
    """x with elements added (or, if negative, cut) at both ends of each axis.

    `pads` are the begins of all axes, then the ends. Mode "constant" adds `value` (0 if absent).
    """

    name = "graph.pad"
    FUSION: ClassVar[Fusion] = Fusion.INJECTIVE

    x = operand_def(TensorType)
    value = opt_operand_def(TensorType)
    pads = ints_def()
    mode = text_def()

    def __init__(
        self,
        x: SSAValue,
        pads: Sequence[int],
        mode: str = "constant",
        value: SSAValue | None = None,
    ):
        self.build_inferred((x, value), {"pads": ints(pads), "mode": text(mode)})

    def check(self) -> None:
        super().check()
        check_choice("mode", self.mode.data, PAD_MODES)
        if self.value is not None:
            check_same_elements(self.x, self.value)
            if any(size != 1 for size in shape_of(self.value)):
                raise ValueError(f"value has shape {list(shape_of(self.value))}, expected a scalar")

    def infer_result_types(self) -> list[Attribute]:
        shape = pad_shape(shape_of(self.x), self.pads.get_values())
        return [tensor_type(shape, element_type(self.x))]


@irdl_op_definition
class GatherOp(GraphOp):
    """The slices of x along an axis that the indices name; a negative index counts from the end."""

    name = "graph.gather"
    FUSION: ClassVar[Fusion] = Fusion.INJECTIVE

    x = operand_def(TensorType)
    indices = operand_def(TensorType)
    axis = int_def()

    def __init__(self, x: SSAValue, indices: SSAValue, axis: int = 0):
        self.build_inferred((x, indices), {"axis": integer(axis)})

    def infer_result_types(self) -> list[Attribute]:
        check_indices(self.indices)
        shape = gather_shape(shape_of(self.x), shape_of(self.indices), self.axis.value.data)
        return [tensor_type(shape, element_type(self.x))]


@irdl_op_definition
class GatherElementsOp(GraphOp):
    """Result[i, j, ...] is x at the same place, with the index along the axis replaced."""

    name = "graph.gather_elements"
    FUSION: ClassVar[Fusion] = Fusion.INJECTIVE

    x = operand_def(TensorType)
    indices = operand_def(TensorType)
    axis = int_def()

    def __init__(self, x: SSAValue, indices: SSAValue, axis: int = 0):
        self.build_inferred((x, indices), {"axis": integer(axis)})

    def infer_result_types(self) -> list[Attribute]:
        check_indices(self.indices)
        axis = self.axis.value.data
        shape = gather_elements_shape(shape_of(self.x), shape_of(self.indices), axis)
        return [tensor_type(shape, element_type(self.x))]


@irdl_op_definition
class GatherNDOp(GraphOp):
    """The last axis of the indices is a coordinate into x, after `batch_dims` shared axes."""

    name = "graph.gather_nd"
    FUSION: ClassVar[Fusion] = Fusion.INJECTIVE

    x = operand_def(TensorType)
    indices = operand_def(TensorType)
    batch_dims = int_def()

    def __init__(self, x: SSAValue, indices: SSAValue, batch_dims: int = 0):
        self.build_inferred((x, indices), {"batch_dims": integer(batch_dims)})

    def infer_result_types(self) -> list[Attribute]:
        check_indices(self.indices)
        batch = self.batch_dims.value.data
        shape = gather_nd_shape(shape_of(self.x), shape_of(self.indices), batch)
        return [tensor_type(shape, element_type(self.x))]


@irdl_op_definition
class ScatterNDOp(GraphOp):
    """x with the slices named by the indices replaced by, or combined with, the updates."""

    name = "graph.scatter_nd"

    x = operand_def(TensorType)
    indices = operand_def(TensorType)
    updates = operand_def(TensorType)
    reduction = text_def()

    def __init__(self, x: SSAValue, indices: SSAValue, updates: SSAValue, reduction: str = "none"):
        self.build_inferred((x, indices, updates), {"reduction": text(reduction)})

    def check(self) -> None:
        super().check()
        check_choice("reduction", self.reduction.data, SCATTER_REDUCTIONS)

    def infer_result_types(self) -> list[Attribute]:
        check_indices(self.indices)
        check_same_elements(self.x, self.updates)
        scatter_nd_shape(shape_of(self.x), shape_of(self.indices), shape_of(self.updates))
        return [self.x.type]


@irdl_op_definition
class ScatterElementsOp(GraphOp):
    """x with single elements, at the indices along an axis, replaced or combined."""

    name = "graph.scatter_elements"

    x = operand_def(TensorType)
    indices = operand_def(TensorType)
    updates = operand_def(TensorType)
    axis = int_def()
    reduction = text_def()

    def __init__(
        self,
        x: SSAValue,
        indices: SSAValue,
        updates: SSAValue,
        axis: int = 0,
        reduction: str = "none",
    ):
        properties = {"axis": integer(axis), "reduction": text(reduction)}
        self.build_inferred((x, indices, updates), properties)

    def check(self) -> None:
        super().check()
        check_choice("reduction", self.reduction.data, SCATTER_REDUCTIONS)

    def infer_result_types(self) -> list[Attribute]:
        check_indices(self.indices)
        check_same_elements(self.x, self.updates)
        shapes = shape_of(self.x), shape_of(self.indices), shape_of(self.updates)
        scatter_elements_shape(*shapes, self.axis.value.data)
        return [self.x.type]


@irdl_op_definition
class TileOp(GraphOp):
    """x repeated along each axis."""

    name = "graph.tile"
    FUSION: ClassVar[Fusion] = Fusion.INJECTIVE

    x = operand_def(TensorType)
    repeats = ints_def()

    def __init__(self, x: SSAValue, repeats: Sequence[int]):
        self.build_inferred((x,), {"repeats": ints(repeats)})

    def infer_result_types(self) -> list[Attribute]:
        shape = tile_shape(shape_of(self.x), self.repeats.get_values())
        return [tensor_type(shape, element_type(self.x))]


class RunningOp(GraphOp):
    """Each element with all before it along an axis, combined.

    Exclusive leaves out the element itself, reverse runs back.
    """

    ELEMENTS: ClassVar[Elements] = Elements.NUMBER

    x = operand_def(TensorType)
    axis = int_def()
    exclusive = flag_def()
    reverse = flag_def()

    def __init__(self, x: SSAValue, axis: int, exclusive: bool = False, reverse: bool = False):
        flags = {"exclusive": flag(exclusive), "reverse": flag(reverse)}
        self.build_inferred((x,), {"axis": integer(axis), **flags})

    def infer_result_types(self) -> list[Attribute]:
        normal_axis(self.axis.value.data, len(shape_of(self.x)))
        return [self.x.type]


@irdl_op_definition
class CumSumOp(RunningOp):
    """Running sums along an axis; exclusive leaves out the element itself, reverse runs back."""

    name = "graph.cumsum"


@irdl_op_definition
class CumProdOp(RunningOp):
    """Running products along an axis; exclusive and reverse as for sums."""

    name = "graph.cumprod"
