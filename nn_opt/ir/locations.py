"""Where ops come from: what the compiler makes takes the place of what it is made from.

xDSL's constructors give an op or block argument no place. Here they give it the place of the op
that is rewritten, lowered or copied just then: `located(op)` says which, and patterns and
conversions run in it. Outside of it nothing changes.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar, cast

from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    IntAttr,
    LocationAttr,
    NameLoc,
    NoneAttr,
    StringAttr,
    UnknownLoc,
)
from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, SSAValue, core

MAX_FUSED = 32  # parts of one fused location; what is fused of more names the first of them

_Location = TypeVar("_Location", bound=Attribute)
_NO_METADATA = NoneAttr()
_place: ContextVar[LocationAttr] = ContextVar("place", default=UNKNOWN_LOC)
# The function that `Operation` and `Block` call for want of a location.
assert callable(core._unknown_loc)  # pyright: ignore[reportPrivateUsage]
core._unknown_loc = _place.get  # pyright: ignore[reportPrivateUsage]

set_place = _place.set  # for loops that would enter `located` too often
current_place = _place.get


@contextmanager
def located(origin: Operation | LocationAttr) -> Generator[None]:
    """Give ops and block arguments made inside the location of `origin`.

    An op that is made with a location, or copied from one that has one, keeps that.
    """
    token = _place.set(origin.location if isinstance(origin, Operation) else origin)
    try:
        yield
    finally:
        _place.reset(token)


def place_of(value: SSAValue) -> LocationAttr:
    """Return the location of what defines a value: an op, or an argument of a block."""
    if isinstance(value, OpResult):
        return value.op.location
    assert isinstance(value, BlockArgument)
    outer = value.block.parent_op()
    if isinstance(value.location, UnknownLoc) and outer is not None:
        return outer.location
    return value.location


def fuse_locations(*ops: Operation) -> LocationAttr:
    """Return one location for what replaces several ops: theirs in order, each once."""
    return fused([op.location for op in ops])


def fused(places: Iterable[LocationAttr]) -> LocationAttr:
    """Return the location of what has several: as MLIR, flat and without unknown or equal parts.

    Of more than MAX_FUSED parts, the first ones are kept.
    """
    parts: dict[LocationAttr, None] = {}
    for place in places:
        _add_parts(place, parts)
    if len(parts) > 1:
        return _fused_of(list(parts)[:MAX_FUSED])
    return next(iter(parts), UNKNOWN_LOC)


def parts_of(place: Attribute) -> list[LocationAttr]:
    """Return what a fused location is made of, or the location itself unless it is unknown."""
    parts: dict[LocationAttr, None] = {}
    _add_parts(place, parts)
    return list(parts)


def _add_parts(place: Attribute, parts: dict[LocationAttr, None]) -> None:
    kind = type(place)  # quicker than `isinstance`, which asks abstract classes
    if kind is FusedLoc:
        for part in cast(ArrayAttr[Attribute], cast(FusedLoc, place).locations).data:
            _add_parts(part, parts)
    elif kind is not UnknownLoc:
        parts[cast(LocationAttr, place)] = None


def _fused_of(parts: list[LocationAttr]) -> FusedLoc:
    return unverified(FusedLoc, locations=ArrayAttr(parts), metadata=_NO_METADATA)


def file_line(file: StringAttr, line: int, column: int) -> FileLineColLoc:
    """Return the location of a place in a file."""
    return unverified(FileLineColLoc, filename=file, line=IntAttr(line), column=IntAttr(column))


def named(name: str, place: LocationAttr) -> NameLoc:
    """Return the location of what has a name and is at a place."""
    return unverified(NameLoc, desc=StringAttr(name), location=place)


def unverified(kind: type[_Location], **parts: Attribute) -> _Location:
    """Return what a constructor makes, without its 7 us of verifying what is right."""
    location = object.__new__(kind)
    vars(location).update(parts)
    return location


def is_unknown(op: Operation) -> bool:
    """Return whether nobody knows where an op comes from."""
    return isinstance(op.location, UnknownLoc)


def carry_location(location: LocationAttr, new_ops: Iterable[Operation]) -> None:
    """Give each new op, and what is in it, the location unless it has one."""
    for root in new_ops:
        for op in root.walk() if root.regions else (root,):
            if is_unknown(op):
                op.location = location


def place_arguments(root: Operation) -> None:
    """Give each block argument without a location that of the op that its block is in."""
    for op in root.walk():
        for region in op.regions:
            for block in region.blocks:
                for argument in block.args:
                    if isinstance(argument.location, UnknownLoc):
                        argument.location = op.location


def node_names(place: Attribute) -> Iterator[str]:
    """Yield the names of the model's nodes that a location holds.

    A name at line 0 of a model is that of a weight or an input.
    """
    match place:
        case NameLoc(location=FileLineColLoc(line=IntAttr(data=0))):
            pass
        case NameLoc(desc=name):
            yield name.data
        case FusedLoc(locations=ArrayAttr(data=places)):
            for part in places:
                yield from node_names(part)
        case CallSiteLoc(callee=callee):
            yield from node_names(callee)
        case _:
            pass


def weight_names(place: Attribute) -> Iterator[str]:
    """Yield the names of the model's weights and inputs that a location holds."""
    match place:
        case NameLoc(desc=name, location=FileLineColLoc(line=IntAttr(data=0))):
            yield name.data
        case FusedLoc(locations=ArrayAttr(data=places)):
            for part in places:
                yield from weight_names(part)
        case CallSiteLoc(callee=callee):
            yield from weight_names(callee)
        case _:
            pass


def file_place(place: Attribute) -> tuple[str, int, int] | None:
    """Return file, line and column of a location; of several, of the first that has them."""
    match place:
        case FileLineColLoc(filename=file, line=line, column=column):
            return file.data, line.data, column.data
        case NameLoc(location=child):
            return file_place(child)
        case CallSiteLoc(callee=callee, caller=caller):
            return file_place(callee) or file_place(caller)
        case FusedLoc(locations=ArrayAttr(data=places)):
            return next(filter(None, map(file_place, places)), None)
        case _:
            return None
