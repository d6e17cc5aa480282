"""Weights beside the IR: an attribute that carries an array and prints as a short key."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import BytesAttr, DenseIntOrFPElementsAttr, TensorType
from xdsl.ir import Attribute, Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.ir.sidecar import RESOURCE, beside
from nn_opt.ir.small_types import SMALL_INTEGERS
from nn_opt.ir.types import element_type, mlir_type, numpy_dtype, shape_of, tensor_type

Array = NDArray[Any]
INLINE_ELEMENTS = 16  # arrays up to this size are printed in the text itself


@dataclass(frozen=True, eq=False)
class Resource:
    """A read-only array under its content's key; `array` is None where the text came without."""

    array: Array | None
    _key: list[str] = field(default_factory=list[str])

    @property
    def key(self) -> str:
        """The first 16 hex digits of the SHA-256 of dtype, shape and bytes; computed once."""
        if not self._key:
            assert self.array is not None
            head = f"{self.array.dtype.name}{self.array.shape}".encode()
            content = np.ascontiguousarray(self.array).reshape(-1).view(np.uint8)
            digest = hashlib.sha256(head)
            digest.update(content.data)
            self._key.append(digest.hexdigest()[:16])
        return self._key[0]

    def __eq__(self, other: object) -> bool:
        if self is other or not isinstance(other, Resource):
            return self is other
        both_here = self.array is not None and other.array is not None
        if both_here and hash(self) != hash(other):
            return False
        return self.key == other.key

    def __hash__(self) -> int:
        """Tell most arrays apart by three elements, as computing a key reads all of them."""
        array = self.array
        if array is None or not array.size:
            return hash(self.key)
        places = ((0,) * array.ndim, tuple(size // 2 for size in array.shape), (-1,) * array.ndim)
        return hash((array.shape, *(array[place].tobytes() for place in places)))


@irdl_attr_definition
class ResourceAttr(Data[Resource]):
    """The array of a constant; printed as its key, so that 100 MB of weights are a line."""

    name = RESOURCE

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Resource:
        with parser.in_angle_brackets():
            key = parser.parse_str_literal()
        return Resource(beside(key), [key])

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string_literal(self.data.key)


def resource_of(array: Array) -> Attribute:
    """Return the attribute for a constant: dense text if small, else a resource."""
    if array.size > INLINE_ELEMENTS:
        array = array.view()
        array.flags.writeable = False
        return ResourceAttr(Resource(array))
    return dense_of(array)


def dense_of(array: Array) -> DenseIntOrFPElementsAttr:
    """Return `dense<...>` with the array's bytes."""
    type_ = tensor_type(array.shape, mlir_type(array.dtype))
    packed = np.ascontiguousarray(array).reshape(array.shape)
    if packed.dtype == np.bool_:
        packed = -packed.view(np.int8)  # xDSL keeps `true` as -1
    elif packed.dtype.name in SMALL_INTEGERS:
        packed = packed.astype(np.int8)  # xDSL keeps 4 bits as the byte of the same number
    return DenseIntOrFPElementsAttr(type_, BytesAttr(packed.tobytes()))  # pyright: ignore[reportArgumentType]


def array_of(value: Attribute, type_: Attribute) -> Array:
    """Return the array of a constant of the given tensor or memref type, read-only.

    Raises: DiagnosticError if the text was read without its weights.
    """
    if isinstance(value, ResourceAttr):
        if value.data.array is None:
            raise DiagnosticError(
                f"error: the weights of resource {value.data.key!r} are not here\n"
                "  hint: pass the file that was written beside the text: --weights=FILE"
            )
        return value.data.array
    assert isinstance(value, DenseIntOrFPElementsAttr)
    dtype = numpy_dtype(element_type(type_))
    odd = dtype == np.bool_ or dtype.name in SMALL_INTEGERS  # kept as bytes of other values
    flat = np.frombuffer(value.data.data, np.int8 if odd else dtype)
    flat = flat.astype(dtype) if odd else flat
    shape = shape_of(type_)
    if flat.size == 1:
        return np.broadcast_to(flat.reshape(()), shape)
    return flat.reshape(shape)


def tensor_type_of(array: Array) -> TensorType[Attribute]:
    """Return the tensor type of an array."""
    return tensor_type(array.shape, mlir_type(array.dtype))
