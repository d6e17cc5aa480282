"""Index expressions as forms over machine values, and pointers to elements."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from xdsl.dialects import llvm
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, i32, i64
from xdsl.dialects.llvm import GEP_USE_SSA_VAL, ICmpPredicateFlag
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
)

from nn_opt.conversion.to_llvm.code import Code
from nn_opt.conversion.to_llvm.indices import Atom, Form, combine, form_of
from nn_opt.conversion.to_llvm.machine import POINTER
from nn_opt.dialects.llvm import FLAGS, GEPOp, bool_like
from nn_opt.dialects.loop import BACKWARDS, ForOp
from nn_opt.ir.affine import Linear, Range, linear

ONE_VALUE = DenseArrayBase.from_list(i32, [GEP_USE_SSA_VAL])
NO_FLAGS = IntegerAttr(0, i32)
FORWARD = IntegerAttr(FLAGS["nuw"], i32)


def evaluate(code: Code, source: Linear, indices: Sequence[SSAValue]) -> Form:
    """Return a linear form of the source over what its indices are now."""
    constant = source.constant
    factors: dict[Atom, int] = {}
    known = code.indices
    for part, weight in source.terms.items():
        if type(part) is AffineDimExpr:
            form = known[indices[part.position]]
        else:
            form = _part(code, part, indices)
        constant += weight * form.constant
        for atom, factor in form.terms:
            factors[atom] = factors.get(atom, 0) + weight * factor
    return form_of(factors, constant) if factors else Form((), constant)


def evaluate_expr(code: Code, expr: AffineExpr, indices: Sequence[SSAValue]) -> Form:
    """Return an expression over what its indices are now."""
    return evaluate(code, linear(expr), indices)


def _part(code: Code, part: AffineExpr, indices: Sequence[SSAValue]) -> Form:
    assert isinstance(part, AffineBinaryOpExpr), f"not an affine expression: {part}"
    assert isinstance(part.rhs, AffineConstantExpr), f"not affine: {part}"
    divisor = part.rhs.value
    inner = evaluate_expr(code, part.lhs, indices)
    if part.kind is AffineBinaryOpKind.CeilDiv:
        return quotient(code, combine([(inner, 1)], divisor - 1), divisor)
    if part.kind is AffineBinaryOpKind.FloorDiv:
        return quotient(code, inner, divisor)
    return remainder(code, inner, divisor)


def quotient(code: Code, form: Form, divisor: int) -> Form:
    """Return form floordiv divisor; terms that divide stay linear."""
    whole, rest = _split(form, divisor)
    low, high = rest.range
    if low // divisor == high // divisor:
        return combine([(whole, 1)], low // divisor)
    value = _floor_divide(code, code.materialize(rest), divisor, low)
    atom = code.atom(value, (low // divisor, high // divisor))
    return combine([(whole, 1), (Form(((atom, 1),), 0), 1)])


def remainder(code: Code, form: Form, divisor: int) -> Form:
    """Return form mod divisor, which is never negative."""
    _, rest = _split(form, divisor)
    low, high = rest.range
    if low // divisor == high // divisor:
        return combine([(rest, 1)], -(low // divisor) * divisor)
    value = _modulo(code, code.materialize(rest), divisor, low)
    return Form(((code.atom(value, (0, divisor - 1)), 1),), 0)


def _split(form: Form, divisor: int) -> tuple[Form, Form]:
    """Return (q, r) with form == q * divisor + r."""
    whole = {atom: factor // divisor for atom, factor in form.terms if factor % divisor == 0}
    rest = {atom: factor for atom, factor in form.terms if factor % divisor}
    constant, left = divmod(form.constant, divisor)
    return form_of(whole, constant), form_of(rest, left)


def _floor_divide(code: Code, value: SSAValue, divisor: int, low: int) -> SSAValue:
    if divisor & (divisor - 1) == 0:
        shift = code.integer(divisor.bit_length() - 1)
        return code.share(llvm.AShrOp, (value, shift), code.index)
    if low >= 0:
        return code.share(llvm.UDivOp, (value, code.integer(divisor)), code.index)
    left = _modulo(code, value, divisor, low)
    whole = code.share(llvm.SubOp, (value, left), code.index)
    return code.share(llvm.SDivOp, (whole, code.integer(divisor)), code.index)


def _modulo(code: Code, value: SSAValue, divisor: int, low: int) -> SSAValue:
    by = code.integer(divisor)
    if divisor & (divisor - 1) == 0:
        return code.share(llvm.AndOp, (value, code.integer(divisor - 1)), code.index)
    if low >= 0:
        return code.share(llvm.URemOp, (value, by), code.index)
    left = code.share(llvm.SRemOp, (value, by), code.index)
    shifted = code.share(llvm.AddOp, (left, by), code.index)
    return code.share(llvm.URemOp, (shifted, by), code.index)


@lru_cache(maxsize=4096)
def _step_properties(element: Attribute, factor: int) -> dict[str, Attribute]:
    """Return what a getelementptr by one value of `factor` elements has."""
    unit = element if factor == 1 else llvm.LLVMArrayType(factor, element)
    return {"rawConstantIndices": ONE_VALUE, "elem_type": unit, "noWrapFlags": NO_FLAGS}


@lru_cache(maxsize=4096)
def _offset_properties(element: Attribute, offset: int) -> dict[str, Attribute]:
    raw = DenseArrayBase.from_list(i32, [offset])
    return {"rawConstantIndices": raw, "elem_type": element, "noWrapFlags": NO_FLAGS}


@lru_cache(maxsize=4096)
def _forward_properties(element: Attribute, offset: int) -> dict[str, Attribute]:
    return {**_offset_properties(element, offset), "noWrapFlags": FORWARD}


def moving_pointer(code: Code, pointer: SSAValue, element: Attribute, form: Form) -> SSAValue:
    """Return the pointer without the form's constant, one step for each loop, shared."""
    if not form.terms:
        return pointer
    known, key = code.scopes[-1].pointers, (pointer, form.terms, element)
    if key not in known:
        known[key] = _stepped_pointer(code, pointer, element, form)
    return known[key]


