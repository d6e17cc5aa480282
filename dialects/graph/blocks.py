"""Weights of few bits with scales for blocks of them: as numbers, and as a factor of a product."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def

from nn_opt.dialects.graph.fields import int_def, integer
from nn_opt.dialects.graph.shapes import Shape, matmul_shape
from nn_opt.dialects.graph.traits import (
    Elements,
    Fusion,
    GraphOp,
    check_elements,
    check_same_elements,
)
from nn_opt.ir.types import UNSIGNED, element_type, shape_of, tensor_type


def block_scales_shape(weights: Shape, axis: int, block: int) -> Shape:
    """Return the shape of scales for blocks of so many numbers along an axis.

    Raises: ValueError for an axis or a size of blocks that cannot be.
    """
    if not 0 <= axis < len(weights) or block < 1:
        raise ValueError(f"axis {axis} in blocks of {block} is none of {list(weights)}")
    return tuple(-(-size // block) if at == axis else size for at, size in enumerate(weights))


def check_parameter(value: SSAValue, full: Shape, what: str) -> None:
    """Raise ValueError unless a parameter has one number for each of some, or for all, places."""
    shape = shape_of(value)
    fits = len(shape) == len(full) and all(
        size in (1, wanted) for size, wanted in zip(shape, full, strict=True)
    )
    if not fits:
        raise ValueError(f"{what} has shape {list(shape)}, expected {list(full)} or 1 for a size")


@irdl_op_definition
class DequantizeOp(GraphOp):
    """(w - zero) * scale, computed in f32 and rounded once to the type of the result.

    A scale and a zero point, 0 if that is absent, stand for `block` neighbours along `axis` each;
    along any axis, one may stand for all.
    """

    name = "graph.dequantize"
    FUSION: ClassVar[Fusion] = Fusion.BROADCAST
    ELEMENTS: ClassVar[Elements] = Elements.NUMBER

    w = operand_def(TensorType)
    scale = operand_def(TensorType)
    zero = opt_operand_def(TensorType)
    axis = int_def()
    block = int_def()

    def __init__(
        self,
        w: SSAValue,
        scale: SSAValue,
        zero: SSAValue | None,
        element: Attribute,
        *,
        axis: int,
        block: int,
    ):
        properties = {"axis": integer(axis), "block": integer(block)}
        self.build_inferred((w, scale, zero), properties, declared=tensor_type((), element))

    def infer_result_types(self) -> list[Attribute]:
        shape = shape_of(self.w)
        full = block_scales_shape(shape, self.axis.value.data, self.block.value.data)
        check_parameter(self.scale, full, "scale")
        check_elements(self.scale, Elements.FLOAT, "scale")
        if self.zero is not None:
            check_parameter(self.zero, full, "zero point")
            check_same_elements(self.w, self.zero)
        return [tensor_type(shape, element_type(self.result))]


@irdl_op_definition
class BlockMatmulOp(GraphOp):
    """a @ ((w - zero) * scale), where w is [K, N] with `bits` bits a number, packed along K.

    w is ui8 [K * bits / 8, N], the first number of a byte at its low end, all without a sign. scale
    and zero, 0 if that is absent, are f32 [K / block, N].
    """

    name = "graph.block_matmul"
    FUSION: ClassVar[Fusion] = Fusion.OUT_FUSABLE
    ELEMENTS: ClassVar[Elements] = Elements.FLOAT

    a = operand_def(TensorType)
    w = operand_def(TensorType)
    scale = operand_def(TensorType)
    zero = opt_operand_def(TensorType)
    block = int_def()
    bits = int_def()

    def __init__(
        self,
        a: SSAValue,
        w: SSAValue,
        scale: SSAValue,
        zero: SSAValue | None,
        *,
        block: int,
        bits: int,
    ):
        properties = {"block": integer(block), "bits": integer(bits)}
        self.build_inferred((a, w, scale, zero), properties)

    @property
    def per_byte(self) -> int:
        """How many numbers a byte holds."""
        return 8 // self.bits.value.data

    def infer_result_types(self) -> list[Attribute]:
        bits, block = self.bits.value.data, self.block.value.data
        if bits not in (2, 4, 8):
            raise ValueError(f"bits is {bits}, expected 2, 4 or 8")
        (rows, columns), per_byte = shape_of(self.w), 8 // bits
        if block < 1 or block % per_byte or rows * per_byte % block:
            problem = f"blocks of {block} numbers, expected whole ones of {rows} rows of bytes"
            raise ValueError(problem)
        full = (rows * per_byte // block, columns)
        if element_type(self.w) != UNSIGNED[8]:
            raise ValueError(f"w has element type {element_type(self.w)}, expected ui8")
        for what, value in (("scale", self.scale), ("zero point", self.zero)):
            if value is not None:
                check_parameter(value, full, what)
                check_elements(value, Elements.FLOAT, what)
        shape = matmul_shape(shape_of(self.a), (rows * per_byte, columns))
        return [tensor_type(shape, element_type(self.a))]
