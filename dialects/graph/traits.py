"""What graph ops share: fusion kinds, element kinds, one syntax, one verifier, one builder."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import ClassVar, Self

from xdsl.dialects.builtin import (
    AnyFloat,
    IntegerType,
    TensorType,
    i1,
)
from xdsl.ir import Attribute, Operation, OpResult, SSAValue, SSAValues
from xdsl.irdl import IRDLOperation, operand_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from nn_opt.dialects.graph.shapes import broadcast_shape, compatible
from nn_opt.dialects.graph.syntax import parse_operation, print_operation
from nn_opt.ir.diagnostics import complaint
from nn_opt.ir.types import element_type, shape_of, tensor_type


class Fusion(Enum):
    """What a kernel may hold of an op, as the fusion pass asks."""

    ELEMENTWISE = "elementwise"  # result element i needs operand element i
    BROADCAST = "broadcast"  # as elementwise, some operand axes repeat
    INJECTIVE = "injective"  # each result element needs one operand element
    REDUCTION = "reduction"  # a result element needs many operand elements
    OUT_FUSABLE = "out_fusable"  # a heavy kernel; elementwise readers may join it
    OPAQUE = "opaque"  # a kernel of its own
    VIEW = "view"  # moves no data


class Elements(Enum):
    """Which element types an op takes."""

    ANY = "any element type"
    NUMBER = "a float or integer element type"
    FLOAT = "a float element type"
    INTEGER = "an integer element type"
    BOOL = "i1 elements"


def _is_integer(element: Attribute) -> bool:
    return isinstance(element, IntegerType) and element != i1


ACCEPTS: dict[Elements, Callable[[Attribute], bool]] = {
    Elements.ANY: lambda element: True,
    Elements.NUMBER: lambda e: isinstance(e, AnyFloat) or _is_integer(e),
    Elements.FLOAT: lambda e: isinstance(e, AnyFloat),
    Elements.INTEGER: _is_integer,
    Elements.BOOL: lambda e: e == i1,
}


def check_elements(value: SSAValue, elements: Elements, what: str = "operand") -> None:
    """Raise ValueError unless the value's element type is among `elements`."""
    element = element_type(value)
    if not ACCEPTS[elements](element):
        raise ValueError(f"{what} has element type {element}, expected {elements.value}")


def check_same_elements(first: SSAValue, *others: SSAValue) -> None:
    """Raise ValueError unless all values have one element type."""
    expected = element_type(first)
    for other in others:
        if element_type(other) != expected:
            raise ValueError(f"operand has element type {element_type(other)}, expected {expected}")


def check_choice(name: str, value: str, choices: Sequence[str]) -> None:
    """Raise ValueError unless the text is one of the choices."""
    if value not in choices:
        raise ValueError(f"{name} is {value!r}, expected one of {', '.join(choices)}")


class GraphOp(IRDLOperation, ABC):
    """An op on whole tensors with one result whose type follows from operands and properties.

    Its text is that of the module `syntax`.
    """

    FUSION: ClassVar[Fusion] = Fusion.OPAQUE
    ELEMENTS: ClassVar[Elements] = Elements.ANY
    HINT: ClassVar[str] = "run --infer-shapes, or fix the operands or attributes in the model"

    result = result_def(TensorType)

    traits = traits_def(Pure())

    def build_inferred(
        self,
        operands: Sequence[SSAValue | Operation | Sequence[SSAValue] | None],
        properties: Mapping[str, Attribute | None] | None = None,
        declared: Attribute | None = None,
    ) -> None:
        """Initialise the op; the result type is inferred, from `declared` where an op has one.

        Raises: ValueError if operands and properties do not fit.
        """
        placeholder = tensor_type((), i1) if declared is None else declared
        IRDLOperation.__init__(
            self, operands=operands, result_types=(placeholder,), properties=properties
        )
        self.results = SSAValues(
            OpResult(type_, self, index) for index, type_ in enumerate(self.infer_result_types())
        )

    def infer_result_types(self) -> list[Attribute]:
        """Return the types that the results must have.

        Raises: ValueError if operands and properties do not fit.
        """
        raise AssertionError(f"{self.name} has no shape inference")

    def check(self) -> None:
        """Raise ValueError if operands or properties are wrong beyond what inference sees."""
        if self.operands:
            check_elements(self.operands[0], self.ELEMENTS)

    def verify_(self) -> None:
        try:
            self.check()
            expected = self.infer_result_types()
        except ValueError as error:
            raise VerifyException(complaint(self, str(error), hint=self.HINT)) from error
        for actual, wanted in zip(self.results, expected, strict=True):
            self._compare(actual, wanted)

    def _compare(self, actual: SSAValue, wanted: Attribute) -> None:
        if element_type(actual) != element_type(wanted):
            problem = f"result element type is {element_type(actual)}, expected "
            problem += str(element_type(wanted))
        elif not compatible(shape_of(actual), shape_of(wanted)):
            problem = f"result shape is {list(shape_of(actual))}, expected {list(shape_of(wanted))}"
        else:
            return
        raise VerifyException(complaint(self, problem, hint=self.HINT))

    def print(self, printer: Printer) -> None:
        print_operation(printer, self)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operands, results, properties, attributes = parse_operation(parser, cls)
        return cls.create(
            operands=operands,
            result_types=results,
            properties=properties,
            attributes=attributes,
        )


class UnaryOp(GraphOp, ABC):
    """One operand, a result of the same type."""

    FUSION: ClassVar[Fusion] = Fusion.ELEMENTWISE
    ELEMENTS: ClassVar[Elements] = Elements.FLOAT

    x = operand_def(TensorType)

    def __init__(self, x: SSAValue):
        self.build_inferred((x,))

    def infer_result_types(self) -> list[Attribute]:
        return [self.x.type]


class BinaryOp(GraphOp, ABC):
    """Two operands of one element type, broadcast as in NumPy; a result of that element type."""

    FUSION: ClassVar[Fusion] = Fusion.BROADCAST
    ELEMENTS: ClassVar[Elements] = Elements.NUMBER

    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)

    def __init__(self, lhs: SSAValue, rhs: SSAValue):
        self.build_inferred((lhs, rhs))

    def result_element(self) -> Attribute:
        """Return the element type of the result."""
        check_same_elements(self.lhs, self.rhs)
        return element_type(self.lhs)

    def infer_result_types(self) -> list[Attribute]:
        shape = broadcast_shape(shape_of(self.lhs), shape_of(self.rhs))
        return [tensor_type(shape, self.result_element())]


class CompareOp(BinaryOp, ABC):
    """Two operands of one element type, broadcast as in NumPy; an i1 result."""

    def result_element(self) -> Attribute:
        check_same_elements(self.lhs, self.rhs)
        return i1
