"""Compute each pure value once."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import cache

from xdsl.context import Context
from xdsl.dialects.builtin import LocationAttr, ModuleOp, UnregisteredOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import IsTerminator, Pure, is_side_effect_free

from nn_opt.ir.dominance import dominator_children, is_isolated
from nn_opt.ir.locations import MAX_FUSED, fused
from nn_opt.ir.statistics import Statistic

MERGED = Statistic("cse", "ops-merged", "operations replaced by an equal one")


class CsePass(ModulePass):
    """Replace an operation without effect by an equal one that dominates it.

    Equal: same name, operands, attributes, result types, and regions up to names of values.
    Needs: nothing. Keeps: every level. Order: after canonicalize, which makes equals look equal.
    """

    name = "cse"
    statistics = (MERGED,)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        scope = _Scope()
        scope.simplify(op.body)
        for kept, places in scope.merged.items():
            kept.location = fused([kept.location, *places])


@dataclass
class _Scope:
    """The pure operations that dominate the point that is looked at, by what they compute."""

    known: dict[Hashable, Operation] = field(default_factory=dict[Hashable, Operation])
    merged: dict[Operation, list[LocationAttr]] = field(
        default_factory=dict[Operation, list[LocationAttr]]
    )

    def simplify(self, region: Region) -> None:
        """Walk the dominator tree; what a block adds is known in the blocks that it dominates."""
        entry = region.blocks.first
        if entry is None:
            return
        children = dominator_children(region)
        stack: list[tuple[Block, list[Hashable] | None]] = [(entry, None)]
        while stack:
            block, added = stack.pop()
            if added is not None:
                for key in added:
                    del self.known[key]
                continue
            stack.append((block, self._simplify_block(block)))
            stack += [(child, None) for child in children[block]]

    def _simplify_block(self, block: Block) -> list[Hashable]:
        added: list[Hashable] = []
        for op in block.ops:
            for region in op.regions:
                scope = _Scope(merged=self.merged) if is_isolated(op) else self
                scope.simplify(region)
            if not _is_candidate(op):
                continue
            key = _key(op, {})
            first = self.known.setdefault(key, op)
            if first is op:
                added.append(key)
                continue
            for old, new in zip(op.results, first.results, strict=True):
                old.replace_all_uses_with(new)
            if op.location is not first.location:
                self._note_merged(first, op.location)
            op.detach()
            op.erase()
            MERGED.add()
        return added

    def _note_merged(self, kept: Operation, place: LocationAttr) -> None:
        """Remember that an op stands for another one, too: it will have both locations."""
        places = self.merged.setdefault(kept, [])
        if len(places) < MAX_FUSED:
            places.append(place)


@cache
def _is_pure(op_type: type[Operation]) -> bool:
    return op_type.has_trait(Pure, value_if_unregistered=False)


def _is_candidate(op: Operation) -> bool:
    if not op.results or op.has_trait(IsTerminator):
        return False
    return _is_pure(type(op)) or is_side_effect_free(op)


def _key(op: Operation, local: dict[SSAValue, int]) -> Hashable:
    """Return what an op computes; `local` numbers the values of the region that is compared."""
    head = op.op_name.data if isinstance(op, UnregisteredOp) else type(op)
    return (
        head,
        tuple(local.get(operand, operand) for operand in op.operands),
        tuple(result.type for result in op.results),
        frozenset(op.properties.items()),
        frozenset(op.attributes.items()),
        tuple(_region_key(region, local) for region in op.regions) if op.regions else (),
    )


def _region_key(region: Region, local: dict[SSAValue, int]) -> Hashable:
    blocks = {block: index for index, block in enumerate(region.blocks)}
    for block in blocks:
        for argument in block.args:
            local[argument] = len(local)
    keys: list[Hashable] = []
    for block in blocks:
        keys.append(tuple(argument.type for argument in block.args))
        for op in block.ops:
            successors = tuple(blocks[successor] for successor in op.successors)
            keys.append((_key(op, local), successors))
            for result in op.results:
                local[result] = len(local)
    return tuple(keys)
