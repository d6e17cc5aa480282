"""Erase what nobody reads."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriterListener
from xdsl.transforms.dead_code_elimination import region_dce


class DcePass(ModulePass):
    """Erase operations without effect whose results are never read, and unreachable blocks.

    Needs: nothing. Keeps: every level. Order: after passes that leave unread values.
    """

    name = "dce"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        region_dce(op.body, PatternRewriterListener())
