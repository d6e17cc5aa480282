"""What a converter sees of one ONNX node: attributes, operands, compile-time values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from onnx import AttributeProto, GraphProto, NodeProto, SparseTensorProto, TensorProto, TypeProto
from xdsl.ir import Attribute, Block, SSAValue

from nn_opt.dialects import graph
from nn_opt.frontends.onnx.weights import ELEMENT_DTYPES, type_name
from nn_opt.ir.types import element_type, mlir_type, numpy_dtype, shape_of

Array = NDArray[Any]
T = TypeVar("T")
MAX_CONSTANT = 2**31  # elements; 8 GiB of float32


class Unsupported(Exception):
    """A node asks for something that has no converter; the text is the reason."""


class BadNode(Exception):
    """A node contradicts the ONNX specification or its operands' shapes; the text says how."""


class UnknownValue(BadNode):
    """An operand must be known at compile time, but depends on inputs; `name` is the operand's."""

    def __init__(self, index: int, name: str):
        super().__init__(
            f"operand {index} ('{name}') must be known at compile time,"
            " but it depends on the model's inputs"
        )
        self.name = name


class HostOnly(Exception):
    """A node can only run as a step of the host; the text is the reason."""


@dataclass(frozen=True)
class Attributes:
    """A node's attributes, read by name with ONNX's default."""

    proto: NodeProto

    def __contains__(self, name: str) -> bool:
        return any(entry.name == name for entry in self.proto.attribute)

    def _find(self, name: str) -> AttributeProto | None:
        return next((entry for entry in self.proto.attribute if entry.name == name), None)

    def int(self, name: str, default: int = 0) -> int:
        found = self._find(name)
        return default if found is None else found.i

    def flag(self, name: str, default: bool = False) -> bool:
        return bool(self.int(name, int(default)))

    def float(self, name: str, default: float = 0.0) -> float:
        """Return a float32, as the file would hold the default, too."""
        found = self._find(name)
        return float(np.float32(default)) if found is None else found.f

    def number(self, name: str, default: float) -> float:
        """Return an attribute that was a float in one opset and is an integer in another."""
        found = self._find(name)
        is_float = found is not None and found.type == AttributeProto.FLOAT
        return self.float(name) if is_float else self.int(name, int(default))

    def text(self, name: str, default: str = "") -> str:
        found = self._find(name)
        return default if found is None else found.s.decode("utf-8", "replace")

    def choice(self, name: str, default: str, choices: Mapping[str, T]) -> T:
        """Return what an attribute's text stands for; BadNode for a text that is no choice."""
        value = self.text(name, default)
        if value not in choices:
            raise BadNode(f"{name} is '{value}', expected one of {', '.join(choices)}")
        return choices[value]

    def dtype(self, name: str, default: int) -> np.dtype[Any]:
        """Return the dtype of an attribute's element type; Unsupported for one without."""
        kind = self.int(name, default)
        if kind not in ELEMENT_DTYPES:
            raise Unsupported(f"{name}: elements of {type_name(kind)}")
        return ELEMENT_DTYPES[kind]

    def ints(self, name: str) -> list[int] | None:
        found = self._find(name)
        return None if found is None else list(found.ints)

    def floats(self, name: str) -> list[float] | None:
        found = self._find(name)
        return None if found is None else list(found.floats)

    def texts(self, name: str) -> list[str] | None:
        found = self._find(name)
        return None if found is None else [text.decode() for text in found.strings]

    def graph(self, name: str) -> GraphProto:
        """Return a graph, which the ONNX checker has seen to be there."""
        found = self._find(name)
        if found is None:
            raise BadNode(f"attribute '{name}' is missing")
        return found.g

    def type(self, name: str) -> TypeProto | None:
        found = self._find(name)
        return None if found is None else found.tp

    def tensor(self, name: str) -> TensorProto | None:
        found = self._find(name)
        return None if found is None else found.t

    def sparse(self, name: str) -> SparseTensorProto | None:
        found = self._find(name)
        return None if found is None else found.sparse_tensor


class Inline(Protocol):
    """Converts a graph of a node, its inputs bound, at the end of a block, or right here."""

    def __call__(
        self, graph: GraphProto, arguments: Sequence[SSAValue], block: Block | None = None
    ) -> list[SSAValue]: ...


