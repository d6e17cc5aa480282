"""What the threads of a subgroup do together, without shared memory."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import AnyFloat, IntegerAttr, IntegerType, UnitAttr, i1, i32
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from nn_opt.dialects.gpu.attributes import (
    Broadcast,
    BroadcastAttr,
    Reduction,
    ReductionAttr,
    ShuffleMode,
    ShuffleModeAttr,
)
from nn_opt.ir.diagnostics import complaint
from nn_opt.ir.types import element_type

OF_FLOATS = {Reduction.MinNumF, Reduction.MaxNumF, Reduction.MinimumF, Reduction.MaximumF}
OF_BOTH = {Reduction.Add, Reduction.Mul}


def _verify_kind(op: Operation, kind: Reduction, type_: Attribute) -> None:
    """Check that a reduction is one of floats if the elements are floats, else of integers."""
    floats = isinstance(element_type(type_), AnyFloat)
    if kind not in OF_BOTH and (kind in OF_FLOATS) != floats:
        wanted = [k.value for k in Reduction if k in OF_BOTH or (k in OF_FLOATS) == floats]
        problem = f"combines {type_} by {kind.value}, expected one of {', '.join(wanted)}"
        raise VerifyException(complaint(op, problem))


@irdl_op_definition
class ShuffleOp(IRDLOperation):
    """The value that another lane of the subgroup has, and whether there is such a lane.

    `%v, %valid = gpu.shuffle xor %x, %offset, %width : f32`: the subgroup is cut into groups of
    `width` lanes, and the other lane is one of the same group. Where there is none, %v is the
    lane's own value. All lanes of the subgroup must come here together.
    """

    name = "gpu.shuffle"

    T: ClassVar = VarConstraint("T", AnyAttr())

    value = operand_def(T)
    offset = operand_def(i32)
    width = operand_def(i32)
    mode = prop_def(ShuffleModeAttr)
    result = result_def(T)
    valid = result_def(i1)

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    assembly_format = "$mode $value `,` $offset `,` $width attr-dict `:` type($value)"

    def __init__(self, mode: str, value: SSAValue, offset: SSAValue, width: SSAValue):
        super().__init__(
            operands=[value, offset, width],
            result_types=[value.type, i1],
            properties={"mode": ShuffleModeAttr(ShuffleMode(mode))},
        )


@irdl_op_definition
class RotateOp(IRDLOperation):
    """The value that the lane `offset` further on has, around groups of `width` lanes."""

    name = "gpu.rotate"

    T: ClassVar = VarConstraint("T", AnyAttr())

    value = operand_def(T)
    offset = prop_def(IntegerAttr.constr(i32))
    width = prop_def(IntegerAttr.constr(i32))
    result = result_def(T)
    valid = result_def(i1)

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    assembly_format = "$value `,` $offset `,` $width attr-dict `:` type($value)"

    def __init__(self, value: SSAValue, offset: int, width: int):
        super().__init__(
            operands=[value],
            result_types=[value.type, i1],
            properties={"offset": IntegerAttr(offset, i32), "width": IntegerAttr(width, i32)},
        )

    def verify_(self) -> None:
        offset, width = self.offset.value.data, self.width.value.data
        if width < 1 or width & (width - 1):
            problem = f"width is {width}, expected a power of two"
            raise VerifyException(complaint(self, problem))
        if not 0 <= offset < width:
            problem = f"offset is {offset}, expected 0 to {width - 1}"
            raise VerifyException(complaint(self, problem))


@irdl_op_definition
class SubgroupReduceOp(IRDLOperation):
    """The values of all lanes combined, in every lane.

    `gpu.subgroup_reduce add %x : (f32) -> f32`; with `cluster(size = 4)`, of each four lanes.
    """

    name = "gpu.subgroup_reduce"

    T: ClassVar = VarConstraint("T", AnyAttr())

    value = operand_def(T)
    op = prop_def(ReductionAttr)
    uniform = opt_prop_def(UnitAttr)
    cluster_size = opt_prop_def(IntegerAttr.constr(i32))
    cluster_stride = prop_def(IntegerAttr.constr(i32), default_value=IntegerAttr(1, i32))
    result = result_def(T)

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    def __init__(self, kind: str, value: SSAValue, *, size: int | None = None, stride: int = 1):
        super().__init__(
            operands=[value],
            result_types=[value.type],
            properties={
                "op": ReductionAttr(Reduction(kind)),
                "cluster_size": None if size is None else IntegerAttr(size, i32),
                "cluster_stride": IntegerAttr(stride, i32),
            },
        )

    @property
    def size(self) -> int | None:
        """The number of lanes that are combined; None for the whole subgroup."""
        return None if self.cluster_size is None else self.cluster_size.value.data

    @property
    def stride(self) -> int:
        """The distance of lanes that are combined."""
        return self.cluster_stride.value.data

    def verify_(self) -> None:
        _verify_kind(self, self.op.data, self.value.type)
        size = self.size
        if size is not None and (size < 1 or size & (size - 1)):
            problem = f"cluster size is {size}, expected a power of two"
            raise VerifyException(complaint(self, problem))
        if self.stride < 1 or self.stride & (self.stride - 1):
            problem = f"cluster stride is {self.stride}, expected a power of two"
            raise VerifyException(complaint(self, problem))

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.op.data.value} ")
        printer.print_ssa_value(self.value)
        if self.uniform is not None:
            printer.print_string(" uniform")
        if self.size is not None:
            stride = f", stride = {self.stride}" if self.stride != 1 else ""
            printer.print_string(f" cluster(size = {self.size}{stride})")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_function_type([self.value.type], [self.result.type])

    @classmethod
    def parse(cls, parser: Parser) -> SubgroupReduceOp:
        kind = parser.parse_str_enum(Reduction)
        name = parser.parse_unresolved_operand()
        uniform = parser.parse_optional_keyword("uniform")
        size, stride = _parse_cluster(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        signature = parser.parse_function_type()
        (value,) = parser.resolve_operands([name], signature.inputs.data, parser.pos)
        op = cls(kind.value, value, size=size, stride=stride)
        if uniform is not None:
            op.properties["uniform"] = UnitAttr()
        op.attributes |= attributes
        return op


def _parse_cluster(parser: Parser) -> tuple[int | None, int]:
    """Parse `cluster(size = 4, stride = 2)`, or nothing."""
    if parser.parse_optional_keyword("cluster") is None:
        return None, 1
    stride = 1
    with parser.in_parens():
        parser.parse_keyword("size")
        parser.parse_punctuation("=")
        size = parser.parse_integer()
        if parser.parse_optional_punctuation(",") is not None:
            parser.parse_keyword("stride")
            parser.parse_punctuation("=")
            stride = parser.parse_integer()
    return size, stride


@irdl_op_definition
class SubgroupBroadcastOp(IRDLOperation):
    """One lane's value in all lanes: `first_active_lane`, or `specific_lane %lane`."""

    name = "gpu.subgroup_broadcast"

    T: ClassVar = VarConstraint("T", AnyAttr())

    src = operand_def(T)
    lane = opt_operand_def(i32)
    broadcast_type = prop_def(BroadcastAttr)
    result = result_def(T)

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    assembly_format = "$src `,` $broadcast_type ($lane^)? attr-dict `:` type($src)"

    def __init__(self, src: SSAValue, lane: SSAValue | None = None):
        kind = Broadcast.FirstActiveLane if lane is None else Broadcast.SpecificLane
        super().__init__(
            operands=[src, lane],
            result_types=[src.type],
            properties={"broadcast_type": BroadcastAttr(kind)},
        )

    def verify_(self) -> None:
        specific = self.broadcast_type.data is Broadcast.SpecificLane
        if specific != (self.lane is not None):
            given = "no lane" if self.lane is None else "a lane"
            problem = f"{self.broadcast_type.data.value} has {given}"
            hint = "only specific_lane takes one"
            raise VerifyException(complaint(self, problem, hint=hint))


