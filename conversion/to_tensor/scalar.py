"""Scalars of a formula: SSA values that remember what their bits mean, with operators."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import (
    AnyFloat,
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
    i1,
)
from xdsl.dialects.utils.fast_math import FastMathFlag
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.hints import isa

from nn_opt.ir.literals import Scalar as Number
from nn_opt.ir.literals import scalar_attr
from nn_opt.ir.memory import remembered
from nn_opt.ir.remf import RemFOp
from nn_opt.ir.small_types import is_small, is_small_float, is_small_integer
from nn_opt.ir.types import UNSIGNED

INDEX = IndexType()
F32 = Float32Type()
F64 = Float64Type()
I8 = IntegerType(8)
I64 = IntegerType(64)

# float, signed, unsigned
BINARY: dict[str, tuple[type[Operation] | None, type[Operation], type[Operation]]] = {
    "add": (arith.AddfOp, arith.AddiOp, arith.AddiOp),
    "sub": (arith.SubfOp, arith.SubiOp, arith.SubiOp),
    "mul": (arith.MulfOp, arith.MuliOp, arith.MuliOp),
    "div": (arith.DivfOp, arith.DivSIOp, arith.DivUIOp),
    "rem": (RemFOp, arith.RemSIOp, arith.RemUIOp),
    "max": (arith.MaximumfOp, arith.MaxSIOp, arith.MaxUIOp),
    "min": (arith.MinimumfOp, arith.MinSIOp, arith.MinUIOp),
    "and": (None, arith.AndIOp, arith.AndIOp),
    "or": (None, arith.OrIOp, arith.OrIOp),
    "xor": (None, arith.XOrIOp, arith.XOrIOp),
    "shl": (None, arith.ShLIOp, arith.ShLIOp),
    "shr": (None, arith.ShRUIOp, arith.ShRUIOp),
}
# A comparison with NaN is false, save `ne`.
COMPARE = {
    "eq": ("oeq", "eq", "eq"),
    "ne": ("une", "ne", "ne"),
    "lt": ("olt", "slt", "ult"),
    "le": ("ole", "sle", "ule"),
    "gt": ("ogt", "sgt", "ugt"),
    "ge": ("oge", "sge", "uge"),
}
FUNCTIONS: dict[str, Callable[[SSAValue], Operation]] = {
    "abs": math.AbsFOp,
    "acos": math.AcosOp,
    "acosh": math.AcoshOp,
    "asin": math.AsinOp,
    "asinh": math.AsinhOp,
    "atan": math.AtanOp,
    "atanh": math.AtanhOp,
    "ceil": math.CeilOp,
    "cos": math.CosOp,
    "cosh": math.CoshOp,
    "erf": math.ErfOp,
    "exp": math.ExpOp,
    "expm1": math.ExpM1Op,
    "floor": math.FloorOp,
    "log": math.LogOp,
    "log1p": math.Log1pOp,
    "roundeven": math.RoundEvenOp,
    "sin": math.SinOp,
    "sinh": math.SinhOp,
    "sqrt": math.SqrtOp,
    "tan": math.TanOp,
    "tanh": math.TanhOp,
    "trunc": math.TruncOp,
}

APPROXIMATE: dict[str, type[math.ExpOp] | type[math.ErfOp]] = {
    "exp": math.ExpOp,
    "erf": math.ErfOp,
}


@remembered
def storage(element: Attribute) -> Attribute:
    """Return the element type below the graph level: no sign, and bytes for less than 8 bits."""
    if is_small(element):
        return I8
    return IntegerType(element.bitwidth) if isa(element, IntegerType) else element


@remembered
def working(element: Attribute) -> Attribute:
    """Return the type in which elements are computed: short ones are stored, not computed."""
    if isinstance(element, Float16Type | BFloat16Type) or is_small_float(element):
        return F32
    if is_small_integer(element):
        return UNSIGNED[8] if is_unsigned(element) else I8
    return element


def is_unsigned(element: Attribute) -> bool:
    """Return whether larger bits mean larger numbers: unsigned integers and bool."""
    return element in UNSIGNED.values() or element == i1


def width(element: Attribute) -> int:
    """Return the bits of an integer or float type."""
    assert isinstance(element, IntegerType | AnyFloat)
    return element.bitwidth


@dataclass(frozen=True, eq=False)
class Scalar:
    """A scalar in the body under construction; `type` is the graph's, with its sign."""

    value: SSAValue
    type: Attribute
    number: Number | None = None  # if it is a constant

    @property
    def is_float(self) -> bool:
        return isinstance(self.type, AnyFloat)

    @property
    def is_signed(self) -> bool:
        return not self.is_float and not is_unsigned(self.type)

    def like(self, other: Scalar | Number) -> Scalar:
        """Return `other`, made a constant of this scalar's type if it is a number."""
        return other if isinstance(other, Scalar) else constant(other, self.type)

    def binary(self, word: str, other: Scalar | Number) -> Scalar:
        """Return `self word other` for a word of BINARY."""
        build = BINARY[word][self._column()]
        assert build is not None, f"{word} is not for {self.type}"
        op = build(self.value, self.like(other).value)  # pyright: ignore[reportCallIssue]
        return Scalar(op.results[0], self.type)

    def compare(self, word: str, other: Scalar | Number) -> Scalar:
        """Return a bool for a word of COMPARE."""
        build = arith.CmpfOp if self.is_float else arith.CmpiOp
        op = build(self.value, self.like(other).value, COMPARE[word][self._column()])
        return Scalar(op.results[0], i1)

    def call(self, function: str) -> Scalar:
        """Return `function(self)` for a float function of FUNCTIONS."""
        return Scalar(FUNCTIONS[function](self.value).results[0], self.type)

    def call_beside_one(self, function: str) -> Scalar:
        """Return exp(self) or erf(self) with an error that is small beside 1, to be added to 1."""
        flags = arith.FastMathFlagsAttr([FastMathFlag.APPROX_FUNC])
        return Scalar(APPROXIMATE[function](self.value, flags).result, self.type)

    def _column(self) -> int:
        return 0 if self.is_float else 1 + is_unsigned(self.type)

    def __add__(self, other: Scalar | Number) -> Scalar:
        return self.binary("add", other)

    def __radd__(self, other: Number) -> Scalar:
        return self.like(other).binary("add", self)

    def __sub__(self, other: Scalar | Number) -> Scalar:
        return self.binary("sub", other)

    def __rsub__(self, other: Number) -> Scalar:
        return self.like(other).binary("sub", self)

    def __mul__(self, other: Scalar | Number) -> Scalar:
        return self.binary("mul", other)

    def __rmul__(self, other: Number) -> Scalar:
        return self.like(other).binary("mul", self)

    def __truediv__(self, other: Scalar | Number) -> Scalar:
        """Return the quotient; integers truncate, and neither x / 0 nor MIN / -1 traps."""
        return self.binary("div", other) if self.is_float else _divide(self, self.like(other))

    def __rtruediv__(self, other: Number) -> Scalar:
        return self.like(other) / self

    def __and__(self, other: Scalar | Number) -> Scalar:
        return self.binary("and", other)

    def __or__(self, other: Scalar | Number) -> Scalar:
        return self.binary("or", other)

    def __xor__(self, other: Scalar | Number) -> Scalar:
        return self.binary("xor", other)

    def __invert__(self) -> Scalar:
        return self ^ -1

    def __neg__(self) -> Scalar:
        if self.is_float:
            return Scalar(arith.NegfOp(self.value).result, self.type)
        return 0 - self

    def __abs__(self) -> Scalar:
        if self.is_float:
            return self.call("abs")
        if not self.is_signed:
            return self
        return Scalar(math.AbsIOp(self.value).result, self.type)

    def maximum(self, other: Scalar | Number) -> Scalar:
        """Return the larger; NaN if one is."""
        return self.binary("max", other)

    def minimum(self, other: Scalar | Number) -> Scalar:
        """Return the smaller; NaN if one is."""
        return self.binary("min", other)

    def power(self, exponent: Scalar | Number) -> Scalar:
        """Return this float to a float power."""
        return Scalar(math.PowFOp(self.value, self.like(exponent).value).result, self.type)

    def is_nan(self) -> Scalar:
        """Return whether this float is NaN."""
        return Scalar(arith.CmpfOp(self.value, self.value, "uno").result, i1)

    def select(self, then: Scalar | Number, otherwise: Scalar | Number) -> Scalar:
        """Return `then` where this bool holds; one of the two may be a number."""
        if not isinstance(then, Scalar):
            assert isinstance(otherwise, Scalar), "one branch gives the type"
            then = otherwise.like(then)
        otherwise = then.like(otherwise)
        op = arith.SelectOp(self.value, then.value, otherwise.value)
        return Scalar(op.result, then.type)

    def cast(self, target: Attribute) -> Scalar:
        """Return the same number as another type; floats truncate, and wrap in narrow integers."""
        if self.type == target:
            return self
        if is_small(self.type) or is_small(target):
            return _cast_small(self, target)
        if storage(self.type) == storage(target) and target != i1:
            return Scalar(self.value, target)
        if target == i1:
            return self.compare("ne", 0)
        if isinstance(target, IndexType) or isinstance(self.type, IndexType):
            return _cast_index(self, target)
        build = _cast_from_float if self.is_float else _cast_from_integer
        return build(self, target)


