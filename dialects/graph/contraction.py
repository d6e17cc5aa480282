"""Sums of products: matrix multiplication and convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    IntegerType,
    TensorType,
    UnitAttr,
    f32,
    i32,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def

from nn_opt.dialects.graph.fields import (
    flag,
    flag_def,
    int_def,
    integer,
    ints,
    ints_def,
    opt_int_def,
    opt_text,
    opt_text_def,
)
from nn_opt.dialects.graph.layouts import blocked_conv_shape, logical_sizes, parse_layout
from nn_opt.dialects.graph.shapes import (
    Shape,
    compatible,
    conv_shape,
    conv_transpose_shape,
    matmul_shape,
)
from nn_opt.dialects.graph.traits import Elements, Fusion, GraphOp, check_same_elements
from nn_opt.dialects.graph.winograd import algorithm_named, check_winograd, original_shape
from nn_opt.ir.types import UNSIGNED, element_type, shape_of, tensor_type


def check_bias(bias: SSAValue | None, channels: int) -> None:
    """Raise ValueError unless the bias, if any, has one element a result channel."""
    if bias is not None and not compatible(shape_of(bias), (channels,)):
        raise ValueError(f"bias has shape {list(shape_of(bias))}, expected {[channels]}")


def is_byte(element: Attribute) -> bool:
    """Return whether numbers are integers of 8 bits, with a sign or without."""
    return element in (IntegerType(8), UNSIGNED[8])


def sum_type(wide: UnitAttr | None, *factors: SSAValue) -> Attribute:
    """Return the element type of a sum of products.

    Raises: ValueError if the factors do not go together, or have no wide sum that is asked for.
    """
    element = element_type(factors[0])
    if wide is not None and all(is_byte(element_type(factor)) for factor in factors):
        return i32
    narrow = isinstance(element, BFloat16Type | Float16Type) or is_byte(element)
    if wide is not None and narrow and all(element_type(f) in (element, f32) for f in factors):
        return f32
    check_same_elements(*factors)
    if wide is not None:
        raise ValueError(f"a wide sum of {element}, expected one of f16, bf16, i8 or ui8")
    return element


@irdl_op_definition
class MatmulOp(GraphOp):
    """a @ b as numpy.matmul: batch axes broadcast, vectors are allowed.

    `weight_layout` is absent for a plain b; else b is a matrix in that layout of axes K and N,
    such as NK32n [N/32, K, 32], or matrices along other axes, as in BNK32n. The first `columns`
    count, all if that is absent. With `wide`, half floats give sums in f32, and integers of 8 bits,
    each factor with a sign or without, sums in i32.
    """

    name = "graph.matmul"
    FUSION: ClassVar[Fusion] = Fusion.OUT_FUSABLE
    ELEMENTS: ClassVar[Elements] = Elements.NUMBER

    a = operand_def(TensorType)
    b = operand_def(TensorType)
    weight_layout = opt_text_def()
    columns = opt_int_def()
    wide = flag_def()

    def __init__(
        self,
        a: SSAValue,
        b: SSAValue,
        *,
        weight_layout: str = "",
        columns: int = 0,
        wide: bool = False,
    ):
        properties = {
            "weight_layout": opt_text(weight_layout),
            "columns": integer(columns) if columns else None,
            "wide": flag(wide),
        }
        self.build_inferred((a, b), properties)

    def infer_result_types(self) -> list[Attribute]:
        shape = matmul_shape(shape_of(self.a), self._matrix_shape())
        return [tensor_type(shape, sum_type(self.wide, self.a, self.b))]

    def _matrix_shape(self) -> Shape:
        """Return the shape of b as it would be if it were plain."""
        if self.weight_layout is None:
            return shape_of(self.b)
        sizes = logical_sizes(shape_of(self.b), parse_layout(self.weight_layout.data))
        if not sizes.keys() >= {"K", "N"}:
            layout = self.weight_layout.data
            raise ValueError(f"weight layout is {layout!r}, expected one of axes K and N")
        batch = (size for axis, size in sizes.items() if axis not in "KN")
        return (*batch, sizes["K"], self._columns(sizes["N"]))

    def _columns(self, packed: int) -> int:
        """Return how many of the packed columns count."""
        if self.columns is None:
            return packed
        columns = self.columns.value.data
        if not 0 < columns <= packed:
            raise ValueError(f"columns is {columns}, expected 1 to {packed}, as many as are packed")
        return columns


@irdl_op_definition
class ConvOp(GraphOp):
    """Convolution of any rank, groups and dilations; see `conv_shape` for shapes and units.

    `layout` and `weight_layout` are absent for plain NCHW and OIHW, else see `blocked_conv_shape`;
    a blocked convolution takes no bias: add one shaped [F/16, 1, 1, 16] by graph.add.
    With `wide`, half floats give sums in f32, and integers of 8 bits sums in i32; by weights of f32
    both give sums in f32. `fill` is what the padding holds, 0 if it is absent.
    `algorithm` "winograd2" or "winograd4" takes the weights as graph.winograd_weights makes them.
    """

    name = "graph.conv"
    FUSION: ClassVar[Fusion] = Fusion.OUT_FUSABLE
    ELEMENTS: ClassVar[Elements] = Elements.NUMBER
    HINT: ClassVar[str] = "check strides, pads and the layout: input NCHW, filter FCRS"

    x = operand_def(TensorType)
    w = operand_def(TensorType)
    b = opt_operand_def(TensorType)
    strides = ints_def()
    pads = ints_def()
    dilations = ints_def()
    group = int_def()
    layout = opt_text_def()
    weight_layout = opt_text_def()
    algorithm = opt_text_def()
    wide = flag_def()
    fill = opt_int_def()

    def __init__(
        self,
        x: SSAValue,
        w: SSAValue,
        b: SSAValue | None = None,
        *,
        strides: Sequence[int],
        pads: Sequence[int],
        dilations: Sequence[int],
        group: int = 1,
        layout: str = "",
        weight_layout: str = "",
        algorithm: str = "",
        wide: bool = False,
        fill: int = 0,
    ):
        properties: dict[str, Attribute | None] = {
            "strides": ints(strides),
            "pads": ints(pads),
            "dilations": ints(dilations),
            "group": integer(group),
            "layout": opt_text(layout),
            "weight_layout": opt_text(weight_layout),
            "algorithm": opt_text(algorithm),
            "wide": flag(wide),
            "fill": integer(fill) if fill else None,
        }
        self.build_inferred((x, w, b), properties)

    @property
    def padding(self) -> int:
        """What the padding holds."""
        return 0 if self.fill is None else self.fill.value.data

    def infer_result_types(self) -> list[Attribute]:
        element = sum_type(self.wide, *self.operands)
        return [tensor_type(self._result_shape(), element)]

    def _result_shape(self) -> Shape:
        strides, pads = self.strides.get_values(), self.pads.get_values()
        windows = strides, pads, self.dilations.get_values()
        group = self.group.value.data
        shapes = shape_of(self.x), self._filter_shape()
        if (self.layout is None) != (self.weight_layout is None):
            raise ValueError("has one of layout and weight_layout, expected both or none")
        if self.layout is None or self.weight_layout is None:
            shape = conv_shape(*shapes, *windows, group)
            check_bias(self.b, shape[1])
            return shape
        if self.b is not None:
            raise ValueError("a blocked convolution has a bias, expected none: use graph.add")
        layouts = self.layout.data, self.weight_layout.data
        return blocked_conv_shape(*shapes, *windows, group, *layouts)

    def _filter_shape(self) -> Shape:
        """Return the shape of the weights as they were before the algorithm's transform."""
        if self.algorithm is None:
            return shape_of(self.w)
        if self.layout is None:
            raise ValueError("has an algorithm and no layout, expected a blocked convolution")
        algorithm = algorithm_named(self.algorithm.data)
        numbers = self.strides.get_values(), self.dilations.get_values()
        check_winograd(algorithm, *numbers, self.group.value.data)
        return original_shape(shape_of(self.w), algorithm)


