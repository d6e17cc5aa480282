"""Random bits: rounds of Philox 2x32 on the place of an element."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerType

from nn_opt.conversion.to_tensor.body import Array, Body
from nn_opt.conversion.to_tensor.lowering import Lowering
from nn_opt.conversion.to_tensor.scalar import I64, Scalar
from nn_opt.dialects import graph
from nn_opt.dialects.graph.random import MULTIPLIER, ROUNDS, WEYL, WORD
from nn_opt.ir.types import UNSIGNED, shape_of


def convert_random_bits(k: Lowering, op: graph.RandomBitsOp) -> Array:
    """Words of 32 bits in integers of 64, whose product's halves are the next words."""
    key, shape = op.key.value.data, shape_of(op.result)

    def formula(b: Body) -> Scalar:
        place = b.index(0)
        for axis, size in zip(b.par, shape, strict=True):
            place = place * size + b.index(axis)
        low = place.cast(I64) & WORD
        high = place.cast(I64).binary("shr", 32)
        for round_ in range(ROUNDS):
            product = low * MULTIPLIER
            now = (key + round_ * WEYL) & WORD
            low, high = product.binary("shr", 32) ^ now ^ high, product & WORD
        return Scalar(low.cast(IntegerType(32)).value, UNSIGNED[32])

    return k.compute("random_bits", shape, UNSIGNED[32], formula)


CONVERTERS = {"graph.random_bits": convert_random_bits}
