"""Maximum and minimum of floats: NaN wins, and zeros of either sign are equal.

LLVM's own maximum also orders the zeros, which takes seven instructions on x86 instead of one.
"""

from __future__ import annotations

import numpy as np
from xdsl.dialects import llvm
from xdsl.dialects.builtin import FloatAttr
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import SSAValue

from nn_opt.conversion.to_llvm.code import Code
from nn_opt.conversion.to_llvm.intrinsics import intrinsic
from nn_opt.conversion.to_llvm.values import EXACT, compare_floats, select
from nn_opt.ir.resources import array_of

GREATER, LESS = 2, 4  # ordered comparisons: false if one is NaN
NO_SIGNED_ZEROS = llvm.FastMathAttr([FastMathFlag.NO_SIGNED_ZEROS])


def maximum(code: Code, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """Return the larger of two floats or vectors; NaN if either is."""
    return _extreme(code, "llvm.maximum", GREATER, lhs, rhs)


def minimum(code: Code, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """Return the smaller of two floats or vectors; NaN if either is."""
    return _extreme(code, "llvm.minimum", LESS, lhs, rhs)


def _extreme(code: Code, name: str, beats: int, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    if is_number(lhs):
        lhs, rhs = rhs, lhs
    if not is_number(rhs):
        return intrinsic(code, name, (lhs, rhs), lhs.type, NO_SIGNED_ZEROS)
    # `number > x ? number : x` keeps a NaN in x; it is one max instruction of x86.
    return select(code, compare_floats(code, beats, rhs, lhs, EXACT), rhs, lhs)


def is_number(value: SSAValue) -> bool:
    """Return whether a value is a constant without NaN."""
    if not isinstance(value.owner, llvm.ConstantOp):
        return False
    attribute = value.owner.value
    if isinstance(attribute, FloatAttr):
        return not np.isnan(attribute.value.data)
    return not np.isnan(array_of(attribute, value.type).astype(float)).any()