@irdl_op_definition
class ConvTransposeOp(GraphOp):
    """Transposed convolution: each input element adds its scaled filter to the result."""

    name = "graph.conv_transpose"
    FUSION: ClassVar[Fusion] = Fusion.OUT_FUSABLE
    ELEMENTS: ClassVar[Elements] = Elements.FLOAT
    HINT: ClassVar[str] = "check strides, pads and the layout: input NCHW, filter CFRS"

    x = operand_def(TensorType)
    w = operand_def(TensorType)
    b = opt_operand_def(TensorType)
    strides = ints_def()
    pads = ints_def()
    dilations = ints_def()
    group = int_def()
    output_padding = ints_def()

    def __init__(
        self,
        x: SSAValue,
        w: SSAValue,
        b: SSAValue | None = None,
        *,
        strides: Sequence[int],
        pads: Sequence[int],
        dilations: Sequence[int],
        group: int = 1,
        output_padding: Sequence[int],
    ):
        properties: dict[str, Attribute | None] = {
            "strides": ints(strides),
            "pads": ints(pads),
            "dilations": ints(dilations),
            "group": integer(group),
            "output_padding": ints(output_padding),
        }
        self.build_inferred((x, w, b), properties)

    def infer_result_types(self) -> list[Attribute]:
        check_same_elements(*self.operands)
        shape = conv_transpose_shape(
            shape_of(self.x),
            shape_of(self.w),
            self.strides.get_values(),
            self.pads.get_values(),
            self.dilations.get_values(),
            self.group.value.data,
            self.output_padding.get_values(),
        )
        check_bias(self.b, shape[1])
        return [tensor_type(shape, element_type(self.x))]
