"""reuse-loads: what was loaded is not loaded again while nothing has been stored there."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, SSAValue
from xdsl.passes import ModulePass

from nn_opt.dialects import loop
from nn_opt.ir.legality import require_one_block
from nn_opt.ir.statistics import Statistic
from nn_opt.ir.types import memory_space

REUSED = Statistic("reuse-loads", "loads-reused", "loads whose value was known")
_READERS = (loop.GatherOp, loop.ViewOp)  # besides loads


@dataclass(frozen=True)
class ReuseLoadsPass(ModulePass):
    """%a = loop.load %x[%i]; %b = loop.load %x[%i]  ->  %a = loop.load %x[%i], and %b is %a

    Within straight code, if nothing is stored to the buffer in between. What is in registers is
    read where it is used. Needs: loop without blocks. Keeps: loop. Order: after unroll-loops,
    before plan-memory, for languages whose compilers load again; the conversion to llvm does not.
    """

    name = "reuse-loads"
    statistics: ClassVar = (REUSED,)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        require_one_block(op, self.name)
        for function in op.walk():
            if isinstance(function, FuncOp) and function.body.blocks:
                _visit(function.body.block)


def _visit(block: Block) -> None:
    known: dict[Hashable, loop.LoadOp] = {}
    for op in list(block.ops):
        if isinstance(op, loop.LoadOp):
            _visit_load(op, known)
        elif isinstance(op, loop.StoreOp):
            _forget(known, op.memref)
        elif op.regions:
            known.clear()  # what a loop or branch stores
            for region in op.regions:
                for inner in region.blocks:
                    _visit(inner)
        elif not isinstance(op, _READERS) and any(_is_buffer(value) for value in op.operands):
            known.clear()


def _visit_load(op: loop.LoadOp, known: dict[Hashable, loop.LoadOp]) -> None:
    if memory_space(op.memref) == "register":
        return
    key = (op.memref, tuple(op.indices), op.map, op.default, op.step, op.result.type)
    first = known.setdefault(key, op)
    if first is op:
        return
    op.result.replace_all_uses_with(first.result)
    op.detach()
    op.erase()
    REUSED.add()


def _forget(known: dict[Hashable, loop.LoadOp], stored: SSAValue) -> None:
    root = _root(stored)
    for key in [key for key, load in known.items() if _root(load.memref) is root]:
        del known[key]


def _is_buffer(value: SSAValue) -> bool:
    return isinstance(value.type, MemRefType)


def _root(buffer: SSAValue) -> SSAValue:
    """Return the buffer that a view is part of."""
    while isinstance(buffer.owner, loop.ViewOp):
        buffer = buffer.owner.source
    return buffer
