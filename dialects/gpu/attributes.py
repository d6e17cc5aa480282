"""What gpu operations are told: limits of a device, kinds of reductions, shuffles, broadcasts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, StringAttr
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, Data, Operation, SpacedOpaqueSyntaxAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.str_enum import StrEnum

from nn_opt.ir.target import Gpu

LIMITS = "gpu.limits"  # of a gpu.module
CONTAINER = "gpu.container_module"  # of a module that has gpu.modules
LOCKSTEP = "gpu.lockstep"  # of a gpu.func: no barriers yet, each op is done for all threads at once
ATTRIBUTIONS = "workgroup_attributions"  # of what has a body: how many shared buffers it names
NODES = "nn.nodes"  # of a kernel and its launches: the model's nodes


class Reduction(StrEnum):
    """How values are combined; the signless kinds say how they read the bits."""

    Add = "add"
    Mul = "mul"
    MinUI = "minui"
    MinSI = "minsi"
    MinNumF = "minnumf"
    MaxUI = "maxui"
    MaxSI = "maxsi"
    MaxNumF = "maxnumf"
    And = "and"
    Or = "or"
    Xor = "xor"
    MinimumF = "minimumf"
    MaximumF = "maximumf"


class ShuffleMode(StrEnum):
    """Which lane a value comes from: own ^ offset, own + offset, own - offset, or that lane."""

    Xor = "xor"
    Down = "down"
    Up = "up"
    Idx = "idx"


class Broadcast(StrEnum):
    """Which lane's value all lanes get."""

    FirstActiveLane = "first_active_lane"
    SpecificLane = "specific_lane"


class Elementwise(StrEnum):
    """What is done to each element of fragments."""

    AddF = "addf"
    MulF = "mulf"
    SubF = "subf"
    MaxF = "maxf"
    MinF = "minf"
    DivF = "divf"
    AddI = "addi"
    MulI = "muli"
    SubI = "subi"
    DivS = "divs"
    DivU = "divu"
    NegateF = "negatef"
    NegateS = "negates"
    ExtF = "extf"


class AtomicKind(StrEnum):
    """How an atomic combines what is in memory with a value; named as in memref.atomic_rmw."""

    AddF = "addf"
    AddI = "addi"
    Assign = "assign"
    MaximumF = "maximumf"
    MaxNumF = "maxnumf"
    MaxS = "maxs"
    MaxU = "maxu"
    MinimumF = "minimumf"
    MinNumF = "minnumf"
    MinS = "mins"
    MinU = "minu"
    AndI = "andi"
    OrI = "ori"
    XorI = "xori"


@irdl_attr_definition
class ReductionAttr(EnumAttribute[Reduction], SpacedOpaqueSyntaxAttribute):
    """A kind of reduction."""

    name = "gpu.all_reduce_op"


@irdl_attr_definition
class ShuffleModeAttr(EnumAttribute[ShuffleMode], SpacedOpaqueSyntaxAttribute):
    """A mode of gpu.shuffle."""

    name = "gpu.shuffle_mode"


@irdl_attr_definition
class BroadcastAttr(EnumAttribute[Broadcast], SpacedOpaqueSyntaxAttribute):
    """A kind of gpu.subgroup_broadcast."""

    name = "gpu.broadcast"


@irdl_attr_definition
class ElementwiseAttr(EnumAttribute[Elementwise], SpacedOpaqueSyntaxAttribute):
    """A kind of gpu.subgroup_mma_elementwise."""

    name = "gpu.mma_element_wise"


@irdl_attr_definition
class AtomicKindAttr(EnumAttribute[AtomicKind], SpacedOpaqueSyntaxAttribute):
    """A kind of gpu.atomic."""

    name = "gpu.atomic_kind"


_SCALARS = ("threads", "shared_bytes", "arguments", "subgroup")
_TRIPLES = ("grid", "block")


@irdl_attr_definition
class LimitsAttr(Data[Gpu]):
    """What kernels may ask of a device; on a gpu.module as `gpu.limits`.

    `#gpu.limits<opencl, threads = 256, shared_bytes = 32768, arguments = 128, subgroup = 0,
    grid = [2147483647, 65535, 65535], block = [256, 256, 64]>`: threads, bytes of shared memory
    and threads in each dimension of a block, buffers of a kernel, threads of a subgroup (0: not
    known), blocks in each dimension.
    """

    name = "gpu.limits"

    def print_parameter(self, printer: Printer) -> None:
        limits = self.data
        with printer.in_angle_brackets():
            printer.print_string(limits.language)
            for field in _SCALARS:
                printer.print_string(f", {field} = {getattr(limits, field)}")
            for field in _TRIPLES:
                printer.print_string(f", {field} = {list(getattr(limits, field))}")

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Gpu:
        with parser.in_angle_brackets():
            language = parser.parse_identifier()
            threads, shared, arguments, subgroup = (
                _parse_field(parser, field) for field in _SCALARS
            )
            grid, block = (_parse_triple(parser, field) for field in _TRIPLES)
        return Gpu(language, threads, shared, arguments, subgroup, grid, block)


def _parse_name(parser: AttrParser, name: str) -> None:
    parser.parse_punctuation(",")
    parser.parse_keyword(name)
    parser.parse_punctuation("=")


def _parse_field(parser: AttrParser, name: str) -> int:
    _parse_name(parser, name)
    return parser.parse_integer(allow_boolean=False, allow_negative=False)


def _parse_triple(parser: AttrParser, name: str) -> tuple[int, int, int]:
    _parse_name(parser, name)
    numbers = parser.parse_comma_separated_list(
        parser.Delimiter.SQUARE,
        lambda: parser.parse_integer(allow_boolean=False, allow_negative=False),
    )
    if len(numbers) != 3:
        parser.raise_error(f"{name} has {len(numbers)} numbers, expected 3: x, y, z")
    return numbers[0], numbers[1], numbers[2]


def drop_no_buffers(op: Operation) -> None:
    """Let a body without shared buffers say nothing of it, where MLIR's generic form says 0."""
    count = op.attributes.get(ATTRIBUTIONS)
    if isinstance(count, IntegerAttr) and not count.value.data:
        del op.attributes[ATTRIBUTIONS]


def nodes_attr(nodes: Sequence[str]) -> ArrayAttr[StringAttr]:
    """Return the attribute that names nodes of the model."""
    return ArrayAttr([StringAttr(node) for node in nodes])


def nodes_of(op: Operation) -> Sequence[str]:
    """Return the nodes of the model that a kernel, or its launch, computes."""
    names = op.attributes.get(NODES)
    if not isinstance(names, ArrayAttr):
        return ()
    entries = cast("ArrayAttr[Attribute]", names)
    return [entry.data for entry in entries if isinstance(entry, StringAttr)]
