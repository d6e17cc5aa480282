"""What the formulas of quantised models mean: integers of 8 bits, their zero point and scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import Operation, SSAValue

from nn_opt.dialects import graph
from nn_opt.dialects.graph.contraction import is_byte
from nn_opt.ir.types import element_type, numpy_dtype, shape_of
from nn_opt.passes.constants import constant_array
from nn_opt.passes.fusion_costs import is_static_tensor
from nn_opt.reference.graph import evaluate

Array = NDArray[Any]
# How models make parameters of constants: zero points and scales are reshaped, biases dequantised.
OF_PARAMETERS = (
    *(graph.CastOp, graph.ReshapeOp, graph.TransposeOp),
    *(graph.SubOp, graph.MulOp, graph.DivOp),
)


@dataclass(frozen=True)
class Quantized:
    """(values - zeros) * scale: `values` are of 8 bits, `zeros` are added up, no scale is 1."""

    values: SSAValue
    zeros: tuple[SSAValue, ...] = ()
    scale: SSAValue | None = None

    @property
    def zero(self) -> Array | None:
        """The zero point, if it is known."""
        return known_sum(self.zeros)


def quantized(value: SSAValue) -> Quantized | None:
    """Return what a number in f32 or i32 stands for, if it is made from one of 8 bits."""
    if element_type(value) == i32:
        return _shifted(value, ())
    owner = value.owner
    if isinstance(owner, graph.MulOp) and element_type(value) == f32:
        for product, scale in (owner.operands, reversed(owner.operands)):
            found = _whole(product) if product.type == value.type else None
            if found is not None:
                return Quantized(found.values, found.zeros, scale)
    return None


def _whole(value: SSAValue) -> Quantized | None:
    owner = value.owner
    if isinstance(owner, graph.CastOp) and element_type(owner.x) == i32:
        return _shifted(owner.x, ())
    return None


def _shifted(value: SSAValue, zeros: tuple[SSAValue, ...]) -> Quantized | None:
    match value.owner:
        case graph.SubOp(lhs=lhs, rhs=rhs) if lhs.type == value.type:
            return _shifted(lhs, (*zeros, rhs))
        case graph.CastOp(x=x) if is_byte(element_type(x)):
            return Quantized(x, zeros)
        case _:
            return None


def known(value: SSAValue) -> Array | None:
    """Return the array of a constant, or of one made from constants as parameters are."""
    owner = value.owner
    if not isinstance(owner, OF_PARAMETERS):
        return constant_array(value)
    inner = [known(operand) for operand in owner.operands]
    arrays = [array for array in inner if array is not None]
    return evaluate(owner, arrays)[0] if len(arrays) == len(inner) else None


def known_sum(values: Sequence[SSAValue]) -> Array | None:
    """Return the sum of constants, 0 of none; None if one of them is not known."""
    total: Array = np.zeros((), np.int32)
    for value in values:
        array = known(value)
        if array is None:
            return None
        total = total + array
    return total


def known_number(value: SSAValue | None) -> float | None:
    """Return the number that a constant of one element is."""
    array = None if value is None else known(value)
    return None if array is None or array.size != 1 else float(array.reshape(-1)[0])


@dataclass(frozen=True)
class Weights:
    """Known integers, their zero point taken away, and a scale of as many axes."""

    array: Array  # int32
    scale: Array  # float32


def weights(value: SSAValue) -> Weights | None:
    """Return the constant weights that a value is made from, transposed or not."""
    owner = value.owner
    if isinstance(owner, graph.TransposeOp):
        inner, perm = weights(owner.x), owner.perm.get_values()
        if inner is None:
            return None
        return Weights(inner.array.transpose(perm), inner.scale.transpose(perm))
    found = quantized(value)
    if found is None or not is_static_tensor(value):
        return None
    array, zero = known(found.values), found.zero
    scale = np.ones((), np.float32) if found.scale is None else known(found.scale)
    if array is None or zero is None or scale is None:
        return None
    axes = (1,) * (len(shape_of(value)) - scale.ndim) + scale.shape
    return Weights(array.astype(np.int32) - zero, scale.astype(np.float32).reshape(axes))


def limits_of(dtype: np.dtype[Any]) -> tuple[int, int]:
    """Return the least and the largest number of an integer type."""
    limits = np.iinfo(dtype)
    return int(limits.min), int(limits.max)


@dataclass(frozen=True)
class Quantizer:
    """cast(clip(round(x / scale) + zero)), saturated to the type of the result."""

    x: SSAValue
    scale: float | None  # None: x is not divided
    zero: float
    rounded: graph.RoundOp


def quantizer(op: Operation) -> Quantizer | None:
    """Return what an op quantises, if it is the last one of that formula, of known numbers."""
    if not isinstance(op, graph.CastOp) or not is_byte(element_type(op.result)):
        return None
    clip = op.x.owner
    if not isinstance(clip, graph.ClipOp) or element_type(op.x) != f32:
        return None
    limits = limits_of(numpy_dtype(element_type(op.result)))
    if (known_number(clip.low), known_number(clip.high)) != limits:
        return None
    value, zero = clip.x, 0.0
    if isinstance(value.owner, graph.AddOp):
        number = known_number(value.owner.rhs)
        if number is None:
            return None
        value, zero = value.owner.lhs, number
    if not isinstance(value.owner, graph.RoundOp):
        return None
    inner = value.owner.x.owner
    if isinstance(inner, graph.DivOp):
        scale = known_number(inner.rhs)
        return None if scale is None else Quantizer(inner.lhs, scale, zero, value.owner)
    return Quantizer(value.owner.x, None, zero, value.owner)