@dataclass(frozen=True)
class Node:
    """One node while it is converted; ops that a converter makes land in the function built."""

    proto: NodeProto
    label: str
    version: int  # of the node's operator set, as the model imports it
    operands: Sequence[SSAValue | None]
    evaluate: Callable[[SSAValue], Array | None]  # the value, if it is known at compile time
    read_tensor: Callable[[TensorProto], Array]
    inline: Inline

    @property
    def attrs(self) -> Attributes:
        return Attributes(self.proto)

    @property
    def outputs(self) -> list[str]:
        """The names of the results; '' for one that is left out."""
        return list(self.proto.output)

    def get(self, index: int) -> SSAValue | None:
        """Return an optional operand."""
        return self.operands[index] if index < len(self.operands) else None

    def __getitem__(self, index: int) -> SSAValue:
        value = self.get(index)
        if value is None:
            raise BadNode(f"operand {index} is missing")
        return value

    def present(self) -> list[SSAValue]:
        """Return all operands of a variadic operator."""
        return [self[index] for index in range(len(self.operands))]

    def known(self, index: int) -> Array | None:
        """Return the compile-time value of an optional operand, None if it is left out.

        Raises: UnknownValue if it is only known at run time.
        """
        value = self.get(index)
        if value is None:
            return None
        array = self.evaluate(value)
        if array is None:
            raise UnknownValue(index, self.proto.input[index])
        return array

    def known_ints(self, index: int) -> list[int] | None:
        """Return the compile-time integers of an optional operand, None if it is left out."""
        array = self.known(index)
        return None if array is None else [int(entry) for entry in array.reshape(-1)]


Results = SSAValue | Sequence[SSAValue | None]


def constant(array: Array) -> SSAValue:
    """Return a constant of the array's own type."""
    return graph.ConstantOp(np.asarray(array)).result


def scalar(value: float | int | bool, element: Attribute) -> SSAValue:
    """Return a rank-0 constant of the element type."""
    return constant(np.asarray(value, numpy_dtype(element)))


def scalar_like(value: float | int, other: SSAValue) -> SSAValue:
    """Return a rank-0 constant of the same element type as another value."""
    return scalar(value, element_type(other))


def int64s(values: Sequence[int]) -> SSAValue:
    """Return a constant vector of int64."""
    return constant(np.asarray(values, np.int64))


def dtype_of(value: SSAValue) -> np.dtype[Any]:
    """Return the NumPy dtype of a value's elements."""
    return numpy_dtype(element_type(value))


def check_count(elements: int) -> None:
    """Raise BadNode for a constant of more elements than a program can hold."""
    if elements > MAX_CONSTANT:
        raise BadNode(f"a constant of {elements} elements is absurd")


def rank_of(value: SSAValue) -> int:
    """Return the number of axes of a value."""
    return len(shape_of(value))


def axis_in(axis: int, rank: int) -> int:
    """Return a possibly negative axis counted from the front; BadNode if it is out of range."""
    if not -rank <= axis < rank:
        raise BadNode(f"axis {axis} is out of range for rank {rank}")
    return axis + rank if axis < 0 else axis


def axes_in(axes: Sequence[int], rank: int) -> list[int]:
    """Return axes counted from the front, as `axis_in` does; BadNode if one occurs twice."""
    found = [axis_in(axis, rank) for axis in axes]
    if len(set(found)) != len(found):
        raise BadNode(f"axes {list(axes)} name one axis twice")
    return found


def reshaped(value: SSAValue, shape: Sequence[int]) -> SSAValue:
    """Return the value under another shape of as many elements, itself if it has that already."""
    if shape_of(value) == tuple(shape):
        return value
    return graph.ReshapeOp(value, list(shape)).result


def transposed(value: SSAValue, perm: Sequence[int]) -> SSAValue:
    """Return the value with its axes permuted, itself for the identity."""
    if list(perm) == list(range(len(perm))):
        return value
    return graph.TransposeOp(value, list(perm)).result


def cast(value: SSAValue, element: Attribute) -> SSAValue:
    """Return the value with another element type, itself if it has that already."""
    return value if element_type(value) == element else graph.CastOp(value, element).result


F32 = mlir_type(np.float32)
F64 = mlir_type(np.float64)
I64 = mlir_type(np.int64)
