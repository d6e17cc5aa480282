"""Numbers of 8, 6, 4 or 2 bits: the byte that holds one as a number to compute with, and back.

Floats are taken apart and put together by their bits; of every format, `FloatSemantics` knows how
many there are of each kind and what the largest ones mean.
"""

from __future__ import annotations

from typing import cast

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    FloatNanEncoding,
    FloatNonfiniteBehavior,
    FloatSemantics,
    IntegerType,
    ReducedPrecisionFloatType,
    i1,
)
from xdsl.ir import Attribute

from nn_opt.conversion.to_tensor.scalar import (
    F32,
    F64,
    I8,
    Number,
    Scalar,
    is_unsigned,
    storage,
    width,
)
from nn_opt.ir.small_types import E8M0, bits_of, is_small_float
from nn_opt.ir.types import UNSIGNED, numpy_dtype

I32 = IntegerType(32)
FRACTION, BIAS = 23, 127  # of binary32
SIZE, INFINITY, NAN = 0x7FFFFFFF, 0xFF << FRACTION, 0x1FF << (FRACTION - 1)
LEAST_POWER = 1 << (FRACTION - 1)  # 2^-127 in binary32, a denormal number


def byte_of(number: Number, element: Attribute) -> int:
    """Return the byte, as a signed integer, that holds a number."""
    with np.errstate(all="ignore"):
        return int(np.asarray(number).astype(numpy_dtype(element)).view(np.int8))


def widened(x: Scalar) -> Scalar:
    """Return a small number as f32, or as an integer of 8 bits."""
    bits = bits_of(x.type)
    if is_small_float(x.type):
        return _decoded(x, _semantics(x.type))
    byte = Scalar(x.value, I8) & ((1 << bits) - 1)
    if is_unsigned(x.type):
        return Scalar(byte.value, UNSIGNED[8])
    top = 1 << (bits - 1)
    return (byte ^ top) - top


def narrowed(x: Scalar, target: Attribute, *, saturate: bool = True, mode: str = "up") -> Scalar:
    """Return a number, which is not small itself, as a small type; integers lose their high bits.

    Of floats, `saturate` and `mode` say what `graph.cast` does.
    """
    if is_small_float(target):
        single = _single(x, target)
        if target == E8M0:
            return _power_of_two(single, saturate, mode)
        return _encoded(single, target, saturate)
    whole = x.cast(I32) if x.is_float else x
    return Scalar((whole.cast(I8) & ((1 << bits_of(target)) - 1)).value, target)


def _semantics(element: Attribute) -> FloatSemantics:
    return cast(ReducedPrecisionFloatType, element).SEMANTICS


def _single(x: Scalar, target: Attribute) -> Scalar:
    """Return a number as f32, so that rounding it once more gives what rounding it once gives.

    Integers that f32 does not hold are beyond all small floats, save powers of two.
    """
    if target == E8M0 and not x.is_float:
        return for_few_digits(x).cast(F32)
    return to_odd(x) if x.type == F64 else x.cast(F32)


# Of integers from 2^a to 2^b, as many low bits may be cut off: what stays, f32 holds exactly.
CUTS: dict[int, tuple[tuple[int, int], ...]] = {32: ((24, 8),), 64: ((24, 15), (39, 30), (54, 42))}


def for_few_digits(x: Scalar) -> Scalar:
    """Return an integer that f32 holds, which rounds to 8 digits or less as this one does.

    The last bit that stays tells that something was cut off.
    """
    result = x
    for first, cut in CUTS.get(0 if x.type == i1 else width(x.type), ()):
        far = x.compare("ge", 1 << first)
        if x.is_signed:
            far = far | x.compare("lt", -(1 << first))
        mask = (1 << cut) - 1
        rest = (x & mask).compare("ne", 0).select(x.like(1 << cut), 0)
        result = far.select((x & ~mask) | rest, result)
    return result


def to_odd(x: Scalar) -> Scalar:
    """Return a double as a single whose last bit tells that something was cut off."""
    single = x.cast(F32)
    back, bits = single.cast(F64), _bits(single)
    bits = abs(back).compare("gt", abs(x)).select(bits - 1, bits)
    return _float(back.compare("eq", x).select(bits, bits | 1))


def _bits(x: Scalar) -> Scalar:
    return Scalar(arith.BitcastOp(x.value, I32).result, I32)


def _float(bits: Scalar) -> Scalar:
    return Scalar(arith.BitcastOp(bits.value, F32).result, F32)


def _unsigned_byte(x: Scalar, bits: int) -> Scalar:
    """Return the bits of a small number as an integer of 32."""
    whole = Scalar(arith.ExtUIOp(x.value, I32).result, I32)
    return whole & ((1 << bits) - 1) if bits < 8 else whole


