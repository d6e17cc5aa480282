"""Numbers that look random, the same ones each time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition

from nn_opt.dialects.graph.fields import int_def, integer
from nn_opt.dialects.graph.traits import Fusion, GraphOp
from nn_opt.ir.types import UNSIGNED, shape_of, tensor_type

# Source: Salmon et al., Parallel random numbers: as easy as 1, 2, 3, SC 2011; Philox 2x32-10.
MULTIPLIER, WEYL, ROUNDS = 0xD256D193, 0x9E3779B9, 10
WORD = (1 << 32) - 1


@irdl_op_definition
class RandomBitsOp(GraphOp):
    """32 random bits an element: word 0 of Philox 2x32-10 of its place, under a key.

    Places count all elements in row-major order: each number is a function of its place alone.
    """

    name = "graph.random_bits"
    FUSION: ClassVar[Fusion] = Fusion.INJECTIVE

    key = int_def()

    def __init__(self, shape: Sequence[int], key: int):
        declared = tensor_type(shape, UNSIGNED[32])
        self.build_inferred((), {"key": integer(key)}, declared=declared)

    def check(self) -> None:
        key = self.key.value.data
        if not 0 <= key <= WORD:
            raise ValueError(f"key is {key}, expected an unsigned integer of 32 bits")

    def infer_result_types(self) -> list[Attribute]:
        return [tensor_type(shape_of(self.result), UNSIGNED[32])]


def philox(places: NDArray[np.uint64], key: int) -> NDArray[np.uint32]:
    """Return word 0 of each place's block; the higher half of a place is the second counter."""
    word = np.uint64(WORD)
    low, high = places & word, places >> np.uint64(32)
    for round_ in range(ROUNDS):
        product = low * np.uint64(MULTIPLIER)
        now = np.uint64((key + round_ * WEYL) & WORD)
        low, high = (product >> np.uint64(32)) ^ now ^ high, product & word
    return low.astype(np.uint32)
