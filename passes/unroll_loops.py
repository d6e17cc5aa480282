"""unroll-loops: loops that a schedule marked become straight code, iteration after iteration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from nn_opt.dialects import loop
from nn_opt.ir.legality import require_one_block
from nn_opt.ir.statistics import Statistic
from nn_opt.passes.lower_blocks import Lowering
from nn_opt.passes.partition_loops import shift

UNROLLED = Statistic("unroll-loops", "loops-unrolled", "loops that became straight code")
EXPANDED = (loop.ForKind.UNROLL, loop.ForKind.VECTOR)


@dataclass(frozen=True)
class UnrollLoopsPass(ModulePass):
    """loop.for %i = 0 to 2 unroll { f(%i) }  ->  f(0); f(1)

    Loops marked `unroll` or `vector` of up to `most` iterations, unless they would become more than
    `most-ops` operations. Needs: loop without blocks. Keeps: loop. Order: after partition-loops and
    compact-buffers, instead of vectorize-loops, for languages whose compilers do not know tiles;
    the conversion to llvm expands loops by itself.
    """

    name: ClassVar[str] = "unroll-loops"  # pyright: ignore[reportIncompatibleVariableOverride]
    statistics: ClassVar = (UNROLLED,)
    most: int = 16
    most_ops: int = 400

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        require_one_block(op, self.name)
        for function in op.walk():
            if isinstance(function, FuncOp) and function.body.blocks:
                nests = [o for o in function.walk(region_first=True) if isinstance(o, loop.ForOp)]
                expanded = [nest for nest in nests if self.expand(nest)]
                if expanded:
                    Lowering().lower(function.body.block)

    def expand(self, nest: loop.ForOp) -> bool:
        """Unroll a loop if it is marked and short; those in it came before it."""
        if nest.how not in EXPANDED or nest.trips > self.most:
            return False
        if nest.trips * sum(1 for _ in nest.body.walk()) > self.most_ops:
            return False
        unroll(nest)
        return True


def unroll(nest: loop.ForOp) -> None:
    """Put a loop of one iteration in the place of each of a loop's; they dissolve by lowering."""
    block = nest.parent
    assert block is not None
    for number in range(nest.trips):
        single = nest.clone()
        single.extent = IntegerAttr(1, IndexType())
        single.how = loop.ForKind.SERIAL
        block.insert_op_before(single, nest)
        shift(single, number)
    nest.detach()
    nest.erase()
    UNROLLED.add()
