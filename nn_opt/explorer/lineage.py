"""What each op came from: while a pass runs, the location of each op also says which op it is.

Whatever the compiler makes takes the location of what it is made from (`nn_opt.ir.locations`), so
a mark in it ends up in all that became of an op. Marks are call sites: messages, and passes that
ask for names of nodes, look through them. They are gone again when the pass is over.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    ArrayAttr,
    CallSiteLoc,
    FusedLoc,
    LocationAttr,
    ModuleOp,
    NameLoc,
    StringAttr,
)
from xdsl.ir import Attribute, Operation

from nn_opt.ir.locations import fused

_PREFIX = "explorer:"


def mark(module: ModuleOp, ops: Sequence[Operation]) -> None:
    """Let the location of each op say its number in `ops`; of one not in it, its parent's."""
    numbers = {op: number for number, op in enumerate(ops)}
    for op in module.walk():
        if op not in numbers:
            parent = op.parent_op()
            assert parent is not None, "the module is printed first"
            numbers[op] = numbers[parent]
        op.location = CallSiteLoc(op.location, _mark_of(numbers[op]))


def _mark_of(number: int) -> NameLoc:
    return NameLoc(StringAttr(f"{_PREFIX}{number}"), UNKNOWN_LOC)


class Unmarker:
    """Takes marks out of locations; each of the locations, which many ops share, once."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[LocationAttr, tuple[LocationAttr, tuple[int, ...]]]] = {}

    def origins(self, module: ModuleOp) -> dict[Operation, tuple[int, ...]]:
        """Return the numbers that each op's location holds, and give it its location back."""
        found: dict[Operation, tuple[int, ...]] = {}
        for op in module.walk():
            op.location, found[op] = self.split(op.location)
            for region in op.regions:
                for block in region.blocks:
                    for argument in block.args:
                        argument.location, _ = self.split(argument.location)
        return found

    def split(self, place: LocationAttr) -> tuple[LocationAttr, tuple[int, ...]]:
        """Return a location without marks, and the numbers of those it had, each once."""
        known = self._known.get(id(place))
        if known is None:  # the location is kept, so that no other has its id
            known = self._known[id(place)] = place, _split(place)
        return known[1]


def _split(place: LocationAttr) -> tuple[LocationAttr, tuple[int, ...]]:
    match place:
        case CallSiteLoc(callee=callee, caller=caller):
            number = _number(caller)
            if number is None:
                return place, ()
            inner, others = _split(cast(LocationAttr, callee))
            return inner, tuple(dict.fromkeys((*others, number)))
        case FusedLoc(locations=ArrayAttr(data=parts)):
            split = [_split(cast(LocationAttr, part)) for part in parts]
            numbers = tuple(dict.fromkeys(number for _, found in split for number in found))
            return (fused([part for part, _ in split]) if numbers else place), numbers
        case _:
            return place, ()


def _number(caller: Attribute) -> int | None:
    if isinstance(caller, NameLoc) and caller.desc.data.startswith(_PREFIX):
        return int(caller.desc.data.removeprefix(_PREFIX))
    return None
