"""Checks that are not repeated still refuse all that xDSL's own refuse."""

from __future__ import annotations

import pytest
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp, i32, i64
from xdsl.dialects.test import TestOp as SourceOp  # pytest collects what is named Test*
from xdsl.ir import Operation
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import OpTrait
from xdsl.utils.exceptions import VerifyException

from nn_opt.ir.verify import verify


class NotOfItself(OpTrait):
    """Refuses a first operand that is an op of the same name."""

    def verify(self, op: Operation) -> None:
        owner = op.operands[0].owner
        if isinstance(owner, Operation) and owner.name == op.name:
            raise VerifyException("is of itself")


@irdl_op_definition
class NextOp(IRDLOperation):
    """Has a trait and a check of its own, neither of which reads types alone."""

    name = "t.next"
    operand = operand_def(i32)
    result = result_def(i32)
    traits = traits_def(NotOfItself())

    def verify_(self) -> None:
        if self.result.name_hint == "bad":
            raise VerifyException("has a bad name")


def refusal(*ops: Operation) -> str:
    with pytest.raises(VerifyException) as caught:
        verify(ModuleOp(list(ops)))
    return str(caught.value)


def test_types_are_checked_after_the_same_op_was_right():
    source = SourceOp(result_types=[i32, i64])
    right = arith.AddiOp(source.results[0], source.results[0])
    wrong = arith.AddiOp.create(
        operands=source.results, result_types=[i32], properties=right.properties
    )
    verify(ModuleOp([s := SourceOp(result_types=[i32]), arith.AddiOp(s.results[0], s.results[0])]))
    assert "arith.addi: operand 'rhs'" in refusal(source, right, wrong)


def test_number_of_operands_is_checked():
    source = SourceOp(result_types=[i32])
    value = source.results[0]
    right = arith.AddiOp.create(operands=[value, value], result_types=[i32])
    wrong = arith.AddiOp.create(operands=[value, value, value], result_types=[i32])
    assert "Expected 2 operands, but got 3" in refusal(source, right, wrong)


def test_traits_are_checked_each_time():
    source = SourceOp(result_types=[i32])
    first = NextOp.create(operands=source.results, result_types=[i32])
    second = NextOp.create(operands=first.results, result_types=[i32])
    assert "t.next: is of itself" in refusal(source, first, second)


def test_own_checks_are_run_each_time():
    source = SourceOp(result_types=[i32])
    first = NextOp.create(operands=source.results, result_types=[i32])
    second = NextOp.create(operands=source.results, result_types=[i32])
    second.results[0].name_hint = "bad"
    assert "t.next: has a bad name" in refusal(source, first, second)


def test_properties_are_checked_each_time():
    first = arith.ConstantOp.from_int_and_width(1, 32)
    second = arith.ConstantOp.create(result_types=[i32])
    assert "property 'value' expected" in refusal(first, second)


def test_properties_are_part_of_what_was_seen():
    source = SourceOp(result_types=[i32])
    value = source.results[0]
    right = arith.AddiOp(value, value)
    wrong = arith.AddiOp.create(
        operands=[value, value], result_types=[i32], properties={**right.properties, "odd": i32}
    )
    assert "property 'odd' is not defined" in refusal(source, right, wrong)
