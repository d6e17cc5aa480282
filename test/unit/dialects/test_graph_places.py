"""What the ops of orders, samples and random bits refuse."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from xdsl.builder import ImplicitBuilder
from xdsl.dialects.builtin import f32, i64
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.utils.exceptions import VerifyException

from nn_opt.dialects import graph
from nn_opt.ir.types import tensor_type


def value(*shape: int, element: Attribute = f32) -> SSAValue:
    return Block(arg_types=[tensor_type(shape, element)]).args[0]


IMAGES = value(2, 3, 4, 5)
BATCH = value(6, element=i64)
REFUSED: list[tuple[Callable[[], object], str]] = [
    (lambda: graph.ArgSortOp(value(3, 4), 1, 5), "count is 5, expected 0 to 4 of axis 1"),
    (
        lambda: graph.SearchSortedOp(value(3, 4), value(2, 4)),
        r"has shapes \[3, 4\] and \[2, 4\], expected equal rows",
    ),
    (
        lambda: graph.GridSampleOp(IMAGES, value(2, 4, 4)),
        "ranks are 4 and 3, expected equal ones of at least 3",
    ),
    (
        lambda: graph.GridSampleOp(IMAGES, value(1, 7, 7, 2)),
        r"grid has shape \[1, 7, 7, 2\], expected 2 images and 2 coordinates",
    ),
    (
        lambda: graph.RoiAlignOp(IMAGES, value(6, 4), value(5, element=i64), [2, 2], samples=1),
        r"operands have shapes \[2, 3, 4, 5\], \[6, 4\], \[5\]",
    ),
    (
        lambda: graph.RoiAlignOp(IMAGES, value(6, 5), BATCH, [2, 2], samples=1),
        "rois have 5 coordinates, expected 4",
    ),
]


@pytest.mark.parametrize(("build", "words"), REFUSED)
def test_builders_refuse(build: Callable[[], object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        build()


VERIFIED: list[tuple[Callable[[], graph.GraphOp], str]] = [
    (
        lambda: graph.RandomBitsOp([2], 1 << 32),
        "key is 4294967296, expected an unsigned integer of 32 bits",
    ),
    (
        lambda: graph.GridSampleOp(IMAGES, value(2, 7, 7, 2), "area"),
        "mode is 'area', expected one of nearest, linear, cubic",
    ),
    (
        lambda: graph.RoiAlignOp(IMAGES, value(6, 4), BATCH, [2, 2], samples=0),
        "samples",
    ),
]


@pytest.mark.parametrize(("build", "words"), VERIFIED)
def test_verifier_refuses(build: Callable[[], graph.GraphOp], words: str) -> None:
    with pytest.raises(VerifyException, match=words):
        build().verify()


def test_random_bits_depend_on_their_place_alone() -> None:
    from nn_opt.reference.graph import evaluate

    with ImplicitBuilder(Block()):
        flat, square = graph.RandomBitsOp([6], 5), graph.RandomBitsOp([2, 3], 5)
    (one,), (other,) = evaluate(flat, []), evaluate(square, [])
    np.testing.assert_array_equal(one, other.reshape(6))
    assert len(set(one.tolist())) == 6
