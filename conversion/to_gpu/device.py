"""The device's part: what one thread of a kernel does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Block, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.utils.exceptions import PassFailedException

from nn_opt.conversion.to_gpu.guards import guard_statements
from nn_opt.conversion.to_gpu.private import make_private
from nn_opt.conversion.to_gpu.subgroups import join_in_subgroups
from nn_opt.dialects import gpu, loop
from nn_opt.ir.diagnostics import complaint
from nn_opt.ir.types import memory_space

Kind = loop.ForKind
Bound = Mapping[int, int]  # dimensions of threads that loops around are bound to, and their trips
IDS = {True: gpu.BlockIdOp, False: gpu.ThreadIdOp}


def fill_kernel(name: str, body: Block, nodes: Sequence[str], subgroup: int) -> gpu.FuncOp:
    """Return the kernel of a body whose loops are still bound."""
    if subgroup > 1:
        join_in_subgroups(body, subgroup, extents(body))
    for alloc in [op for op in body.walk() if isinstance(op, loop.AllocOp)]:
        if memory_space(alloc.result) in ("register", "stack"):
            make_private(alloc)
    device = Device(body, extents(body))
    device.lower(body, {})
    device.hoist_shared()
    device.drop_unused_ids()
    body.add_op(gpu.ReturnOp())
    inputs = [arg.type for arg in body.args]
    grid, threads = (
        [device.sizes.get(Kind(f"{what}_{axis}"), 1) for axis in gpu.DIMENSIONS]
        for what in ("block", "thread")
    )
    kernel = gpu.FuncOp(name, inputs, Region(body), block=threads, grid=grid, nodes=nodes)
    kernel.attributes[gpu.LOCKSTEP] = UnitAttr()
    return kernel


def extents(body: Block) -> dict[Kind, int]:
    """Return how many blocks or threads each kind of loop asks for at most."""
    sizes: dict[Kind, int] = {}
    for op in body.walk():
        if isinstance(op, loop.ForOp) and op.how.is_bound:
            sizes[op.how] = max(sizes.get(op.how, 1), op.trips)
    return sizes


@dataclass
class Device:
    """Turns the bound loops of one kernel into ids."""

    body: Block
    sizes: Mapping[Kind, int]
    ids: dict[Kind, SSAValue] = field(default_factory=dict[Kind, SSAValue])

    def lower(self, block: Block, bound: Bound, inside: bool = False) -> None:
        """Lower the statements of a block in place; `inside`: a loop or thread is around them."""
        missing = self.missing(bound)
        alone = guard_statements(block, missing, self.id) if missing else []
        only = {**bound, **{kind.dimension: 1 for kind in missing}}
        for op in list(block.ops):
            if op in alone:
                self.lower(op.regions[0].block, only, True)
            elif isinstance(op, loop.ForOp) and op.how.is_bound:
                self.lower_bound(op, bound, inside)
            else:
                looped = inside or isinstance(op, loop.ForOp)
                for region in op.regions:
                    self.lower(region.block, bound, looped)

    def missing(self, bound: Bound) -> list[Kind]:
        """Return the kinds of thread loops that are not around, where a block has several."""
        kinds = [kind for kind, size in self.sizes.items() if kind.is_thread and size > 1]
        return [kind for kind in kinds if kind.dimension not in bound]

    def lower_bound(self, nest: loop.ForOp, bound: Bound, inside: bool) -> None:
        """for %i thread_x { body }  ->  if (trips - 1 - %tx >= 0) { body }"""
        kind = nest.how
        limit = self.sizes[kind]
        if kind.is_block:
            if inside:
                _refuse_block(nest)
        else:
            limit = bound.get(kind.dimension, limit)
            if nest.trips > limit:
                _refuse_wider(nest, limit)
            bound = {**bound, kind.dimension: nest.trips}
        index = self.id(kind)
        nest.index.replace_all_uses_with(index)
        self.lower(nest.body.block, bound, inside or kind.is_thread)
        ops = list(nest.body.block.ops)
        for op in ops:
            op.detach()
        if nest.trips < limit:
            last = AffineExpr.constant(nest.trips - 1) - AffineExpr.dimension(0)
            guard = loop.IfOp(AffineMap(1, 0, (last,)), [index], Region(Block(ops)))
            guard.location = nest.location
            ops = [guard]
        block = nest.parent
        assert block is not None
        block.insert_ops_before(ops, nest)
        nest.detach()
        nest.erase()

    def id(self, kind: Kind) -> SSAValue:
        """Return which block or thread this is; the ops stand at the start of the kernel."""
        if kind not in self.ids:
            dimension = gpu.DIMENSIONS[kind.dimension]
            op = IDS[kind.is_block](dimension)
            op.result.name_hint = f"{'b' if kind.is_block else 't'}{dimension}"
            later = (o for o in self.body.ops if not isinstance(o, gpu.Dimensional))
            self.body.insert_op_before(op, next(later))
            self.ids[kind] = op.result
        return self.ids[kind]

    def hoist_shared(self) -> None:
        """Put the buffers of a block at the start of the kernel."""
        first = next(op for op in self.body.ops if not isinstance(op, gpu.Dimensional))
        for alloc in [op for op in self.body.walk() if isinstance(op, loop.AllocOp)]:
            if memory_space(alloc.result) == "shared" and alloc is not first:
                alloc.detach()
                self.body.insert_op_before(alloc, first)

    def drop_unused_ids(self) -> None:
        """Remove those that nothing asks for: of a grid of one block, say."""
        for index in self.ids.values():
            if not index.uses and isinstance(index.owner, gpu.Dimensional):
                index.owner.detach()
                index.owner.erase()


def _refuse_block(nest: loop.ForOp) -> NoReturn:
    problem = f"loop %{nest.index.name_hint or '?'} is bound to blocks inside another kind of loop"
    hint = "reorder loops: those bound to blocks are outermost"
    raise PassFailedException(complaint(nest, problem, hint=hint))


def _refuse_wider(nest: loop.ForOp, limit: int) -> NoReturn:
    name, kind = nest.index.name_hint or "?", nest.how.value
    problem = (
        f"loop %{name} of {nest.trips} iterations is bound to {kind} inside a loop of {limit} that"
        " is bound to it, too"
    )
    hint = "the loops around a stage that all threads compute need as many iterations"
    raise PassFailedException(complaint(nest, problem, hint=hint))
