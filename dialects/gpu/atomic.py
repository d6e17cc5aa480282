"""gpu.atomic: an element of a buffer changed in one step, whatever other threads do."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import AffineMapAttr, AnyFloat, IndexType, MemRefType
from xdsl.ir import SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from nn_opt.dialects.gpu.attributes import AtomicKind, AtomicKindAttr
from nn_opt.dialects.loop.access import Access, access_map
from nn_opt.ir.affine_text import parse_indices, print_indices
from nn_opt.ir.diagnostics import complaint
from nn_opt.ir.types import element_type, shape_of

OF_FLOATS = {kind for kind in AtomicKind if kind.value.endswith("f")}


@irdl_op_definition
class AtomicOp(IRDLOperation):
    """Combine a value with an element of a buffer in one step; the result is what was there.

    `%old = gpu.atomic addf %v, %m[%i + 1] : memref<4xf32>`. Atomics of one element come one after
    another, in any order.
    """

    name = "gpu.atomic"

    value = operand_def()
    memref = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    map = prop_def(AffineMapAttr)
    kind = prop_def(AtomicKindAttr)
    result = result_def()

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    def __init__(
        self,
        kind: str,
        value: SSAValue,
        memref: SSAValue,
        indices: Sequence[SSAValue],
        map: Access = None,
    ):
        super().__init__(
            operands=[value, memref, indices],
            result_types=[element_type(memref)],
            properties={
                "map": access_map(map, indices),
                "kind": AtomicKindAttr(AtomicKind(kind)),
            },
        )

    def verify_(self) -> None:
        access, rank = self.map.data, len(shape_of(self.memref))
        if len(access.results) != rank:
            problem = f"has {len(access.results)} indices for a buffer of rank {rank}"
            raise VerifyException(complaint(self, problem, hint="give one index a dimension"))
        if access.num_dims != len(self.indices) or access.num_symbols:
            problem = f"map takes {access.num_dims} values, {len(self.indices)} are given"
            raise VerifyException(complaint(self, problem))
        element = element_type(self.memref)
        if self.value.type != element or self.result.type != element:
            problem = f"combines {self.value.type} with an element {element}"
            raise VerifyException(complaint(self, problem))
        self._verify_kind()

    def _verify_kind(self) -> None:
        kind, element = self.kind.data, element_type(self.memref)
        floats = isinstance(element, AnyFloat)
        if kind is not AtomicKind.Assign and (kind in OF_FLOATS) != floats:
            wanted = [k.value for k in AtomicKind if (k in OF_FLOATS) == floats]
            problem = f"combines {element} by {kind.value}, expected one of {', '.join(wanted)}"
            raise VerifyException(complaint(self, problem))

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.kind.data.value} ")
        printer.print_ssa_value(self.value)
        printer.print_string(", ")
        printer.print_ssa_value(self.memref)
        print_indices(printer, self.map.data, self.indices)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.memref.type)

    @classmethod
    def parse(cls, parser: Parser) -> AtomicOp:
        kind = parser.parse_str_enum(AtomicKind)
        value = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        memref = parser.parse_unresolved_operand()
        map, indices = parse_indices(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type_ = parser.parse_type()
        op = cls(
            kind.value,
            parser.resolve_operand(value, element_type(type_)),
            parser.resolve_operand(memref, type_),
            indices,
            map.data,
        )
        op.attributes |= attributes
        return op
