"""loop.load and loop.store: elements or vectors of a buffer at affine indices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

from xdsl.dialects.builtin import AffineMapAttr, IndexType, IntegerAttr, MemRefType, VectorType, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, Pure
from xdsl.utils.exceptions import VerifyException

from nn_opt.ir.affine_text import parse_index, parse_indices, print_index, print_indices
from nn_opt.ir.diagnostics import complaint
from nn_opt.ir.literals import Scalar, parse_scalar, print_scalar, scalar_attr, scalar_value
from nn_opt.ir.types import element_type, shape_of

Access = AffineMap | Sequence[AffineExpr] | None


def access_map(map: Access, indices: Sequence[SSAValue]) -> AffineMapAttr:
    """Return the attribute of an access; None means one index a dimension, in order."""
    if map is None:
        return _identity(len(indices))
    if not isinstance(map, AffineMap):
        map = AffineMap(len(indices), 0, tuple(map))
    return AffineMapAttr(map)


@lru_cache(maxsize=32)
def _identity(rank: int) -> AffineMapAttr:
    return AffineMapAttr(AffineMap.identity(rank))


def verify_access(op: LoadOp | StoreOp) -> None:
    """Check rank, number of values, and that a vector access has the buffer's element type."""
    access, rank = op.map.data, len(shape_of(op.memref))
    if len(access.results) != rank:
        problem = f"has {len(access.results)} indices for a buffer of rank {rank}"
        raise VerifyException(complaint(op, problem, hint="give one index a dimension"))
    if access.num_dims != len(op.indices) or access.num_symbols:
        problem = f"map takes {access.num_dims} values, {len(op.indices)} are given"
        raise VerifyException(complaint(op, problem))
    if element_type(op.accessed) != element_type(op.memref):
        problem = f"accesses {op.accessed} in a buffer of {element_type(op.memref)}"
        raise VerifyException(complaint(op, problem))


def lane_dimension(shape: Sequence[int], stride: int) -> tuple[int, int] | None:
    """Return which index moves from lane to lane of a vector, and by how much; None if none can.

    It is the outermost dimension of more than one element whose neighbours are a divisor of
    `stride` apart.
    """
    distance = math.prod(shape)
    for dimension, size in enumerate(shape):
        distance = distance // size if size else 0
        if size > 1 and distance and stride % distance == 0:
            return dimension, stride // distance
    return None


@irdl_op_definition
class LoadOp(IRDLOperation):
    """One element, or a vector of elements `stride` apart (default 1, in row-major order).

    `or v` is the value outside the bounds; without it every index must be inside them. Of a
    vector, each lane is outside or inside by itself: see `lane_dimension`. Of the products in a
    sum, those with an `or 0.0` that is surely outside may be left out, whatever the other factor
    is. The attribute `prefetch` is a hint: what lies so many elements further on is needed soon.
    """

    name = "loop.load"

    memref = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    map = prop_def(AffineMapAttr)
    default = opt_prop_def(Attribute)
    stride = opt_prop_def(IntegerAttr.constr(i64))
    result = result_def()

    traits = traits_def(MemoryReadEffect())

    def __init__(
        self,
        memref: SSAValue,
        indices: Sequence[SSAValue],
        map: Access = None,
        *,
        default: Scalar | None = None,
        type_: Attribute | None = None,
        stride: int = 1,
    ):
        element = element_type(memref)
        properties: dict[str, Attribute] = {"map": access_map(map, indices)}
        if default is not None:
            properties["default"] = scalar_attr(default, element)
        if stride != 1:
            properties["stride"] = IntegerAttr(stride, i64)
        Operation.__init__(  # IRDL's own takes four times as long
            self,
            operands=[memref, *indices],
            result_types=[type_ or element],
            properties=properties,
        )

    def with_access(self, map: Access, indices: Sequence[SSAValue]) -> LoadOp:
        """Return the same load at other indices."""
        return LoadOp(
            self.memref,
            indices,
            map,
            default=None if self.default is None else scalar_value(self.default),
            type_=self.result.type,
            stride=self.step,
        )

    @property
    def accessed(self) -> Attribute:
        """The type that is read: an element or a vector."""
        return self.result.type

    @property
    def step(self) -> int:
        """The distance of a vector's elements, in elements of the buffer."""
        return self.stride.value.data if self.stride else 1

    def verify_(self) -> None:
        verify_access(self)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        _print_place(printer, self)
        if self.default is not None:
            printer.print_string(" or ")
            print_scalar(printer, self.default)
        _print_types(printer, self)

    @classmethod
    def parse(cls, parser: Parser) -> LoadOp:
        memref = parser.parse_unresolved_operand()
        map, indices = parse_indices(parser)
        default = parse_scalar(parser) if parser.parse_optional_keyword("or") else None
        place = _Place(parser)
        op = cls(
            parser.resolve_operand(memref, place.type),
            indices,
            map.data,
            default=default,
            type_=place.vector,
            stride=place.stride,
        )
        op.attributes |= place.attributes
        return op


