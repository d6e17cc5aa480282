"""The left side of a PDL pattern: does it match an operation, and what does it bind?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects import pdl
from xdsl.ir import Attribute, Operation, OpResult, SSAValue, TypedAttribute
from xdsl.irdl import IRDLOperation
from xdsl.utils.exceptions import PassFailedException

from nn_opt.ir.diagnostics import complaint, name_of
from nn_opt.passes.pdl_functions import CONSTRAINTS

Bound: TypeAlias = Operation | SSAValue | Attribute | tuple[SSAValue, ...] | tuple[Attribute, ...]
"""What a value of PDL stands for."""
Bindings: TypeAlias = dict[SSAValue, Bound]


def definition(value: SSAValue) -> Operation:
    """Return the PDL operation that gives a value."""
    assert isinstance(value.owner, Operation), "the regions of a pattern have no arguments"
    return value.owner


def operations_of(pattern: pdl.PatternOp) -> list[pdl.OperationOp]:
    """Return the operations that a pattern matches."""
    return [op for op in pattern.body.block.ops if isinstance(op, pdl.OperationOp)]


def is_range(value: SSAValue) -> bool:
    """Return whether a value of PDL stands for several values or types."""
    return isinstance(value.type, pdl.RangeType)


def value_of(value: SSAValue, bound: Bindings) -> Bound | None:
    """Return what a value of PDL stands for; None for a result that the operation lacks."""
    if value in bound:
        return bound[value]
    match definition(value):
        case pdl.AttributeOp(value=Attribute() as constant):
            return constant
        case pdl.TypeOp(constantType=Attribute() as constant):
            return constant
        case pdl.TypesOp(constantTypes=constants) if constants is not None:
            return tuple(constants)
        case pdl.ResultOp(parent_=parent, index=index):
            results = _operation(parent, bound).results
            return results[index.value.data] if index.value.data < len(results) else None
        case pdl.ResultsOp(parent_=parent):
            return tuple(_operation(parent, bound).results)
        case op:
            raise PassFailedException(complaint(op, "is bound by no operation of the pattern"))


def _operation(value: SSAValue, bound: Bindings) -> Operation:
    op = bound[value]
    assert isinstance(op, Operation)
    return op


@dataclass(frozen=True)
class Matcher:
    """The left side of a pattern, ready to be tried on operations."""

    pattern: pdl.PatternOp
    root: SSAValue

    def matches(self, op: Operation) -> Iterator[Bindings]:
        """Yield what the pattern binds if its root is `op`, in all the ways that it matches."""
        bound: Bindings = {}
        if self._match_operation(self.root, op, bound):
            for complete in self._match_rest(bound):
                if self._constraints_hold(complete):
                    yield complete

    def _match_rest(self, bound: Bindings) -> Iterator[Bindings]:
        """Find the operations that the root does not depend on among the readers of values."""
        missing = [op for op in operations_of(self.pattern) if op.op not in bound]
        if not missing:
            yield bound
            return
        pdl_op, shared = next(
            (op, known) for op in missing if (known := _known_operand(op, bound)) is not None
        )
        for reader in dict.fromkeys(use.operation for use in shared.uses):
            trial = dict(bound)
            fresh = not any(reader is other for other in bound.values())
            if fresh and self._match_operation(pdl_op.op, reader, trial):
                yield from self._match_rest(trial)

    def _constraints_hold(self, bound: Bindings) -> bool:
        for op in self.pattern.body.block.ops:
            if isinstance(op, pdl.ResultOp) and value_of(op.val, bound) is None:
                return False
            if isinstance(op, pdl.ApplyNativeConstraintOp):
                values = [value_of(value, bound) for value in op.args]
                holds = CONSTRAINTS[op.constraint_name.data](*values)
                if holds == bool(op.is_negated):
                    return False
        return True

    def _match_operation(self, value: SSAValue, op: Operation, bound: Bindings) -> bool:
        if value in bound:
            return bound[value] is op
        pdl_op = definition(value)
        assert isinstance(pdl_op, pdl.OperationOp)
        if pdl_op.opName is not None and pdl_op.opName.data != name_of(op):
            return False
        bound[value] = op
        types = [result.type for result in op.results]
        return (
            self._match_attributes(pdl_op, op, bound)
            and _match_list(pdl_op.operand_values, list(op.operands), bound, self._match_operand)
            and _match_list(pdl_op.type_values, types, bound, _match_type)
        )

    def _match_attributes(self, pdl_op: pdl.OperationOp, op: Operation, bound: Bindings) -> bool:
        names = (name.data for name in pdl_op.attributeValueNames)
        return all(
            (found := _attribute_of(op, name)) is not None and _match_attribute(value, found, bound)
            for name, value in zip(names, pdl_op.attribute_values, strict=True)
        )

    def _match_operand(
        self, value: SSAValue, found: SSAValue | tuple[SSAValue, ...], bound: Bindings
    ) -> bool:
        if value in bound:
            return bound[value] == found
        match definition(value):
            case pdl.OperandOp(value_type=wanted) | pdl.OperandsOp(value_type=wanted):
                if wanted is not None and not _match_type(wanted, _types_of(found), bound):
                    return False
            case pdl.ResultOp(parent_=parent, index=index):
                if not isinstance(found, OpResult) or found.index != index.value.data:
                    return False
                if not self._match_operation(parent, found.op, bound):
                    return False
            case pdl.ResultsOp(parent_=parent) if isinstance(found, tuple):
                first = found[0] if found else None
                if not isinstance(first, OpResult) or tuple(first.op.results) != found:
                    return False
                if not self._match_operation(parent, first.op, bound):
                    return False
            case _:
                return False
        bound[value] = found
        return True


def _types_of(found: SSAValue | tuple[SSAValue, ...]) -> Attribute | tuple[Attribute, ...]:
    return tuple(v.type for v in found) if isinstance(found, tuple) else found.type


def _known_operand(pdl_op: pdl.OperationOp, bound: Bindings) -> SSAValue | None:
    """Return what one of the operands of an operation of the pattern stands for, if known."""
    for value in pdl_op.operand_values:
        owner = definition(value)
        is_result = isinstance(owner, pdl.ResultOp | pdl.ResultsOp)
        if value not in bound and not (is_result and owner.operands[0] in bound):
            continue
        known = value_of(value, bound)
        first = known[0] if isinstance(known, tuple) and known else known
        if isinstance(first, SSAValue):
            return first
    return None


def _match_list(
    values: Sequence[SSAValue],
    found: Sequence[SSAValue] | Sequence[Attribute],
    bound: Bindings,
    match: Callable[..., bool],
) -> bool:
    """Match operands or types; the only range, if there is one, takes what the others leave."""
    spare = len(found) - len(values)
    ranges = [k for k, value in enumerate(values) if is_range(value)]
    if spare < -1 or (spare and not ranges):
        return False
    at = 0
    for k, value in enumerate(values):
        size = spare + 1 if k in ranges else 1
        item = tuple(found[at : at + size]) if k in ranges else found[at]
        if not match(value, item, bound):
            return False
        at += size
    return True


def _match_type(value: SSAValue, found: Attribute | tuple[Attribute, ...], bound: Bindings) -> bool:
    if value in bound:
        return bound[value] == found
    wanted = definition(value)
    if isinstance(wanted, pdl.TypesOp):
        constant = None if wanted.constantTypes is None else tuple(wanted.constantTypes)
    else:
        assert isinstance(wanted, pdl.TypeOp)
        constant = wanted.constantType
    if constant is not None and constant != found:
        return False
    bound[value] = found
    return True


def _match_attribute(value: SSAValue, found: Attribute, bound: Bindings) -> bool:
    if value in bound:
        return bound[value] == found
    wanted = definition(value)
    assert isinstance(wanted, pdl.AttributeOp)
    if wanted.value is not None and wanted.value != found:
        return False
    if wanted.value_type is not None:
        if not isinstance(found, TypedAttribute):
            return False
        if not _match_type(wanted.value_type, found.get_type(), bound):
            return False
    bound[value] = found
    return True


def _attribute_of(op: Operation, name: str) -> Attribute | None:
    """Return a property or attribute of an operation, or the value that it has by default."""
    found = op.get_attr_or_prop(name)
    if found is not None or not isinstance(op, IRDLOperation):
        return found
    known = op.get_irdl_definition()
    default = known.properties.get(name) or known.attributes.get(name)
    return default.default_value if default is not None else None