def _cast_small(scalar: Scalar, target: Attribute) -> Scalar:
    """The formulas are loaded when a program first needs one; infinities stay what they are."""
    from nn_opt.conversion.to_tensor.small import narrowed, widened

    if is_small(scalar.type):
        return widened(scalar).cast(target)
    return narrowed(scalar, target, saturate=False)


def constant(number: Number, type_: Attribute) -> Scalar:
    """Return a constant of the given type."""
    op = arith.ConstantOp(scalar_attr(wrapped(number, type_), storage(type_)))
    return Scalar(op.result, type_, number)


def wrapped(number: Number, type_: Attribute) -> Number:
    """Return the number as the signed integer with the same bits, if it is stored as one."""
    if type_ == i1:
        return int(number) & 1
    if is_small(type_):
        from nn_opt.conversion.to_tensor.small import byte_of

        return byte_of(number, type_)
    if not isa(type_, IntegerType):
        return number
    half = 1 << (type_.bitwidth - 1)
    return (int(number) + half) % (2 * half) - half


def _divide(dividend: Scalar, divisor: Scalar) -> Scalar:
    if divisor.number not in (None, 0, -1):
        return dividend.binary("div", divisor)
    zero = divisor.compare("eq", 0)
    if not dividend.is_signed:
        return zero.select(0, dividend.binary("div", zero.select(1, divisor)))
    minus_one = divisor.compare("eq", -1)
    safe = (zero | minus_one).select(1, divisor)
    quotient = dividend.binary("div", safe)
    return zero.select(0, minus_one.select(-dividend, quotient))