@irdl_op_definition
class StoreOp(IRDLOperation):
    """Write one element, or a vector of elements `stride` apart."""

    name = "loop.store"

    value = operand_def()
    memref = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    map = prop_def(AffineMapAttr)
    stride = opt_prop_def(IntegerAttr.constr(i64))

    traits = traits_def(MemoryWriteEffect())

    def __init__(
        self,
        value: SSAValue,
        memref: SSAValue,
        indices: Sequence[SSAValue],
        map: Access = None,
        *,
        stride: int = 1,
    ):
        properties: dict[str, Attribute] = {"map": access_map(map, indices)}
        if stride != 1:
            properties["stride"] = IntegerAttr(stride, i64)
        operands = [SSAValue.get(value), memref, *indices]
        Operation.__init__(self, operands=operands, properties=properties)

    @property
    def accessed(self) -> Attribute:
        """The type that is written: an element or a vector."""
        return self.value.type

    @property
    def step(self) -> int:
        """The distance of a vector's elements, in elements of the buffer."""
        return self.stride.value.data if self.stride else 1

    def verify_(self) -> None:
        verify_access(self)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.value)
        printer.print_string(", ")
        _print_place(printer, self)
        _print_types(printer, self)

    @classmethod
    def parse(cls, parser: Parser) -> StoreOp:
        value = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        memref = parser.parse_unresolved_operand()
        map, indices = parse_indices(parser)
        place = _Place(parser)
        op = cls(
            parser.resolve_operand(value, place.vector or element_type(place.type)),
            parser.resolve_operand(memref, place.type),
            indices,
            map.data,
            stride=place.stride,
        )
        op.attributes |= place.attributes
        return op


@irdl_op_definition
class ApplyOp(IRDLOperation):
    """The value of an affine expression, for ops that compute with an index."""

    name = "loop.apply"

    indices = var_operand_def(IndexType)
    map = prop_def(AffineMapAttr)
    result = result_def(IndexType)

    traits = traits_def(Pure())

    def __init__(self, expr: AffineExpr, indices: Sequence[SSAValue]):
        super().__init__(
            operands=[indices],
            result_types=[IndexType()],
            properties={"map": access_map([expr], indices)},
        )

    def verify_(self) -> None:
        map = self.map.data
        if len(map.results) != 1 or map.num_symbols:
            problem = f"map gives {len(map.results)} values, expected 1"
            raise VerifyException(complaint(self, problem))
        if map.num_dims != len(self.indices):
            problem = f"map takes {map.num_dims} values, {len(self.indices)} are given"
            raise VerifyException(complaint(self, problem))

    def with_access(self, map: Sequence[AffineExpr], indices: Sequence[SSAValue]) -> ApplyOp:
        """Return the same op for another expression."""
        return ApplyOp(map[0], indices)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        print_index(printer, self.map.data.results[0], self.indices)
        printer.print_op_attributes(self.attributes)

    @classmethod
    def parse(cls, parser: Parser) -> ApplyOp:
        op = cls(*parse_index(parser))
        op.attributes |= parser.parse_optional_attr_dict()
        return op


def _print_place(printer: Printer, op: LoadOp | StoreOp) -> None:
    printer.print_ssa_value(op.memref)
    print_indices(printer, op.map.data, op.indices)


def _print_types(printer: Printer, op: LoadOp | StoreOp) -> None:
    if op.step != 1:
        printer.print_string(f" stride {op.step}")
    printer.print_op_attributes(op.attributes)
    printer.print_string(" : ")
    printer.print_attribute(op.memref.type)
    accessed: Attribute = op.accessed
    if isinstance(accessed, VectorType):
        printer.print_string(", ")
        printer.print_attribute(op.accessed)


class _Place:
    """What follows the indices: `stride 4 {attributes} : memref<...>, vector<...>`."""

    def __init__(self, parser: Parser):
        self.stride = parser.parse_integer() if parser.parse_optional_keyword("stride") else 1
        self.attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        self.type = parser.parse_type()
        comma = parser.parse_optional_punctuation(",")
        self.vector = parser.parse_type() if comma else None
