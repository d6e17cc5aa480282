"""Transforms by small matrices: few additions, no table, no product by 0 or 1."""

from __future__ import annotations

from collections import Counter

import pytest
from xdsl.builder import ImplicitBuilder
from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, f32
from xdsl.ir import Block

from nn_opt.conversion.to_tensor.scalar import Scalar
from nn_opt.conversion.to_tensor.winograd import times
from nn_opt.dialects.graph.winograd import ALGORITHMS, Matrix

COUNTS = [  # by hand: the fewest with fused multiply-adds and shared halves
    ("winograd2", "inputs", 4),
    ("winograd2", "outputs", 4),
    ("winograd4", "inputs", 12),
    ("winograd4", "outputs", 12),
]


def arithmetic(matrix: Matrix) -> Block:
    block = Block(arg_types=[f32] * len(matrix[0]))
    with ImplicitBuilder(block):
        times(matrix, [Scalar(argument, f32) for argument in block.args])
    return block


@pytest.mark.parametrize(("name", "field", "count"), COUNTS)
def test_a_transform_takes_few_operations(name: str, field: str, count: int):
    block = arithmetic(getattr(ALGORITHMS[name], field))
    names = Counter(op.name for op in block.ops if not isinstance(op, arith.ConstantOp))
    assert names.total() <= count, names


@pytest.mark.parametrize(("name", "field", "count"), COUNTS)
def test_no_product_by_zero_or_one(name: str, field: str, count: int):
    constants = [
        op.value.value.data
        for op in arithmetic(getattr(ALGORITHMS[name], field)).ops
        if isinstance(op, arith.ConstantOp) and isinstance(op.value, FloatAttr)
    ]
    assert not {0.0, 1.0, -1.0} & set(constants)
