"""loop.ldexp and loop.dot, for which upstream MLIR has no op, as arithmetic that is as exact."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import arith, math, vector
from xdsl.dialects.builtin import (
    AnyFloat,
    BFloat16Type,
    DenseArrayBase,
    Float32Type,
    VectorType,
    f64,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.hints import isa

from nn_opt.conversion.to_scf.code import Code
from nn_opt.dialects import loop
from nn_opt.ir.literals import Scalar, scalar_attr
from nn_opt.ir.types import element_type, lanes_of, shape_of, vector_type

BIAS = 1023  # of the exponent of a double
MANTISSA = 52  # bits of a double
LARGEST, LEAST = 1023, -1022  # exponents of normal doubles
STEP_DOWN = LEAST + MANTISSA + 1  # so short that only the last product may be denormal, and round
SMALLEST = 2.0**-126  # normal number of single precision

Step = Callable[[SSAValue, SSAValue], Operation]


def like(type_: Attribute, element: Attribute) -> Attribute:
    """Return a scalar or vector type with another element type."""
    lanes = lanes_of(type_)
    return element if lanes is None else vector_type(lanes, element)


def number(code: Code, value: Scalar, type_: Attribute) -> SSAValue:
    """Return a number, on all lanes of a vector."""
    one = code.emit(arith.ConstantOp(scalar_attr(value, element_type(type_))))
    return code.emit(vector.BroadcastOp(one, type_)) if isa(type_, VectorType) else one


def ldexp(code: Code, value: SSAValue, exponent: SSAValue) -> SSAValue:
    """Return value * 2^exponent, rounded once: the product of a double and a power is exact."""
    wanted = value.type
    if element_type(wanted) != f64:
        wide = code.emit(arith.ExtFOp(value, like(wanted, f64)))
        product = code.emit(arith.MulfOp(wide, power(code, exponent)))
        return code.emit(arith.TruncFOp(product, wanted))
    for _ in range(2):
        value, exponent = nearer(code, value, exponent)
    return code.emit(arith.MulfOp(value, power(code, exponent)))


def nearer(code: Code, value: SSAValue, exponent: SSAValue) -> tuple[SSAValue, SSAValue]:
    """Return the same product with an exponent that is nearer to those of normal doubles."""
    factor, part = number(code, 1.0, value.type), number(code, 0, exponent.type)
    for step, bound, order in ((LARGEST, LARGEST, "sgt"), (STEP_DOWN, LEAST, "slt")):
        far = code.emit(arith.CmpiOp(exponent, number(code, bound, exponent.type), order))
        factor = code.emit(arith.SelectOp(far, number(code, 2.0**step, value.type), factor))
        part = code.emit(arith.SelectOp(far, number(code, step, exponent.type), part))
    rest = code.emit(arith.SubiOp(exponent, part))
    return code.emit(arith.MulfOp(value, factor)), rest


def power(code: Code, exponent: SSAValue) -> SSAValue:
    """Return 2^exponent as a double; exponents that no double has are the nearest it has."""
    low = code.emit(arith.MaxSIOp(exponent, number(code, LEAST, exponent.type)))
    inside = code.emit(arith.MinSIOp(low, number(code, LARGEST, exponent.type)))
    biased = code.emit(arith.AddiOp(inside, number(code, BIAS, exponent.type)))
    wide = widened(code, biased, i64)
    bits = code.emit(arith.ShLIOp(wide, number(code, MANTISSA, wide.type)))
    return code.emit(arith.BitcastOp(bits, like(exponent.type, f64)))


def dot(code: Code, op: loop.DotOp) -> SSAValue:
    """Return acc plus the products of each lane's group, as the dialect defines their rounding."""
    wanted = op.acc.type
    if not isinstance(element_type(wanted), AnyFloat):
        return products(code, op, op.acc, arith.MuliOp, arith.AddiOp)
    if (element_type(op.a), element_type(wanted)) == (BFloat16Type(), Float32Type()):
        return dot_of_pairs(code, op)
    wide = widened(code, op.acc, f64)
    total = products(code, op, wide, arith.MulfOp, arith.AddfOp)
    return total if total.type == wanted else code.emit(arith.TruncFOp(total, wanted))


def products(code: Code, op: loop.DotOp, total: SSAValue, multiply: Step, add: Step) -> SSAValue:
    """Return a total plus all products of a group, in the total's type."""
    for k in range(op.group):
        left, right = factors(code, op, k, element_type(total))
        total = code.emit(add(total, code.emit(multiply(left, right))))
    return total


def dot_of_pairs(code: Code, op: loop.DotOp) -> SSAValue:
    """Return a dot of bf16: from the last product to the first, without denormal numbers."""
    total = without_denormals(code, op.acc)
    for k in reversed(range(op.group)):
        left, right = (without_denormals(code, v) for v in factors(code, op, k, Float32Type()))
        total = without_denormals(code, code.emit(math.FmaOp(left, right, total)))
    return total


def without_denormals(code: Code, value: SSAValue) -> SSAValue:
    """Return single-precision numbers, zeros for those too small to be normal."""
    size = code.emit(math.AbsFOp(value))
    small = code.emit(arith.CmpfOp(size, number(code, SMALLEST, value.type), "olt"))
    zero = code.emit(arith.MulfOp(value, number(code, 0.0, value.type)))
    return code.emit(arith.SelectOp(small, zero, value))


def factors(code: Code, op: loop.DotOp, k: int, wide: Attribute) -> tuple[SSAValue, SSAValue]:
    """Return element k of `a` on all lanes, and element k of each lane's group of `b`."""
    lanes = shape_of(op.acc)[0]
    one = code.emit(vector.ExtractOp(op.a, [k], element_type(op.a)))
    one = widened(code, one, wide, unsigned=op.unsigned is not None)
    type_ = vector_type(lanes, wide)
    mask = DenseArrayBase.from_list(i64, [op.group * lane + k for lane in range(lanes)])
    narrow = vector_type(lanes, element_type(op.b))
    shuffled = code.emit(vector.ShuffleOp(op.b, op.b, mask, result_type=narrow))
    return code.emit(vector.BroadcastOp(one, type_)), widened(code, shuffled, wide)


def widened(code: Code, value: SSAValue, wide: Attribute, *, unsigned: bool = False) -> SSAValue:
    """Return a number, or a vector of them, in a type that holds it."""
    if element_type(value) == wide:
        return value
    if isinstance(wide, AnyFloat):
        return code.emit(arith.ExtFOp(value, like(value.type, wide)))
    extend = arith.ExtUIOp if unsigned else arith.ExtSIOp
    return code.emit(extend.create(operands=[value], result_types=[like(value.type, wide)]))