def remainder(dividend: Scalar, divisor: Scalar) -> Scalar:
    """Return the integer remainder, with the dividend's sign; x rem 0 is 0."""
    special = divisor.compare("eq", 0)
    if dividend.is_signed:
        special = special | divisor.compare("eq", -1)
    return dividend.binary("rem", special.select(1, divisor))


def _cast_index(scalar: Scalar, target: Attribute) -> Scalar:
    if scalar.is_float or isinstance(target, AnyFloat):
        return scalar.cast(I64).cast(target)
    unsigned = is_unsigned(scalar.type)
    source = scalar.cast(I64) if unsigned else scalar
    return Scalar(arith.IndexCastOp(source.value, storage(target)).result, target)


def _cast_from_float(scalar: Scalar, target: Attribute) -> Scalar:
    if isinstance(target, AnyFloat):
        return _resize_float(scalar, target)
    if is_unsigned(target) and width(target) == 64:
        return Scalar(arith.FPToUIOp(scalar.value, I64).result, target)
    small = width(target) + is_unsigned(target) <= 32
    via = IntegerType(32 if small else 64)
    return Scalar(arith.FPToSIOp(scalar.value, via).result, via).cast(target)


def _resize_float(scalar: Scalar, target: Attribute) -> Scalar:
    if width(target) == width(scalar.type):  # f16 and bf16
        return scalar.cast(F32).cast(target)
    build = arith.ExtFOp if width(target) > width(scalar.type) else arith.TruncFOp
    return Scalar(build(scalar.value, target).result, target)


def _cast_from_integer(scalar: Scalar, target: Attribute) -> Scalar:
    unsigned = is_unsigned(scalar.type)
    if isinstance(target, AnyFloat):
        via = target if isinstance(target, Float64Type) else F32
        if isinstance(target, BFloat16Type) and width(scalar.type) > 16:  # beyond what f32 holds
            from nn_opt.conversion.to_tensor.small import for_few_digits

            scalar = for_few_digits(scalar)
        build = arith.UIToFPOp if unsigned else arith.SIToFPOp
        return Scalar(build(scalar.value, via).result, via).cast(target)
    plain = storage(target)
    assert isa(plain, IntegerType)
    if width(target) < width(scalar.type):
        return Scalar(arith.TruncIOp(scalar.value, plain).result, target)
    build = arith.ExtUIOp if unsigned else arith.ExtSIOp
    return Scalar(build(scalar.value, plain).result, target)
