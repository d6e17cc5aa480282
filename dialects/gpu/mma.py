"""Fragments of matrices that the threads of a subgroup hold and multiply together."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    Float16Type,
    Float32Type,
    IndexType,
    IntAttr,
    IntegerAttr,
    IntegerType,
    MemRefType,
    StringAttr,
    UnitAttr,
)
from xdsl.ir import Attribute, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, Pure
from xdsl.utils.exceptions import VerifyException

from nn_opt.dialects.gpu.attributes import Elementwise, ElementwiseAttr
from nn_opt.ir.diagnostics import complaint
from nn_opt.ir.types import element_type, shape_of

OPERANDS = ("AOp", "BOp", "COp")


@irdl_attr_definition
class MmaMatrixType(ParametrizedAttribute, TypeAttribute):
    """A matrix spread over the lanes of a subgroup: `!gpu.mma_matrix<16x16xf16, "AOp">`.

    It is a left factor (AOp), a right one (BOp), or a sum (COp).
    """

    name = "gpu.mma_matrix"

    rows: IntAttr
    columns: IntAttr
    element_type: Attribute
    operand: StringAttr

    @staticmethod
    def of(shape: Sequence[int], element: Attribute, operand: str) -> MmaMatrixType:
        """Return the type of a fragment."""
        rows, columns = shape
        return MmaMatrixType(IntAttr(rows), IntAttr(columns), element, StringAttr(operand))

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return self.rows.data, self.columns.data

    def verify(self) -> None:
        if self.operand.data not in OPERANDS:
            problem = f"!gpu.mma_matrix is {self.operand.data!r}, expected {', '.join(OPERANDS)}"
            raise VerifyException(problem)
        numbers = (Float16Type, Float32Type, IntegerType)
        if not isinstance(self.element_type, numbers):
            problem = f"!gpu.mma_matrix has elements {self.element_type}, expected f16, f32 or i8"
            raise VerifyException(problem)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(f"{self.rows.data}x{self.columns.data}x")
            printer.print_attribute(self.element_type)
            printer.print_string(", ")
            printer.print_attribute(self.operand)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            sizes, element = parser.parse_ranked_shape()
            if len(sizes) != 2:
                parser.raise_error(f"a fragment has {len(sizes)} dimensions, expected 2")
            parser.parse_punctuation(",")
            operand = parser.parse_str_literal()
        return [IntAttr(sizes[0]), IntAttr(sizes[1]), element, StringAttr(operand)]


@irdl_op_definition
class MmaLoadOp(IRDLOperation):
    """A fragment read from a buffer, whose rows are `leadDimension` elements apart."""

    name = "gpu.subgroup_mma_load_matrix"

    srcMemref = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    leadDimension = prop_def(IntegerAttr.constr(IndexType()))
    transpose = opt_prop_def(UnitAttr)
    res = result_def(MmaMatrixType)

    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(MemoryReadEffect())

    assembly_format = "$srcMemref `[` $indices `]` attr-dict `:` type($srcMemref) `->` type($res)"

    def __init__(
        self,
        memref: SSAValue,
        indices: Sequence[SSAValue],
        lead: int,
        type_: MmaMatrixType,
        *,
        transpose: bool = False,
    ):
        super().__init__(
            operands=[memref, indices],
            result_types=[type_],
            properties={
                "leadDimension": IntegerAttr(lead, IndexType()),
                "transpose": UnitAttr() if transpose else None,
            },
        )

    def verify_(self) -> None:
        _verify_place(self, self.srcMemref, self.indices)


@irdl_op_definition
class MmaStoreOp(IRDLOperation):
    """A sum written to a buffer, whose rows are `leadDimension` elements apart."""

    name = "gpu.subgroup_mma_store_matrix"

    src = operand_def(MmaMatrixType)
    dstMemref = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    leadDimension = prop_def(IntegerAttr.constr(IndexType()))
    transpose = opt_prop_def(UnitAttr)

    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(MemoryWriteEffect())

    assembly_format = (
        "$src `,` $dstMemref `[` $indices `]` attr-dict `:` type($src) `,` type($dstMemref)"
    )

    def __init__(self, src: SSAValue, memref: SSAValue, indices: Sequence[SSAValue], lead: int):
        super().__init__(
            operands=[src, memref, indices],
            properties={"leadDimension": IntegerAttr(lead, IndexType()), "transpose": None},
        )

    def verify_(self) -> None:
        _verify_place(self, self.dstMemref, self.indices)
        type_ = self.src.type
        assert isinstance(type_, MmaMatrixType)
        if type_.operand.data != "COp":
            problem = f"stores a fragment {type_.operand.data}, expected COp"
            raise VerifyException(complaint(self, problem))


def _verify_place(
    op: MmaLoadOp | MmaStoreOp, memref: SSAValue, indices: Sequence[SSAValue]
) -> None:
    rank = len(shape_of(memref))
    if len(indices) != rank:
        problem = f"has {len(indices)} indices for a buffer of rank {rank}"
        raise VerifyException(complaint(op, problem, hint="give one index a dimension"))
    fragment = op.res.type if isinstance(op, MmaLoadOp) else op.src.type
    assert isinstance(fragment, MmaMatrixType)
    if fragment.element_type != element_type(memref):
        problem = f"accesses {fragment} in a buffer of {element_type(memref)}"
        raise VerifyException(complaint(op, problem))


@irdl_op_definition
class MmaComputeOp(IRDLOperation):
    """A product of two fragments, plus a sum: opA * opB + opC."""

    name = "gpu.subgroup_mma_compute"

    opA = operand_def(MmaMatrixType)
    opB = operand_def(MmaMatrixType)
    opC = operand_def(MmaMatrixType)
    a_transpose = opt_prop_def(UnitAttr)
    b_transpose = opt_prop_def(UnitAttr)
    res = result_def(MmaMatrixType)

    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(Pure())

    def __init__(self, a: SSAValue, b: SSAValue, c: SSAValue):
        super().__init__(operands=[a, b, c], result_types=[c.type])

    def verify_(self) -> None:
        types = [operand.type for operand in self.operands]
        for type_, wanted in zip(types, OPERANDS, strict=True):
            assert isinstance(type_, MmaMatrixType)
            if type_.operand.data != wanted:
                problem = f"multiplies a fragment {type_.operand.data}, expected {wanted}"
                raise VerifyException(complaint(self, problem))
        (m, k), (k2, n), sums = (type_.shape for type_ in types if isinstance(type_, MmaMatrixType))
        if k != k2 or (m, n) != sums:
            problem = f"multiplies {m}x{k} by {k2}x{n} into {sums[0]}x{sums[1]}"
            raise VerifyException(complaint(self, problem, hint="expected MxK, KxN and MxN"))

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_ssa_value)
        printer.print_op_attributes({**self.properties, **self.attributes})
        printer.print_string(" : ")
        printer.print_list([self.opA.type, self.opB.type], printer.print_attribute)
        printer.print_string(" -> ")
        printer.print_attribute(self.res.type)

    @classmethod
    def parse(cls, parser: Parser) -> MmaComputeOp:
        at = parser.pos
        names = parser.parse_comma_separated_list(
            parser.Delimiter.NONE, parser.parse_unresolved_operand
        )
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        factors = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        parser.parse_punctuation("->")
        types = [*factors, parser.parse_type()]
        values = parser.resolve_operands(names, types, parser.pos)
        if len(values) != 3:
            problem = f"multiplies {len(values)} fragments, expected 3"
            parser.raise_error(problem, at, parser.pos)
        op = cls(*values)
        for name in ("a_transpose", "b_transpose"):
            if name in attributes:
                op.properties[name] = attributes.pop(name)
        op.attributes |= attributes
        return op


@irdl_op_definition
class MmaConstantOp(IRDLOperation):
    """A fragment of which every element is one value."""

    name = "gpu.subgroup_mma_constant_matrix"

    value = operand_def()
    res = result_def(MmaMatrixType)

    traits = traits_def(Pure())

    def __init__(self, value: SSAValue, type_: MmaMatrixType):
        super().__init__(operands=[value], result_types=[type_])

    def verify_(self) -> None:
        type_ = self.res.type
        assert isinstance(type_, MmaMatrixType)
        if self.value.type != type_.element_type:
            problem = f"fills {type_} with {self.value.type}, expected {type_.element_type}"
            raise VerifyException(complaint(self, problem))

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.value)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.res.type)

    @classmethod
    def parse(cls, parser: Parser) -> MmaConstantOp:
        name = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        at = parser.pos
        type_ = parser.parse_type()
        if not isinstance(type_, MmaMatrixType):
            parser.raise_error(f"fills {type_}, expected !gpu.mma_matrix", at, parser.pos)
        op = cls(parser.resolve_operand(name, type_.element_type), type_)
        op.attributes |= attributes
        return op


@irdl_op_definition
class MmaElementwiseOp(IRDLOperation):
    """Fragments combined element by element."""

    name = "gpu.subgroup_mma_elementwise"

    args = var_operand_def(MmaMatrixType)
    opType = prop_def(ElementwiseAttr)
    res = result_def(MmaMatrixType)

    traits = traits_def(Pure())

    assembly_format = "$opType $args attr-dict `:` functional-type($args, $res)"

    def __init__(self, kind: str, args: Sequence[SSAValue], type_: Attribute | None = None):
        super().__init__(
            operands=[args],
            result_types=[type_ or args[0].type],
            properties={"opType": ElementwiseAttr(Elementwise(kind))},
        )
