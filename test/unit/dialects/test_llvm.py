"""The llvm dialect is upstream's, with a few ops of ours in place of, or beside, its own."""

import numpy as np
import pytest
from xdsl.dialects.builtin import IntegerAttr, f32, i1, i32, i64
from xdsl.dialects.llvm import LLVM as UPSTREAM
from xdsl.dialects.llvm import ConstantOp
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.test_value import create_ssa_value

from nn_opt.dialects.llvm import (
    LLVM,
    ExtractElementOp,
    FCmpOp,
    PoisonOp,
    SelectOp,
    bool_like,
)
from nn_opt.ir.resources import dense_of
from nn_opt.ir.types import vector_type

FOUR = vector_type(4, f32)


def test_every_name_of_upstream_is_there_once():
    names = [op.name for op in LLVM.operations]
    assert len(names) == len(set(names))
    assert {op.name for op in UPSTREAM.operations} <= set(names)
    assert [*LLVM.attributes] == [*UPSTREAM.attributes]


def test_lanes_are_taken_out_and_compared():
    vector, at = create_ssa_value(FOUR), create_ssa_value(i64)
    assert ExtractElementOp(vector, at).res.type == f32
    assert FCmpOp(vector, vector, 4).res.type == vector_type(4, i1) == bool_like(FOUR)
    assert FCmpOp(vector, vector, 4).word == "olt"
    assert bool_like(i32) == i1
    assert PoisonOp(FOUR).res.type == FOUR


def test_a_select_has_as_many_conditions_as_lanes():
    values = create_ssa_value(FOUR)
    SelectOp(create_ssa_value(i1), values, values).verify()
    SelectOp(create_ssa_value(vector_type(4, i1)), values, values).verify()
    wrong = SelectOp(create_ssa_value(vector_type(8, i1)), values, values)
    with pytest.raises(VerifyException, match="chooses by 8 conditions"):
        wrong.verify()


def test_a_comparison_gives_bools():
    vector = create_ssa_value(FOUR)
    op = FCmpOp.create(
        operands=[vector, vector],
        result_types=[i1],
        properties={"predicate": IntegerAttr(4, i64)},
    )
    with pytest.raises(VerifyException, match="result is i1, expected vector<4xi1>"):
        op.verify()


def test_constants_hold_vectors():
    value = dense_of(np.arange(4, dtype=np.float32))
    assert ConstantOp(value, FOUR).result.type == FOUR