@irdl_op_definition
class BallotOp(IRDLOperation):
    """A bit for each lane of the subgroup: whether the condition holds there."""

    name = "gpu.ballot"

    predicate = operand_def(i1)
    result = result_def(IntegerType)

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    assembly_format = "$predicate attr-dict `:` type($result)"

    def __init__(self, predicate: SSAValue, type_: IntegerType = i32):
        super().__init__(operands=[predicate], result_types=[type_])

    def verify_(self) -> None:
        bits = self.result.type.width.data
        if bits not in (32, 64):
            problem = f"result is i{bits}, expected i32 or i64"
            raise VerifyException(complaint(self, problem))


@irdl_op_definition
class AllReduceOp(IRDLOperation):
    """The values of all threads of a block combined, in every thread; by a kind or by a body."""

    name = "gpu.all_reduce"

    value = operand_def()
    op = opt_prop_def(ReductionAttr)
    uniform = opt_prop_def(UnitAttr)
    body = region_def()
    result = result_def()

    traits = traits_def(IsolatedFromAbove(), MemoryReadEffect(), MemoryWriteEffect())

    def __init__(self, value: SSAValue, kind: str | None = None, body: Region | None = None):
        super().__init__(
            operands=[value],
            result_types=[value.type],
            regions=[body or Region()],
            properties={"op": None if kind is None else ReductionAttr(Reduction(kind))},
        )

    def verify_(self) -> None:
        if (self.op is not None) == bool(self.body.blocks):
            given = "both a kind and a body" if self.op else "neither a kind nor a body"
            raise VerifyException(complaint(self, f"has {given}, expected one of them"))
        if self.op is not None:
            _verify_kind(self, self.op.data, self.value.type)
        if self.result.type != self.value.type:
            problem = f"result is {self.result.type}, expected {self.value.type}"
            raise VerifyException(complaint(self, problem))

    def print(self, printer: Printer) -> None:
        if self.op is not None:
            printer.print_string(f" {self.op.data.value}")
        printer.print_string(" ")
        printer.print_ssa_value(self.value)
        if self.uniform is not None:
            printer.print_string(" uniform")
        printer.print_string(" ")
        printer.print_region(self.body)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_function_type([self.value.type], [self.result.type])

    @classmethod
    def parse(cls, parser: Parser) -> AllReduceOp:
        kind = parser.parse_optional_str_enum(Reduction)
        name = parser.parse_unresolved_operand()
        uniform = parser.parse_optional_keyword("uniform")
        body = parser.parse_region()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        signature = parser.parse_function_type()
        (value,) = parser.resolve_operands([name], signature.inputs.data, parser.pos)
        op = cls(value, None if kind is None else kind.value, body)
        if uniform is not None:
            op.properties["uniform"] = UnitAttr()
        op.attributes |= attributes
        return op
