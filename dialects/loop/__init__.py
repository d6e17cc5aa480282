"""loop: an order of execution and places in memory, chosen by a schedule."""

from xdsl.ir import Dialect

from nn_opt.dialects.loop.access import ApplyOp, LoadOp, StoreOp, lane_dimension
from nn_opt.dialects.loop.block import BlockOp, Kind
from nn_opt.dialects.loop.buffers import AllocOp, ArenaOp, ConstantOp, CopyOp, ViewOp
from nn_opt.dialects.loop.dot import DotOp
from nn_opt.dialects.loop.gather import GatherOp
from nn_opt.dialects.loop.nest import BACKWARDS, JOIN, NUMBER, ForKind, ForOp, IfOp
from nn_opt.dialects.loop.scale import LdexpOp
from nn_opt.ir.vector_arith import accept_vectors

__all__ = [
    "BACKWARDS",
    "JOIN",
    "NUMBER",
    "AllocOp",
    "ApplyOp",
    "ArenaOp",
    "BlockOp",
    "ConstantOp",
    "CopyOp",
    "DotOp",
    "ForKind",
    "ForOp",
    "GatherOp",
    "IfOp",
    "Kind",
    "LdexpOp",
    "LoadOp",
    "Loop",
    "StoreOp",
    "ViewOp",
    "lane_dimension",
]

accept_vectors()  # loops marked `vector` become arith on vectors

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
        DotOp,
        LdexpOp,
        AllocOp,
        ConstantOp,
        ViewOp,
        CopyOp,
        ArenaOp,
    ],
)