def _decoded(x: Scalar, form: FloatSemantics) -> Scalar:
    byte = _unsigned_byte(x, form.bitwidth)
    if not form.has_zero:
        power = byte.compare("eq", 0).select(LEAST_POWER, _shl(byte, FRACTION))
        return _float(byte.compare("eq", 255).select(NAN, power))
    size = byte & ((1 << form.sign_shift) - 1)
    up = FRACTION - form.mantissa_bits
    bits = _shl(size, up) + ((BIAS - form.exponent_bias) << FRACTION)
    least = 2.0 ** (1 - form.exponent_bias - form.mantissa_bits)
    denormal = _bits(size.cast(F32) * least)
    bits = size.compare("lt", 1 << form.mantissa_bits).select(denormal, bits)
    if form.nonfinite is FloatNonfiniteBehavior.IEEE:  # one exponent is infinity and NaN again
        first = form.max_exponent << form.mantissa_bits
        special = _shl(size, up) + ((255 - form.max_exponent) << FRACTION)
        bits = size.compare("ge", first).select(special, bits)
    sign = 1 << form.sign_shift
    if form.nonfinite is FloatNonfiniteBehavior.NAN_ONLY:
        ones = form.nan_encoding is FloatNanEncoding.ALL_ONES
        is_nan = size.compare("eq", sign - 1) if ones else byte.compare("eq", sign)
        bits = is_nan.select(NAN, bits)
    return _float(bits | _shl(byte & sign, 31 - form.sign_shift))


def _shl(x: Scalar, by: int) -> Scalar:
    return x.binary("shl", by)


def _shr(x: Scalar, by: int) -> Scalar:
    return x.binary("shr", by)


def _limits(form: FloatSemantics) -> tuple[int, int, int]:
    """Return the bits, without a sign, of the largest number, of what is larger, and of NaN."""
    top = form.max_exponent << form.mantissa_bits
    ones = top | form.max_mantissa
    match form.nonfinite, form.nan_encoding:
        case FloatNonfiniteBehavior.IEEE, _:
            return top - 1, top, top | 1 << (form.mantissa_bits - 1)
        case FloatNonfiniteBehavior.NAN_ONLY, FloatNanEncoding.ALL_ONES:
            return ones - 1, ones, ones
        case FloatNonfiniteBehavior.NAN_ONLY, _:
            return ones, ones + 1, ones + 1
        case _:
            return ones, ones, 0


def _encoded(x: Scalar, target: Attribute, saturate: bool) -> Scalar:
    """Round the fraction in the integer, carries going into the exponent; denormals by a sum.

    A sum with a number whose last place is the smallest denormal rounds to a multiple of that.
    """
    form = _semantics(target)
    bits, drop = _bits(x), FRACTION - form.mantissa_bits
    size = bits & SIZE
    rounded = size + ((1 << (drop - 1)) - 1) + (_shr(size, drop) & 1)
    code = _shr(rounded, drop) - ((BIAS - form.exponent_bias) << form.mantissa_bits)
    magic = (BIAS + FRACTION + 1 - form.exponent_bias - form.mantissa_bits) << FRACTION
    denormal = _bits(_float(size) + _float(size.like(magic))) - magic
    smallest = (BIAS + 1 - form.exponent_bias) << FRACTION
    code = size.compare("lt", smallest).select(denormal, code)
    largest, beyond, nan = _limits(form)
    code = code.minimum(largest if saturate else beyond)
    is_nan = size.compare("gt", INFINITY)
    mask = 1 << form.sign_shift
    sign = _shr(bits, 31 - form.sign_shift) & mask
    if form.nonfinite is FloatNonfiniteBehavior.FINITE_ONLY:  # NaN becomes the other zero
        result = is_nan.select(sign ^ mask, code | sign)
    elif form.nan_encoding is FloatNanEncoding.NEGATIVE_ZERO:
        result = is_nan.select(nan, code.compare("eq", 0).select(0, code | sign))
    else:
        result = is_nan.select(nan, code) | sign
    return Scalar(arith.TruncIOp(result.value, I8).result, target)


def _power_of_two(x: Scalar, saturate: bool, mode: str) -> Scalar:
    """Return the exponent of the size of x, rounded; the smallest power is a denormal of f32."""
    size = _bits(x) & SIZE
    exponent, first = _shr(size, FRACTION), size.like(0)
    if mode == "up":
        exponent = _shr(size + ((1 << FRACTION) - 1), FRACTION)
        first = size.compare("gt", LEAST_POWER).cast(I32)
    elif mode == "nearest":
        exponent = _shr(size + (1 << (FRACTION - 1)), FRACTION)
        first = size.compare("ge", LEAST_POWER + LEAST_POWER // 2).cast(I32)
    code = size.compare("lt", 1 << FRACTION).select(first, exponent)
    code = code.minimum(254 if saturate else 255)
    lost = size.compare("gt", INFINITY)
    if not saturate:
        lost = lost | size.compare("lt", LEAST_POWER)
    code = lost.select(255, code)
    return Scalar(arith.TruncIOp(code.value, I8).result, E8M0)


def bits_as(x: Scalar, target: Attribute) -> Scalar:
    """Return the bits of a number as another type of as many bits, as it is stored."""
    source, wanted = storage(x.type), storage(target)
    if x.type == i1 or target == i1:
        return x.cast(target) if x.type == i1 else Scalar(x.value, I8).cast(i1)
    if source == wanted:
        return Scalar(x.value, target)
    return Scalar(arith.BitcastOp(x.value, wanted).result, target)
