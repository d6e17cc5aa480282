"""sched: a schedule as a script beside the algorithm; each op is one call of a primitive."""

from xdsl.ir import Dialect

from nn_opt.dialects.sched.primitives import (
    AxesOp,
    CacheReadOp,
    CacheWriteOp,
    ComputeAtOp,
    DecomposeInitOp,
    FuseOp,
    InlineOp,
    LoopType,
    ParallelOp,
    ReorderOp,
    ReverseComputeAtOp,
    ScriptOp,
    SetScopeOp,
    SplitOp,
    TileOp,
    UnrollOp,
    VectorizeOp,
)

__all__ = [
    "AxesOp",
    "CacheReadOp",
    "CacheWriteOp",
    "ComputeAtOp",
    "DecomposeInitOp",
    "FuseOp",
    "InlineOp",
    "LoopType",
    "ParallelOp",
    "ReorderOp",
    "ReverseComputeAtOp",
    "Sched",
    "ScriptOp",
    "SetScopeOp",
    "SplitOp",
    "TileOp",
    "UnrollOp",
    "VectorizeOp",
]

Sched = Dialect(
    "sched",
    [
        ScriptOp,
        AxesOp,
        SplitOp,
        TileOp,
        FuseOp,
        ReorderOp,
        UnrollOp,
        VectorizeOp,
        ParallelOp,
        ComputeAtOp,
        ReverseComputeAtOp,
        InlineOp,
        CacheReadOp,
        CacheWriteOp,
        SetScopeOp,
        DecomposeInitOp,
    ],
    [LoopType],
)
