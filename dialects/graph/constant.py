"""Weights and other arrays known at compile time."""

from __future__ import annotations

from typing import Any, ClassVar

from numpy.typing import NDArray
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, TensorType
from xdsl.ir import Attribute
from xdsl.irdl import IRDLOperation, irdl_op_definition, prop_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from nn_opt.dialects.graph.traits import Fusion
from nn_opt.ir.diagnostics import complaint
from nn_opt.ir.resources import ResourceAttr, array_of, resource_of, tensor_type_of


@irdl_op_definition
class ConstantOp(IRDLOperation):
    """An array known at compile time: dense text if small, else a resource beside the IR.

    Text: `graph.constant dense<1.0> : tensor<f32>`,
    `graph.constant #graph.resource<"key"> : tensor<64x3x7x7xf32>`.
    """

    name = "graph.constant"
    FUSION: ClassVar[Fusion] = Fusion.OPAQUE

    value = prop_def(Attribute)
    result = result_def(TensorType)

    traits = traits_def(Pure())

    def __init__(self, array: NDArray[Any]):
        super().__init__(
            result_types=(tensor_type_of(array),), properties={"value": resource_of(array)}
        )

    def array(self) -> NDArray[Any]:
        """Return the elements, read-only.

        Raises: DiagnosticError if the text was read without its weights.
        """
        return array_of(self.value, self.result.type)

    def infer_result_types(self) -> list[Attribute]:
        """Return the type of the value; a resource read without its array has the declared one."""
        match self.value:
            case DenseIntOrFPElementsAttr():
                return [self.value.type]
            case ResourceAttr() if self.value.data.array is not None:
                return [tensor_type_of(self.value.data.array)]
            case _:
                return [self.result.type]

    def verify_(self) -> None:
        if not isinstance(self.value, DenseIntOrFPElementsAttr | ResourceAttr):
            problem = f"value is {self.value}, expected dense<...> or #graph.resource<...>"
            raise VerifyException(complaint(self, problem, hint="build it from an array"))
        (expected,) = self.infer_result_types()
        if self.result.type != expected:
            problem = f"result type is {self.result.type}, expected {expected}"
            raise VerifyException(complaint(self, problem, hint="the value fixes the type"))

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.value)
        if not isinstance(self.value, DenseIntOrFPElementsAttr):
            printer.print_string(" : ")
            printer.print_attribute(self.result.type)
        printer.print_op_attributes(self.attributes)

    @classmethod
    def parse(cls, parser: Parser) -> ConstantOp:
        value = parser.parse_attribute()
        if isa(value, DenseIntOrFPElementsAttr):
            type_: Attribute = value.type
        else:
            parser.parse_punctuation(":")
            type_ = parser.parse_type()
        attributes = parser.parse_optional_attr_dict()
        return cls.create(result_types=(type_,), properties={"value": value}, attributes=attributes)
