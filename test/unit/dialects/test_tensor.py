"""Builders of the tensor dialect, and where reductions start."""

from __future__ import annotations

import math

import pytest
from xdsl.builder import ImplicitBuilder
from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IntegerType, f32, i64
from xdsl.dialects.test import TestOp
from xdsl.ir import Block, Region
from xdsl.ir.affine import AffineExpr
from xdsl.utils.exceptions import VerifyException

from nn_opt.dialects import tensor
from nn_opt.ir.types import tensor_type


def value(*shape: int):
    return TestOp(result_types=[tensor_type(shape, f32)]).results[0]


@pytest.mark.parametrize(
    ("combiner", "element", "start"),
    [
        ("add", f32, 0),
        ("mul", f32, 1),
        ("max", f32, -math.inf),
        ("min", f32, math.inf),
        ("max", IntegerType(8), -128),
        ("min", IntegerType(8), 127),
        ("min", i64, 2**63 - 1),
        ("or", i64, 0),
        ("and", i64, -1),
    ],
)
def test_a_reduction_starts_from_the_identity(combiner, element, start):
    assert tensor.identity_of(combiner, element) == start


def test_a_compute_has_the_axes_of_its_result_then_those_it_reduces():
    x, body = value(4, 6), tensor.ComputeOp.body_block(2)
    with ImplicitBuilder(body) as (i, k):
        tensor.YieldOp(tensor.ReadOp(x, [i, k]).result)
    op = tensor.ComputeOp(
        "sum", Region(body), [tensor_type([4], f32)], reduce_sizes=[6], combiner="add"
    )
    op.verify()
    assert op.axis_sizes == (4, 6)
    assert op.rank == 1
    assert op.yielded[0].type == f32


def test_a_read_takes_its_default_as_the_element_type():
    body = Block(arg_types=[])
    with ImplicitBuilder(body):
        read = tensor.ReadOp(value(4), [], [AffineExpr.constant(-1)], 0)
    read.verify()
    assert read.default == FloatAttr(0.0, f32)


def test_a_custom_combiner_has_a_start_for_each_result():
    x, body, combine = value(4), tensor.ComputeOp.body_block(1), Block(arg_types=[f32, f32])
    with ImplicitBuilder(body) as (k,):
        tensor.YieldOp(tensor.ReadOp(x, [k]).result)
    with ImplicitBuilder(combine) as (a, b):
        tensor.YieldOp(arith.MaximumfOp(a, b).result)
    op = tensor.ComputeOp(
        "max",
        Region(body),
        [tensor_type([], f32)],
        reduce_sizes=[4],
        combiner="custom",
        combine=Region(combine),
        init=[-math.inf],
    )
    op.verify()
    del op.properties["init"]
    with pytest.raises(VerifyException, match="takes `init` and `combine`"):
        op.verify()


def test_a_view_keeps_the_number_of_elements():
    tensor.ViewOp(value(4, 6), [3, 8]).verify()
    with pytest.raises(VerifyException, match="different numbers of elements"):
        tensor.ViewOp(value(4, 6), [5, 5]).verify()
