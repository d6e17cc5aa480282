"""outline-kernels: one private function per distinct graph.fused region, called where it stood."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, UnitAttr
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from nn_opt.dialects import graph
from nn_opt.ir.locations import fuse_locations, located, node_names

NAME_OPS = 5  # a kernel is named after so many of its ops at most


class OutlineKernelsPass(ModulePass):
    """graph.fused  ->  func.call of a private func.func {kernel}, one for equal regions.

    A call has the location of its region, a kernel that of all regions that it does.

    Needs: graph.fused around every op that is to be in a kernel. Keeps: graph.
    Leaves: no graph.fused; on each call `nn.nodes`, the names of the model's nodes it computes.
    Order: after fuse-ops, before convert-graph-to-tensor.
    """

    name = "outline-kernels"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        kernels = Kernels(op, used_names(op))
        for fused in [inner for inner in op.walk() if isinstance(inner, graph.FusedOp)]:
            outline(fused, kernels)


def used_names(module: ModuleOp) -> set[str]:
    """Return the symbols that the module defines."""
    names = (op.get_attr_or_prop("sym_name") for op in module.ops)
    return {name.data for name in names if isinstance(name, StringAttr)}


@dataclass
class Kernels:
    """The kernels of a module by their structure, and the names that are taken."""

    module: ModuleOp
    names: set[str]
    by_structure: dict[Hashable, FuncOp] = field(default_factory=dict[Hashable, FuncOp])
    counts: dict[str, int] = field(default_factory=dict[str, int])

    def fresh_name(self, stem: str) -> str:
        """Return `stem_0`, or the next number that is free."""
        number = self.counts.get(stem, 0)
        while f"{stem}_{number}" in self.names:
            number += 1
        self.counts[stem] = number + 1
        self.names.add(f"{stem}_{number}")
        return f"{stem}_{number}"

    def of(self, fused: graph.FusedOp) -> str:
        """Return the name of the kernel that does what `fused` does; define it at first."""
        key = structure(fused)
        if key not in self.by_structure:
            name = self.fresh_name(stem_of(fused))
            kernel = self.by_structure[key] = define_kernel(fused, name)
            self.module.body.block.add_op(kernel)
        else:
            kernel = self.by_structure[key]
            share_kernel(kernel, fused)
        return kernel.sym_name.data


def outline(fused: graph.FusedOp, kernels: Kernels) -> None:
    """Replace one graph.fused by a call of its kernel."""
    nodes = nodes_of(fused)
    name = kernels.of(fused)
    call = CallOp(name, list(fused.operands), [result.type for result in fused.results])
    call.location = fused.location
    if nodes:
        call.attributes["nn.nodes"] = ArrayAttr([StringAttr(node) for node in nodes])
    Rewriter.replace_op(fused, call)


def define_kernel(fused: graph.FusedOp, name: str) -> FuncOp:
    """Return a private function with a copy of the region."""
    region = fused.body.clone()
    block = region.block
    terminator = block.last_op
    assert isinstance(terminator, graph.YieldOp)
    results = list(terminator.operands)
    with located(fused):
        Rewriter.replace_op(terminator, ReturnOp(*results))
    inputs = [argument.type for argument in block.args]
    outputs = [result.type for result in results]
    kernel = FuncOp(name, (inputs, outputs), region, visibility="private")
    kernel.attributes["kernel"] = UnitAttr()
    kernel.location = fused.location
    return kernel


def share_kernel(kernel: FuncOp, fused: graph.FusedOp) -> None:
    """Add the locations of an equal region to those of a kernel and of the ops in it."""
    for op, same in zip(kernel.walk(), fused.walk(), strict=True):
        op.location = fuse_locations(op, same)


def stem_of(fused: graph.FusedOp) -> str:
    """Return a name such as `conv_add_relu`, made of the first few ops."""
    skipped = graph.ConstantOp | graph.YieldOp
    words = [op.name.split(".")[-1] for op in fused.body.block.ops if not isinstance(op, skipped)]
    return "_".join([*words[:NAME_OPS], *(["etc"] if len(words) > NAME_OPS else [])])


def nodes_of(fused: graph.FusedOp) -> list[str]:
    """Return the names of the model's nodes in a region, each once, in order."""
    skipped = (graph.FusedOp, graph.ConstantOp)  # equal constants are one, of any of their nodes
    locations = [op.location for op in fused.walk() if not isinstance(op, skipped)]
    return list(dict.fromkeys(name for place in locations for name in node_names(place)))


def structure(fused: graph.FusedOp) -> Hashable:
    """Return a key that is equal for regions that compute the same, names and places aside."""
    numbers: dict[SSAValue, int] = {}
    return tuple(block_structure(block, numbers) for block in fused.body.blocks)


def block_structure(block: Block, numbers: dict[SSAValue, int]) -> Hashable:
    for argument in block.args:
        numbers[argument] = len(numbers)
    arguments = tuple(argument.type for argument in block.args)
    return arguments, tuple(op_structure(op, numbers) for op in block.ops)


def op_structure(op: Operation, numbers: dict[SSAValue, int]) -> Hashable:
    operands = tuple(numbers[operand] for operand in op.operands)
    for result in op.results:
        numbers[result] = len(numbers)
    facts = frozenset([*op.properties.items(), *op.attributes.items()])
    results = tuple(result.type for result in op.results)
    regions = tuple(block_structure(b, numbers) for region in op.regions for b in region.blocks)
    return op.name, operands, facts, results, regions
