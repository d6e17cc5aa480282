"""loop.ldexp: what scales by a power of two in one instruction, where a machine has that."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import AnyFloatConstr, VectorType, i32
from xdsl.ir import SSAValue
from xdsl.irdl import (
    IRDLOperation,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from nn_opt.ir.diagnostics import complaint
from nn_opt.ir.types import lanes_of, vector_type


@irdl_op_definition
class LdexpOp(IRDLOperation):
    """value * 2^exponent on each lane, rounded once; 0 and infinity where that is out of range.

    `%y = loop.ldexp %x, %n : vector<16xf32>, vector<16xi32>`
    """

    name = "loop.ldexp"

    T: ClassVar = VarConstraint("T", AnyFloatConstr | VectorType.constr(AnyFloatConstr))

    value = operand_def(T)
    exponent = operand_def()
    result = result_def(T)

    traits = traits_def(Pure())

    assembly_format = "$value `,` $exponent attr-dict `:` type($value) `,` type($exponent)"

    def __init__(self, value: SSAValue, exponent: SSAValue):
        super().__init__(operands=[value, exponent], result_types=[value.type])

    def verify_(self) -> None:
        lanes = lanes_of(self.value.type)
        expected = i32 if lanes is None else vector_type(lanes, i32)
        if self.exponent.type != expected:
            problem = f"exponent is {self.exponent.type}, expected {expected}"
            raise VerifyException(complaint(self, problem))
