"""An op's own checks, without checking one combination of types against its definition twice.

It replaces the call `op.verify_()` of xDSL, which runs `OpDef.verify`, then the method that the
op's author wrote. The first reads only types and properties of an op that has no attributes,
regions or successors; equal ones there need not be read again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from inspect import getclosurevars
from types import FunctionType

from xdsl.dialects.builtin import (
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
)
from xdsl.ir import Attribute, Operation, TypeAttribute
from xdsl.irdl import IRDLOperation, OpDef
from xdsl.traits import OpTrait

_MOST_SEEN = 4096  # constants each have their own value: no use to remember all
# Attributes that are quickly compared, and often made anew for each op.
_SMALL = frozenset((IntegerAttr, FloatAttr, UnitAttr, StringAttr, DenseArrayBase, SymbolRefAttr))


@dataclass(frozen=True)
class _Checks:
    """The parts of `verify_` of an op class."""

    definition: OpDef
    traits: tuple[OpTrait, ...]
    custom: Callable[[Operation], None] | None


class OpChecks:
    """Run the checks of ops of a module that nothing changes meanwhile: ids stand for objects."""

    def __init__(self) -> None:
        self._checks: dict[type[Operation], _Checks | None] = {}
        self._seen: set[tuple[object, ...]] = set()
        self._unique: dict[Attribute, Attribute] = {}
        self._numbers: dict[int, int] = {}

    def run(self, op: Operation) -> None:
        """Raise VerifyException where `op.verify_()` does."""
        if op.attributes or op.regions or op.successor_uses:
            op.verify_()
            return
        op_type = type(op)
        try:
            checks = self._checks[op_type]
        except KeyError:
            checks = self._checks[op_type] = _checks_of(op_type)
        if checks is None:
            op.verify_()
            return
        operands = op._operands  # pyright: ignore[reportPrivateUsage]  # op.operands is a new view
        number = self._number
        results = [number(result.type) for result in op.results]
        key = (op_type, *[number(operand.type) for operand in operands], None, *results)
        if op.properties:
            key = (*key, *op.properties, *map(number, op.properties.values()))
        if key in self._seen:
            for trait in checks.traits:
                trait.verify(op)
        else:
            checks.definition.verify(op)
            if len(self._seen) < _MOST_SEEN:
                self._seen.add(key)
        if checks.custom is not None:
            checks.custom(op)

    def _number(self, attribute: Attribute) -> int:
        """Return a number that equal types and small attributes share, and no other one has."""
        number = self._numbers.get(id(attribute))
        if number is None:
            known = attribute
            if type(attribute) in _SMALL or isinstance(attribute, TypeAttribute):
                known = self._unique.setdefault(attribute, attribute)
            number = self._numbers[id(attribute)] = id(known)
        return number


def _checks_of(op_type: type[Operation]) -> _Checks | None:
    """Take `verify_` apart; None if it is not what xDSL makes of a definition."""
    verify = op_type.verify_
    if not issubclass(op_type, IRDLOperation) or not isinstance(verify, FunctionType):
        return None
    if verify.__module__ != "xdsl.irdl.operations" or verify.__name__ != "verify_":
        return None
    parts = getclosurevars(verify).nonlocals
    definition, custom = parts.get("op_def"), parts.get("custom_verify")
    if not isinstance(definition, OpDef):
        return None
    traits = tuple(t for t in definition.traits if type(t).verify is not OpTrait.verify)
    return _Checks(definition, traits, None if custom is Operation.verify_ else custom)
