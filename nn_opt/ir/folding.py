"""Folding of ops by their own folders; a constant that comes of it exists once a region.

It replaces `xdsl.folder.Folder`, which searches an op's traits at each visit and makes a constant
for each result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialect_interfaces.constant_materialization import ConstantMaterializationInterface
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntAttr, IntegerAttr, IntegerType
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue, TypeAttribute
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint
from xdsl.traits import Commutative, ConstantLike, HasFolder

Fold: TypeAlias = Callable[[Operation], Sequence[SSAValue | Attribute] | None]
_Key: TypeAlias = tuple[Block, Attribute, Attribute]


@cache
def is_constant(op_type: type[Operation]) -> bool:
    """Return whether ops of a class are constants."""
    return op_type.has_trait(ConstantLike, value_if_unregistered=False)


@cache
def folder_of(op_type: type[Operation]) -> tuple[Fold | None, bool]:
    """Return how ops of a class are folded, and whether that needs a constant operand.

    Constants have no folder here: what they fold to would be made a constant again.
    """
    if is_constant(op_type) or not op_type.has_trait(HasFolder, value_if_unregistered=False):
        return None, False
    trait = op_type.get_trait(HasFolder)
    assert trait is not None, "has_trait said so"
    if getattr(op_type, "fold", None) is arith.SignlessIntegerBinaryOperation.fold:
        return fold_integers, True
    return trait.fold, False


def constant_of(value: SSAValue) -> Attribute | None:
    """Return the attribute of a constant, if a value is one."""
    if type(value) is not OpResult:
        return None
    op = value.op
    if type(op) is arith.ConstantOp:
        return op.properties["value"]
    return ConstantLike.get_constant_value(value) if is_constant(type(op)) else None


def fold_integers(op: Operation) -> Sequence[SSAValue | Attribute] | None:
    """Fold as `SignlessIntegerBinaryOperation` of xDSL does."""
    assert isinstance(op, arith.SignlessIntegerBinaryOperation)
    left, right = op._operands  # pyright: ignore[reportPrivateUsage]  # op.operands is a new view
    lhs, rhs = constant_of(left), constant_of(right)
    if type(rhs) is IntegerAttr:
        if type(lhs) is IntegerAttr:
            number = op.py_operation(lhs.value.data, rhs.value.data)
            if number is not None:
                return (_integer(number, rhs.type),)
        if is_unit(op, rhs):
            return (left,)
    if type(lhs) is IntegerAttr and commutes(type(op)) and is_unit(op, lhs):
        return (right,)
    return None


def is_unit(op: arith.SignlessIntegerBinaryOperation, number: IntegerAttr) -> bool:
    """Return whether a number on the right leaves the left operand as it is."""
    return -1 <= number.value.data <= 1 and op.is_right_unit(number)  # 1 of i1 is kept as -1


def is_zero(op: arith.SignlessIntegerBinaryOperation, number: IntegerAttr) -> bool:
    """Return whether a number on the right is the result, whatever is on the left."""
    return -1 <= number.value.data <= 1 and op.is_right_zero(number)


@cache
def commutes(op_type: type[Operation]) -> bool:
    """Return whether the operands of an op class may change places."""
    return op_type.has_trait(Commutative)


def _integer(number: int, type_: IntegerType | IndexType) -> IntegerAttr:
    """Return `IntegerAttr(number, type_, truncate_bits=True)`, which is right by construction."""
    if isinstance(type_, IntegerType):
        wrapped = type_.normalized_value(number, truncate_bits=True)
        assert wrapped is not None, "it was truncated"
        number = wrapped
    data = object.__new__(IntAttr)
    vars(data)["data"] = number
    made = object.__new__(IntegerAttr)
    vars(made).update(value=data, type=type_)
    return made


_ARITH = frozenset(arith.Arith.operations)


class Folds:
    """Folds ops, and knows the constants that came of it."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._known: dict[_Key, Operation] = {}
        self._keys: dict[int, _Key] = {}

    def fold(self, op: Operation, folder: Fold, rewriter: PatternRewriter) -> bool:
        """Replace an op by what it folds to; return whether it folds."""
        folded = folder(op)
        if folded is None:
            return False
        values: list[SSAValue] = []
        new: dict[_Key, Operation] = {}
        for value, old in zip(folded, op.results, strict=True):
            if isinstance(value, SSAValue):
                values.append(value)
                continue
            key = (_entry(op), value, old.type)
            constant = self._known.get(key) or new.get(key) or self._made(op, value, old.type)
            if constant is None:
                return False
            if key not in self._known:
                new[key] = constant
            values.append(constant.results[0])
        for key, constant in new.items():
            rewriter.insert(constant, InsertPoint.at_start(key[0]))
            self._known[key] = constant
            self._keys[id(constant)] = key
        rewriter.replace(op, (), values)
        return True

    def forget(self, op: Operation) -> None:
        """Note that an op is erased."""
        key = self._keys.pop(id(op), None)
        if key is not None:
            del self._known[key]

    def _made(self, op: Operation, value: Attribute, type_: Attribute) -> Operation | None:
        if type(op) in _ARITH:  # what its dialect makes of it, without a look at the definition
            return arith.ConstantOp.create(result_types=[type_], properties={"value": value})
        dialect = self._ctx.get_dialect(op.dialect_name())
        interface = dialect.get_interface(ConstantMaterializationInterface)
        if interface is None or not isinstance(type_, TypeAttribute):
            return None
        return interface.materialize_constant(value, type_)


def _entry(op: Operation) -> Block:
    """Return the first block of the region that an op is in."""
    region = op.parent_region()
    assert region is not None, "what is rewritten is in a region"
    entry = region.blocks.first
    assert entry is not None, "the op is in a block of it"
    return entry
