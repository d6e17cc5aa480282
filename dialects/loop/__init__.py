"""loop: an order of execution and places in memory, chosen by a schedule."""

from xdsl.ir import Dialect

from nn_opt.dialects.loop.access import ApplyOp, LoadOp, StoreOp
from nn_opt.dialects.loop.block import BlockOp, Kind
from nn_opt.dialects.loop.buffers import AllocOp, ArenaOp, ConstantOp, CopyOp, ViewOp
from nn_opt.dialects.loop.gather import GatherOp
from nn_opt.dialects.loop.nest import ForKind, ForOp, IfOp

__all__ = [
    "AllocOp",
    "ApplyOp",
    "ArenaOp",
    "BlockOp",
    "ConstantOp",
    "CopyOp",
    "ForKind",
    "ForOp",
    "GatherOp",
    "IfOp",
    "Kind",
    "LoadOp",
    "Loop",
    "StoreOp",
    "ViewOp",
]

Loop = Dialect(
    "loop",
    [
        ForOp,
        IfOp,
        BlockOp,
        LoadOp,
        StoreOp,
        ApplyOp,
        GatherOp,
        AllocOp,
        ConstantOp,
        ViewOp,
        CopyOp,
        ArenaOp,
    ],
)
