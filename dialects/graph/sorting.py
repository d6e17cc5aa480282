"""Orders: which elements come first, and where numbers belong among sorted ones."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import TensorType, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def

from nn_opt.dialects.graph.fields import flag, flag_def, int_def, integer
from nn_opt.dialects.graph.shapes import Shape, compatible, normal_axis
from nn_opt.dialects.graph.traits import Elements, GraphOp, check_same_elements
from nn_opt.ir.types import shape_of, tensor_type


def sorted_shape(shape: tuple[int, ...], axis: int, count: int) -> Shape:
    """Return the shape with `count` elements along the axis.

    Raises: ValueError if the axis is out of range or has fewer elements.
    """
    axis = normal_axis(axis, len(shape))
    if not 0 <= count <= shape[axis]:
        raise ValueError(f"count is {count}, expected 0 to {shape[axis]} of axis {axis}")
    return (*shape[:axis], count, *shape[axis + 1 :])


@irdl_op_definition
class ArgSortOp(GraphOp):
    """Where the first `count` elements of the sorted order along an axis are, as i64.

    Ascending, or `descending`; of equal elements the one with the lower index comes first in both.
    NaN is larger than any number, and zeros are equal.
    """

    name = "graph.argsort"
    HINT: ClassVar[str] = "count is at most the size of the axis"

    x = operand_def(TensorType)
    axis = int_def()
    count = int_def()
    descending = flag_def()

    def __init__(
        self, x: SSAValue, axis: int = -1, count: int | None = None, descending: bool = False
    ):
        count = shape_of(x)[axis] if count is None else count
        fields = {"axis": integer(axis), "count": integer(count), "descending": flag(descending)}
        self.build_inferred((x,), fields)

    def infer_result_types(self) -> list[Attribute]:
        shape = sorted_shape(shape_of(self.x), self.axis.value.data, self.count.value.data)
        return [tensor_type(shape, i64)]


@irdl_op_definition
class SearchSortedOp(GraphOp):
    """How many of the sorted numbers come before each value, as i64: an index into them.

    Numbers [..., N] ascend along their last axis; values [..., M] have the same leading axes.
    A number that equals the value comes before it only with `right`. Source: torch.searchsorted.
    """

    name = "graph.search_sorted"
    ELEMENTS: ClassVar[Elements] = Elements.NUMBER

    numbers = operand_def(TensorType)
    values = operand_def(TensorType)
    right = flag_def()

    def __init__(self, numbers: SSAValue, values: SSAValue, right: bool = False):
        self.build_inferred((numbers, values), {"right": flag(right)})

    def infer_result_types(self) -> list[Attribute]:
        check_same_elements(self.numbers, self.values)
        numbers, values = shape_of(self.numbers), shape_of(self.values)
        if not numbers or not values or not compatible(numbers[:-1], values[:-1]):
            raise ValueError(f"has shapes {list(numbers)} and {list(values)}, expected equal rows")
        return [tensor_type(values, i64)]
