"""Compute each pure value once."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import cache

from xdsl.context import Context
from xdsl.dialects.builtin import LocationAttr, ModuleOp, UnregisteredOp
from xdsl.ir import Attribute, Block, Operation, Region
from xdsl.passes import ModulePass
from xdsl.traits import IsTerminator, MemoryEffect, Pure, is_side_effect_free

from nn_opt.ir.dominance import dominator_children, is_isolated
from nn_opt.ir.locations import MAX_FUSED, fused
from nn_opt.ir.recursion import unbounded
from nn_opt.ir.statistics import Statistic
from nn_opt.ir.surgery import erase, replace_uses

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
    keys: _Keys = field(default_factory=lambda: _Keys())
    merged: dict[Operation, list[LocationAttr]] = field(
        default_factory=dict[Operation, list[LocationAttr]]
    )

    @unbounded
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
        op = block.first_op
        while op is not None:
            following = op.next_op
            for region in op.regions:
                isolated = is_isolated(op)
                scope = _Scope(merged=self.merged, keys=self.keys) if isolated else self
                scope.simplify(region)
            if _is_candidate(op):
                key = self.keys.of(op)
                first = self.known.setdefault(key, op)
                if first is op:
                    added.append(key)
                else:
                    self._merge(op, first)
            op = following
        return added

    def _merge(self, op: Operation, first: Operation) -> None:
        """Let readers of an op read its equal, and erase it."""
        for old, new in zip(op.results, first.results, strict=True):
            replace_uses(old, new)
        if op.location is not first.location:
            self._note_merged(first, op.location)
        erase(op)
        MERGED.add()

    def _note_merged(self, kept: Operation, place: LocationAttr) -> None:
        """Remember that an op stands for another one, too: it will have both locations."""
        places = self.merged.setdefault(kept, [])
        if len(places) < MAX_FUSED:
            places.append(place)


@cache
def _may_merge(op_type: type[Operation]) -> bool | None:
    """Return whether ops of a class have no effect; None: it depends on the op."""
    if op_type.has_trait(IsTerminator):
        return False
    effects = op_type.get_traits_of_type(MemoryEffect)
    if op_type.has_trait(Pure, value_if_unregistered=False):
        return True
    return None if effects else False


def _is_candidate(op: Operation) -> bool:
    if not op.results:
        return False
    answer = _may_merge(type(op))
    return is_side_effect_free(op) if answer is None else answer


class _Keys:
    """What ops compute, as tuples of numbers: of values and unique attributes, where they are."""

    def __init__(self) -> None:
        self._unique: dict[Attribute, Attribute] = {}
        self._numbers: dict[int, tuple[int, Attribute]] = {}  # what is kept keeps its place

    def of(self, op: Operation) -> Hashable:
        """Return what an op computes."""
        if op.regions:
            return self._key(op, {})
        operands = op._operands  # pyright: ignore[reportPrivateUsage]  # op.operands is a new view
        return (_head(op), *map(id, operands), None, *self._rest(op))

    def _rest(self, op: Operation) -> list[Hashable]:
        """Return types of results, then properties and attributes in the order of their names."""
        rest: list[Hashable] = [self._number(result.type) for result in op.results]
        for table in (op.properties, op.attributes):
            rest.append(None)
            for name in sorted(table) if len(table) > 1 else table:
                rest += (name, self._number(table[name]))
        return rest

    def _number(self, attribute: Attribute) -> int:
        """Return a number that equal attributes share; each object is hashed once."""
        entry = self._numbers.get(id(attribute))
        if entry is None:
            number = id(self._unique.setdefault(attribute, attribute))
            entry = self._numbers[id(attribute)] = (number, attribute)
        return entry[0]

    def _key(self, op: Operation, local: dict[int, int]) -> Hashable:
        """Return the key of an op; `local` numbers the values of the region that is compared.

        Local values have negative numbers, as no place in memory has.
        """
        operands = [local.get(id(operand), id(operand)) for operand in op.operands]
        regions = [self._region_key(region, local) for region in op.regions]
        return (_head(op), *operands, None, *self._rest(op), *regions)

    def _region_key(self, region: Region, local: dict[int, int]) -> Hashable:
        blocks = {block: index for index, block in enumerate(region.blocks)}
        for block in blocks:
            for argument in block.args:
                local[id(argument)] = ~len(local)
        keys: list[Hashable] = []
        for block in blocks:
            keys.append(tuple(self._number(argument.type) for argument in block.args))
            for op in block.ops:
                successors = tuple(blocks[successor] for successor in op.successors)
                keys.append((self._key(op, local), successors))
                for result in op.results:
                    local[id(result)] = ~len(local)
        return tuple(keys)


def _head(op: Operation) -> Hashable:
    if _is_registered(type(op)):
        return type(op)
    assert isinstance(op, UnregisteredOp)
    return op.op_name.data


@cache
def _is_registered(op_type: type[Operation]) -> bool:
    return not issubclass(op_type, UnregisteredOp)
