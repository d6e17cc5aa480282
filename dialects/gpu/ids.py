"""Which thread of which block this is, how many there are, and where they wait for each other."""

from __future__ import annotations

from abc import ABC

from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.dialects.gpu import DimensionAttr, DimensionEnum
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, Pure

DIMENSIONS = ("x", "y", "z")


class Dimensional(IRDLOperation, ABC):
    """A number that each dimension has its own of: `gpu.thread_id x`.

    `upper_bound 32` promises that it is less; of a size, that it is at most that.
    """

    dimension = prop_def(DimensionAttr)
    upper_bound = opt_prop_def(IntegerAttr.constr(IndexType()))
    result = result_def(IndexType)

    traits = traits_def(Pure())

    assembly_format = "$dimension (`upper_bound` $upper_bound^)? attr-dict"

    def __init__(self, dimension: str | DimensionAttr, upper_bound: int | None = None):
        if isinstance(dimension, str):
            dimension = DimensionAttr(DimensionEnum(dimension))
        bound = None if upper_bound is None else IntegerAttr(upper_bound, IndexType())
        super().__init__(
            result_types=[IndexType()], properties={"dimension": dimension, "upper_bound": bound}
        )

    @property
    def axis(self) -> int:
        """The dimension as a number: 0 is x."""
        return DIMENSIONS.index(self.dimension.data.value)


@irdl_op_definition
class ThreadIdOp(Dimensional):
    """Which thread of its block this one is."""

    name = "gpu.thread_id"


@irdl_op_definition
class BlockIdOp(Dimensional):
    """Which block of the grid this thread is in."""

    name = "gpu.block_id"


@irdl_op_definition
class BlockDimOp(Dimensional):
    """The number of threads of a block."""

    name = "gpu.block_dim"


@irdl_op_definition
class GridDimOp(Dimensional):
    """The number of blocks of the grid."""

    name = "gpu.grid_dim"


@irdl_op_definition
class GlobalIdOp(Dimensional):
    """Which thread of the grid this one is: block_id * block_dim + thread_id."""

    name = "gpu.global_id"


class InSubgroup(IRDLOperation, ABC):
    """A number about the threads that run in step."""

    upper_bound = opt_prop_def(IntegerAttr.constr(IndexType()))
    result = result_def(IndexType)

    traits = traits_def(Pure())

    assembly_format = "(`upper_bound` $upper_bound^)? attr-dict `:` type($result)"

    def __init__(self, upper_bound: int | None = None):
        bound = None if upper_bound is None else IntegerAttr(upper_bound, IndexType())
        super().__init__(result_types=[IndexType()], properties={"upper_bound": bound})


@irdl_op_definition
class LaneIdOp(InSubgroup):
    """Which thread of its subgroup this one is."""

    name = "gpu.lane_id"

    assembly_format = "(`upper_bound` $upper_bound^)? attr-dict"


@irdl_op_definition
class SubgroupIdOp(InSubgroup):
    """Which subgroup of its block this thread is in."""

    name = "gpu.subgroup_id"


@irdl_op_definition
class NumSubgroupsOp(InSubgroup):
    """The number of subgroups of a block."""

    name = "gpu.num_subgroups"


@irdl_op_definition
class SubgroupSizeOp(InSubgroup):
    """The number of threads of a subgroup."""

    name = "gpu.subgroup_size"


@irdl_op_definition
class BarrierOp(IRDLOperation):
    """All threads of a block come here before any goes on; what they wrote is then seen by all."""

    name = "gpu.barrier"

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    assembly_format = "attr-dict"

    def __init__(self):
        super().__init__()
