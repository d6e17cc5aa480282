"""gpu: a grid of blocks of threads, the memory that a block shares, and the host's launches.

A superset of xDSL's dialect of the same name, loaded in its place, in the syntax of MLIR.
"""

from xdsl.dialects.gpu import GPU as UPSTREAM
from xdsl.dialects.gpu import (
    AsyncTokenType,
    DimensionAttr,
    DimensionEnum,
)
from xdsl.ir import Dialect

from nn_opt.dialects.gpu.async_copy import AsyncCommitOp, AsyncCopyOp, AsyncWaitOp
from nn_opt.dialects.gpu.atomic import AtomicOp
from nn_opt.dialects.gpu.attributes import (
    CONTAINER,
    LIMITS,
    LOCKSTEP,
    NODES,
    AtomicKind,
    AtomicKindAttr,
    Broadcast,
    BroadcastAttr,
    Elementwise,
    ElementwiseAttr,
    LimitsAttr,
    Reduction,
    ReductionAttr,
    ShuffleMode,
    ShuffleModeAttr,
    nodes_attr,
    nodes_of,
)
from nn_opt.dialects.gpu.host import AllocOp, DeallocOp, MemcpyOp, WaitOp
from nn_opt.dialects.gpu.ids import (
    DIMENSIONS,
    BarrierOp,
    BlockDimOp,
    BlockIdOp,
    Dimensional,
    GlobalIdOp,
    GridDimOp,
    InSubgroup,
    LaneIdOp,
    NumSubgroupsOp,
    SubgroupIdOp,
    SubgroupSizeOp,
    ThreadIdOp,
)
from nn_opt.dialects.gpu.kernel import FuncOp, ModuleOp, ReturnOp
from nn_opt.dialects.gpu.launch import LaunchFuncOp, constant_sizes
from nn_opt.dialects.gpu.limits import (
    ALIGNMENT,
    NEEDS_WIDTH,
    SHARED,
    TOGETHER,
    shared_allocs,
    shared_bytes,
    times,
)
from nn_opt.dialects.gpu.mma import (
    MmaComputeOp,
    MmaConstantOp,
    MmaElementwiseOp,
    MmaLoadOp,
    MmaMatrixType,
    MmaStoreOp,
)
from nn_opt.dialects.gpu.subgroup import (
    AllReduceOp,
    BallotOp,
    RotateOp,
    ShuffleOp,
    SubgroupBroadcastOp,
    SubgroupReduceOp,
)
from nn_opt.dialects.gpu.upstream import use_formats

use_formats()

OURS = [
    ModuleOp,
    FuncOp,
    ReturnOp,
    LaunchFuncOp,
    ThreadIdOp,
    BlockIdOp,
    BlockDimOp,
    GridDimOp,
    GlobalIdOp,
    LaneIdOp,
    SubgroupIdOp,
    NumSubgroupsOp,
    SubgroupSizeOp,
    BarrierOp,
    ShuffleOp,
    RotateOp,
    SubgroupReduceOp,
    SubgroupBroadcastOp,
    BallotOp,
    AllReduceOp,
    AtomicOp,
    AsyncCopyOp,
    AsyncCommitOp,
    AsyncWaitOp,
    MmaLoadOp,
    MmaStoreOp,
    MmaComputeOp,
    MmaConstantOp,
    MmaElementwiseOp,
    AllocOp,
    DeallocOp,
    MemcpyOp,
    WaitOp,
]
ATTRIBUTES = [
    AtomicKindAttr,
    BroadcastAttr,
    ElementwiseAttr,
    LimitsAttr,
    MmaMatrixType,
    ReductionAttr,
    ShuffleModeAttr,
]
_NAMES = {definition.name for definition in (*OURS, *ATTRIBUTES)}

Gpu = Dialect(
    "gpu",
    [*(op for op in UPSTREAM.operations if op.name not in _NAMES), *OURS],
    [*(attr for attr in UPSTREAM.attributes if attr.name not in _NAMES), *ATTRIBUTES],
)

__all__ = [
    "ALIGNMENT",
    "CONTAINER",
    "DIMENSIONS",
    "LIMITS",
    "LOCKSTEP",
    "NEEDS_WIDTH",
    "NODES",
    "SHARED",
    "TOGETHER",
    "AllReduceOp",
    "AllocOp",
    "AsyncCommitOp",
    "AsyncCopyOp",
    "AsyncTokenType",
    "AsyncWaitOp",
    "AtomicKind",
    "AtomicKindAttr",
    "AtomicOp",
    "BallotOp",
    "BarrierOp",
    "BlockDimOp",
    "BlockIdOp",
    "Broadcast",
    "BroadcastAttr",
    "DeallocOp",
    "DimensionAttr",
    "DimensionEnum",
    "Dimensional",
    "Elementwise",
    "ElementwiseAttr",
    "FuncOp",
    "GlobalIdOp",
    "Gpu",
    "GridDimOp",
    "InSubgroup",
    "LaneIdOp",
    "LaunchFuncOp",
    "LimitsAttr",
    "MemcpyOp",
    "MmaComputeOp",
    "MmaConstantOp",
    "MmaElementwiseOp",
    "MmaLoadOp",
    "MmaMatrixType",
    "MmaStoreOp",
    "ModuleOp",
    "NumSubgroupsOp",
    "Reduction",
    "ReductionAttr",
    "ReturnOp",
    "RotateOp",
    "ShuffleMode",
    "ShuffleModeAttr",
    "ShuffleOp",
    "SubgroupBroadcastOp",
    "SubgroupIdOp",
    "SubgroupReduceOp",
    "SubgroupSizeOp",
    "ThreadIdOp",
    "WaitOp",
    "constant_sizes",
    "nodes_attr",
    "nodes_of",
    "shared_allocs",
    "shared_bytes",
    "times",
]