def _stepped_pointer(code: Code, pointer: SSAValue, element: Attribute, form: Form) -> SSAValue:
    for atom, factor in form.terms:
        value, unit = atom.value, factor
        if factor < 1:
            value, unit = code.share(llvm.MulOp, (value, code.integer(factor)), code.index), 1
        before = pointer
        pointer = code.share(
            GEPOp, (pointer, value), POINTER, _step_properties(element, unit), (element, unit)
        )
        if factor < 0 or atom.range[0] < 0 or before in code.unbounded:
            code.unbounded.add(pointer)
    return pointer


def offset_pointer(code: Code, pointer: SSAValue, element: Attribute, offset: int) -> SSAValue:
    """Return the pointer moved by a constant; LLVM folds it into the access that follows.

    Where accesses do not wrap around, it has to know that the sum does not, either.
    """
    if not offset:
        return pointer
    if offset > 0 and code.unit.target.adds_offsets and pointer not in code.unbounded:
        return code.emit(GEPOp, (pointer,), POINTER, _forward_properties(element, offset))
    if not -(1 << 31) < offset < 1 << 31:
        value = code.integer(offset)
        return code.emit(GEPOp, (pointer, value), POINTER, _step_properties(element, 1))
    return code.emit(GEPOp, (pointer,), POINTER, _offset_properties(element, offset))


def element_pointer(code: Code, pointer: SSAValue, element: Attribute, form: Form) -> SSAValue:
    """Return the pointer to the element at `form`."""
    moving = moving_pointer(code, pointer, element, form)
    return offset_pointer(code, moving, element, form.constant)


def compare(code: Code, word: str, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """Return a shared integer comparison."""
    predicate = IntegerAttr(ICmpPredicateFlag(word).to_int(), i64)
    type_ = bool_like(lhs.type)
    return code.share(llvm.ICmpOp, (lhs, rhs), type_, {"predicate": predicate}, word)


def within(code: Code, form: Form, size: int) -> SSAValue | bool:
    """Return the condition 0 <= form < size, or its value if it is known."""
    low, high = form.range
    if 0 <= low and high < size:
        return True
    if high < 0 or low >= size:
        return False
    return compare(code, "ult", code.materialize(form), code.integer(size))


def not_negative(code: Code, form: Form) -> SSAValue | bool:
    """Return the condition form >= 0, or its value if it is known."""
    low, high = form.range
    if low >= 0:
        return True
    if high < 0:
        return False
    moving = Form(form.terms, 0)
    return compare(code, "sge", code.materialize(moving), code.integer(-form.constant))


def both(code: Code, conditions: Sequence[SSAValue | bool]) -> SSAValue | bool:
    """Return whether all conditions hold; the ones known earlier are combined first."""
    if any(condition is False for condition in conditions):
        return False
    values = [condition for condition in conditions if not isinstance(condition, bool)]
    if not values:
        return True
    values.sort(key=lambda value: code.places[value])
    total = values[0]
    for value in values[1:]:
        total = code.share(llvm.AndOp, (total, value), total.type)
    return total


def loop_range(trips: int) -> Range:
    """Return the values of a loop's variable."""
    return 0, trips - 1


def in_order(op: ForOp, form: Form) -> Form:
    """Return which iteration of a loop is the form-th to run."""
    return combine([(form, -1)], op.trips - 1) if BACKWARDS in op.attributes else form
