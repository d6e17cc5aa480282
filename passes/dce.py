"""Erase what nobody reads."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from nn_opt.ir.dead_code import erase_dead_code
from nn_opt.ir.statistics import Statistic, count_ops

ERASED = Statistic("dce", "ops-erased", "operations that nobody read or reached")


class DcePass(ModulePass):
    """Erase operations without effect whose results are never read, and unreachable blocks.

    Needs: nothing. Keeps: every level. Order: after passes that leave unread values.
    """

    name = "dce"
    statistics = (ERASED,)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        with count_ops(op, ERASED):
            erase_dead_code(op.body)
