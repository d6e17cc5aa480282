"""tensor.join: tensors one behind the other in memory."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from nn_opt.ir.diagnostics import complaint
from nn_opt.ir.types import element_type, shape_of, tensor_type


@irdl_op_definition
class JoinOp(IRDLOperation):
    """The elements of each part in row-major order, part after part, under one shape.

    Costs nothing for a part whose producer can write it in place.
    """

    name = "tensor.join"

    parts = var_operand_def(TensorType)
    result = result_def(TensorType)

    traits = traits_def(Pure())

    assembly_format = "$parts attr-dict `:` type($parts) `to` type($result)"

    def __init__(self, parts: Sequence[SSAValue], shape: Sequence[int]):
        type_ = tensor_type(shape, element_type(parts[0]))
        super().__init__(operands=[parts], result_types=[type_])

    @property
    def offsets(self) -> list[int]:
        """Where each part starts, in elements."""
        sizes = [math.prod(shape_of(part)) for part in self.parts]
        return [sum(sizes[:k]) for k in range(len(sizes))]

    def verify_(self) -> None:
        count = sum(math.prod(shape_of(part)) for part in self.parts)
        if count != math.prod(shape_of(self.result)):
            problem = f"joins {count} elements into {math.prod(shape_of(self.result))}"
            raise VerifyException(complaint(self, problem, hint="a join keeps every element"))
        for part in self.parts:
            if element_type(part) != element_type(self.result):
                problem = f"joins {element_type(part)} into {element_type(self.result)}"
                raise VerifyException(complaint(self, problem, hint="cast the parts first"))
