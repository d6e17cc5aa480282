"""arith.remf, which MLIR has and xDSL lacks: the remainder of floats, as C's fmod."""

from __future__ import annotations

from xdsl.dialects.arith import FloatingPointLikeBinaryOperation
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.traits import Pure


@irdl_op_definition
class RemFOp(FloatingPointLikeBinaryOperation):
    """What is left of lhs by whole rhs, exactly, with the sign of lhs; NaN if rhs is 0.

    `%r = arith.remf %x, %y : f32`
    """

    name = "arith.remf"

    traits = traits_def(Pure())
