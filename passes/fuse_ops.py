"""fuse-ops: put every tensor operation into a graph.fused region, one region a kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from nn_opt.dialects import graph
from nn_opt.ir.legality import require_one_block
from nn_opt.ir.locations import fuse_locations, located
from nn_opt.ir.rewriting import carry_location
from nn_opt.ir.statistics import Statistic
from nn_opt.ir.target import target_of
from nn_opt.passes.fusion_attention import attention_groups
from nn_opt.passes.fusion_groups import Group, Grouping, is_cloned, is_join
from nn_opt.passes.fusion_rows import merge_rows
from nn_opt.passes.fusion_sharing import Sharing

MOST_PARTS = 32  # of a concatenation in one kernel, whose code has a loop or a test for each

FORMED = Statistic("fuse-ops", "kernels-formed", "regions that become kernels")
FUSED = Statistic("fuse-ops", "ops-fused", "operations in regions with others")


@dataclass(frozen=True)
class FuseOpsPass(ModulePass):
    """Group ops into kernels by fusion kind; bodies of graph.scan are grouped by themselves.

    Needs: graph. Keeps: graph. Leaves: every op but constants, views and scans in a graph.fused.
    Order: after fold-constants, fold-scale-axis and choose-layout; before outline-kernels.
    """

    name: ClassVar[str] = "fuse-ops"  # pyright: ignore[reportIncompatibleVariableOverride]
    statistics: ClassVar = (FORMED, FUSED)
    max_depth: int = 64

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        require_one_block(op, self.name)
        most = most_inputs(op)
        for block in blocks_to_group(op):
            split_concats(block, MOST_PARTS if most is None else most)
            for group in attention_groups(block, target_of(op), most, self.name):
                form_region(group)
                erase_group(group)
            grouping = Grouping(block, self.max_depth, most)
            kernels = Sharing(grouping, self.name).decide(grouping.groups())
            kernels = merge_rows(grouping, kernels, self.name)
            for group in reversed(kernels):
                form_region(group)
            erase_unread(grouping)


def blocks_to_group(module: ModuleOp) -> list[Block]:
    """Return the blocks whose ops become kernels: of scans, and of functions that are no kernel."""
    owners = [
        op
        for op in module.walk()
        if isinstance(op, FuncOp | graph.ScanOp) and "kernel" not in op.attributes
    ]
    return [block for owner in owners for region in owner.regions for block in region.blocks]


def most_inputs(module: ModuleOp) -> int | None:
    """Return how many buffers a kernel may read, besides its result and what it keeps a while."""
    gpu = target_of(module).gpu
    return None if gpu is None else gpu.arguments - 2


def split_concats(block: Block, most: int) -> None:
    """concat(a, b, c, d)  ->  concat(concat(a, b), concat(c, d)), where `most` is 2."""
    for op in list(block.ops):
        if not isinstance(op, graph.ConcatOp) or len(op.inputs) <= most or is_join(op):
            continue
        parts, new = list(op.inputs), list[Operation]()
        while len(parts) > most:
            runs = [parts[k : k + most] for k in range(0, len(parts), most)]
            wholes = [graph.ConcatOp(run, op.axis.value.data) for run in runs]
            parts = [whole.result for whole in wholes]
            new += wholes
        last = graph.ConcatOp(parts, op.axis.value.data)
        carry_location(op.location, [*new, last])
        Rewriter.replace_op(op, [*new, last])


def form_region(group: Group) -> None:
    """Replace the last op of a group by a graph.fused of copies of all its ops."""
    FORMED.add()
    FUSED.add(len(group.ops) if len(group.ops) > 1 else 0)
    last = group.ops[-1]
    operands = [value for value in group.inputs() if not is_cloned(value)]
    block = Block(arg_types=[value.type for value in operands])
    inside: dict[SSAValue, SSAValue] = dict(zip(operands, block.args, strict=True))
    builder = Builder(InsertPoint.at_end(block))
    for value in group.inputs():
        if is_cloned(value):
            assert isinstance(value.owner, Operation)
            copy_op(value.owner, inside, builder)
    for op in group.ops:
        copy_op(op, inside, builder)
    types = [result.type for result in last.results]
    with located(fuse_locations(group.anchor or group.ops[0], *group.ops)):
        builder.insert(graph.YieldOp(*[inside[result] for result in last.results]))
        fused = graph.FusedOp(operands, types, Region(block))
    Rewriter.replace_op(last, fused)


def copy_op(op: Operation, inside: dict[SSAValue, SSAValue], builder: Builder) -> None:
    """Insert a copy of `op` that reads the values of the region; `inside` learns its results."""
    builder.insert(op.clone(inside))


def erase_group(group: Group) -> None:
    """Erase the ops that live in a region now, and whose results nothing else reads."""
    for op in reversed(group.ops):
        if op.parent is not None and not any(result.uses for result in op.results):
            Rewriter.erase_op(op)


def erase_unread(grouping: Grouping) -> None:
    """Erase the ops that now live in regions, and constants that only those read."""
    for op in reversed(list(grouping.position)):
        grouped = op in grouping.group_of or isinstance(op, graph.ConstantOp)
        if grouped and op.parent is not None and not any(r.uses for r in op.results):
            Rewriter.erase_op(op)
