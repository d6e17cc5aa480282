"""choose-layout: let convolution networks compute on blocked channels, one vector at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from nn_opt.dialects import graph
from nn_opt.ir.locations import located
from nn_opt.ir.remarks import remark
from nn_opt.ir.target import Target, target_of
from nn_opt.ir.types import shape_of
from nn_opt.passes.layout_costs import gain_ns, transform_ns
from nn_opt.passes.layout_plan import LayoutPlan, LayoutRegion, drops_axes
from nn_opt.passes.layout_rules import RULES, Blocker, block_pointwise


@dataclass(frozen=True)
class ChooseLayoutPass(ModulePass):
    """NCHW  ->  NCHW16c (16 = lanes of the target) for regions of 2-D convolutions that gain by it.

    A region starts at convolutions by constant weights and spreads to the pointwise ops, poolings,
    spatial reductions and concatenations that read it. Last blocks are filled up with zero lanes,
    and only ops that keep those finite are let in. Layout transforms stand where a region meets
    plain values, each once; those of weights are left for fold-constants.

    A convolution whose input is plain reads it as it is, unless `winograd` or `precision`, which
    are those of choose-convolution and lower-precision, let it become what reads blocks only.

    Blocks are for the vectors of a CPU: for a target with a GPU, nothing changes.

    Needs: graph, static shapes. Keeps: graph.
    Order: after fold-scale-axis; before fold-constants (packs weights) and fuse-ops.
    """

    name: ClassVar[str] = "choose-layout"  # pyright: ignore[reportIncompatibleVariableOverride]

    winograd: Literal["auto", "off", "force2", "force4"] = "auto"
    precision: Literal["f32", "bf16"] = "f32"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = target_of(op)
        if target.gpu is not None:
            return
        for function in [inner for inner in op.walk() if isinstance(inner, FuncOp)]:
            for block in function.body.blocks:
                plan = LayoutPlan(
                    block, target.lanes, self.precision == "f32", self.winograd != "off"
                )
                regions = [r for r in plan.regions() if self.pays(r, plan, target)]
                block_ops(plan, regions)

    def pays(self, region: LayoutRegion, plan: LayoutPlan, target: Target) -> bool:
        """Return whether the convolutions gain more than the transforms cost; say so."""
        gain = gain_ns(region, plan, target)
        crossings = [*region.inputs, *plan.outputs(region)]
        cost = sum(transform_ns(value, target) for value in crossings)
        convs = [op for op in region.ops if isinstance(op, graph.ConvOp)]
        verb = "blocked as" if gain > cost else "not worth"
        remark(
            convs[0],
            self.name,
            f"{verb} NCHW{plan.lanes}c: {len(convs)} convolutions gain {gain / 1000:.1f} us, "
            f"{len(crossings)} layout transforms cost {cost / 1000:.1f} us",
        )
        return gain > cost


def block_ops(plan: LayoutPlan, regions: list[LayoutRegion]) -> None:
    """Rewrite the ops of the regions in the order of the block, then erase the plain ones."""
    chosen = {op for region in regions for op in region.ops}
    plan.region_of = {op: r for op, r in plan.region_of.items() if op in chosen}
    ordered = [op for op in plan.block.ops if op in chosen]
    blocker = Blocker(plan)
    for op in ordered:
        block_op(op, blocker)
    for op in reversed(ordered):
        restore_plain(op, blocker)


def block_op(op: Operation, blocker: Blocker) -> None:
    """Insert the blocked form of one op before it."""
    rule = RULES.get(type(op), block_pointwise)
    with located(op):
        blocker.blocked[op.results[0]] = rule(op, blocker, Builder(InsertPoint.before(op)))


def restore_plain(op: Operation, blocker: Blocker) -> None:
    """Give the remaining readers of an op its result in plain layout, and erase the op."""
    result = op.results[0]
    if result.uses:
        plain = blocker.blocked[result]
        if not drops_axes(op):
            transform = graph.LayoutTransformOp(
                plain, blocker.layout, "NCHW", sizes=shape_of(result)
            )
            transform.location = op.location
            plain = Builder(InsertPoint.before(op)).insert(transform).results[0]
        result.replace_all_uses_with(plain)
    Rewriter.erase_op(op)
