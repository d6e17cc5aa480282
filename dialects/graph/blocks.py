"""Weights of few bits with scales for blocks of them: as numbers, and as a factor of a product."""

from __future__ import annotations

from math import prod
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
    and zero, 0 if that is absent, are floats [K / block, N]; zero may be ui8.

    In panels of P columns w is ui32 [N / P, K * bits / 32, P], its words packed as bytes are, and
    the parameters are [N / P, K / block, P].
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
    def in_panels(self) -> bool:
        """Whether the weights are words in panels of columns."""
        return len(shape_of(self.w)) == 3

    @property
    def per_word(self) -> int:
        """How many numbers a byte, or a word, of the weights holds."""
        return (32 if self.in_panels else 8) // self.bits.value.data

    def infer_result_types(self) -> list[Attribute]:
        bits, block = self.bits.value.data, self.block.value.data
        if bits not in (2, 4, 8):
            raise ValueError(f"bits is {bits}, expected 2, 4 or 8")
        *panels, rows, width = shape_of(self.w)
        word, per_word = ("words" if self.in_panels else "bytes"), self.per_word
        if block < 1 or block % per_word or rows * per_word % block:
            problem = f"blocks of {block} numbers, expected whole ones of {rows} rows of {word}"
            raise ValueError(problem)
        expected = UNSIGNED[32 if self.in_panels else 8]
        if element_type(self.w) != expected:
            found = element_type(self.w)
            raise ValueError(f"w has element type {found}, expected ui{expected.width.data}")
        self._check_parameters((*panels, rows * per_word // block, width))
        shape = matmul_shape(shape_of(self.a), (rows * per_word, prod(panels) * width))
        return [tensor_type(shape, element_type(self.a))]

    def _check_parameters(self, full: Shape) -> None:
        for what, value in (("scale", self.scale), ("zero point", self.zero)):
            if value is not None:
                check_parameter(value, full, what)
                if value is self.scale or element_type(value) != UNSIGNED[8]:
                    check_elements(value, Elements.FLOAT, what)
