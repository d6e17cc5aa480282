"""Winograd's minimal filtering F(t, 3): its matrices, the shapes, and the op that prepares weights.

A tile of t x t results comes from a patch d of (t + 2) x (t + 2) inputs and a filter g of 3 x 3 as
A^T [(G g G^T) * (B^T d B)] A, summed over channels before the last step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import ClassVar

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def

from nn_opt.dialects.graph.fields import int_def, integer
from nn_opt.dialects.graph.shapes import Shape
from nn_opt.dialects.graph.traits import Elements, Fusion, GraphOp
from nn_opt.ir.types import element_type, shape_of, tensor_type

Matrix = tuple[tuple[float, ...], ...]
FILTER = 3  # rows and columns of the filters


@dataclass(frozen=True)
class Winograd:
    """F(tile, 3): `inputs` is B^T, `weights` is G, `outputs` is A^T."""

    tile: int
    inputs: Matrix
    weights: Matrix
    outputs: Matrix

    @property
    def points(self) -> int:
        """The rows and columns of a patch."""
        return self.tile + FILTER - 1


_S = sqrt(2)
ALGORITHMS = {
    # Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", section 4.1.
    "winograd2": Winograd(
        2,
        inputs=((1, 0, -1, 0), (0, 1, 1, 0), (0, -1, 1, 0), (0, 1, 0, -1)),
        weights=((1, 0, 0), (1 / 2, 1 / 2, 1 / 2), (1 / 2, -1 / 2, 1 / 2), (0, 0, 1)),
        outputs=((1, 1, 1, 0), (0, 1, -1, -1)),
    ),
    # The points 0, +-sqrt(1/2), +-sqrt(2) and infinity: half the rounding error of 0, +-1, +-2.
    "winograd4": Winograd(
        4,
        inputs=(
            (1, 0, -5 / 2, 0, 1, 0),
            (0, -_S, -2, _S / 2, 1, 0),
            (0, _S, -2, -_S / 2, 1, 0),
            (0, -_S / 2, -1 / 2, _S, 1, 0),
            (0, _S / 2, -1 / 2, -_S, 1, 0),
            (0, 1, 0, -5 / 2, 0, 1),
        ),
        weights=(
            (1, 0, 0),
            (-2 / 3, -_S / 3, -1 / 3),
            (-2 / 3, _S / 3, -1 / 3),
            (1 / 6, _S / 6, 1 / 3),
            (1 / 6, -_S / 6, 1 / 3),
            (0, 0, 1),
        ),
        outputs=(
            (1, 1, 1, 1, 1, 0),
            (0, _S / 2, -_S / 2, _S, -_S, 0),
            (0, 1 / 2, 1 / 2, 2, 2, 0),
            (0, _S / 4, -_S / 4, 2 * _S, -2 * _S, 1),
        ),
    ),
}
_OF_TILE = {algorithm.tile: algorithm for algorithm in ALGORITHMS.values()}


def algorithm_named(name: str) -> Winograd:
    """Return the algorithm of a convolution.

    Raises: ValueError for a name that none has.
    """
    if name not in ALGORITHMS:
        raise ValueError(f"algorithm is {name!r}, expected one of {', '.join(ALGORITHMS)}")
    return ALGORITHMS[name]


def transformed_shape(shape: Sequence[int], tile: int) -> Shape:
    """Return the shape [a, a, F, C, ...] of transformed weights [F, C, 3, 3, ...], a = tile + 2.

    Raises: ValueError if the weights are no 3 x 3 filters or no algorithm has such tiles.
    """
    if tile not in _OF_TILE:
        raise ValueError(f"tile is {tile}, expected one of {', '.join(map(str, _OF_TILE))}")
    if tuple(shape[2:4]) != (FILTER, FILTER):
        raise ValueError(f"weights have shape {list(shape)}, expected [F, C, 3, 3, ...]")
    points = _OF_TILE[tile].points
    return (points, points, *shape[:2], *shape[4:])


def original_shape(shape: Sequence[int], algorithm: Winograd) -> Shape:
    """Return the shape [F, C, 3, 3, ...] of the filters that weights were transformed from.

    Raises: ValueError if these are no weights of the algorithm.
    """
    points = algorithm.points
    if len(shape) < 4 or tuple(shape[:2]) != (points, points):
        expected = f"[{points}, {points}, F, C, ...] as from graph.winograd_weights"
        raise ValueError(f"weights have shape {list(shape)}, expected {expected}")
    return (*shape[2:4], FILTER, FILTER, *shape[4:])


def check_winograd(
    algorithm: Winograd, strides: Sequence[int], dilations: Sequence[int], group: int
) -> None:
    """Raise ValueError unless a convolution slides by one pixel over all channels."""
    if {*strides, *dilations, group} != {1}:
        facts = f"strides {list(strides)}, dilations {list(dilations)}, group {group}"
        name = f"F({algorithm.tile}, {FILTER})"
        raise ValueError(f"has {facts}, expected all of them 1 for {name}")


@irdl_op_definition
class WinogradWeightsOp(GraphOp):
    """G g G^T of every 3 x 3 filter: [F, C, 3, 3, ...] becomes [a, a, F, C, ...], a = tile + 2."""

    name = "graph.winograd_weights"
    FUSION: ClassVar[Fusion] = Fusion.OPAQUE
    ELEMENTS: ClassVar[Elements] = Elements.FLOAT
    HINT: ClassVar[str] = "only 3 x 3 filters have this form"

    w = operand_def(TensorType)
    tile = int_def()

    def __init__(self, w: SSAValue, *, tile: int):
        self.build_inferred((w,), {"tile": integer(tile)})

    @property
    def algorithm(self) -> Winograd:
        """The algorithm that the weights are for."""
        return _OF_TILE[self.tile.value.data]

    def infer_result_types(self) -> list[Attribute]:
        shape = transformed_shape(shape_of(self.w), self.tile.value.data)
        return [tensor_type(shape, element_type(self.w))]
