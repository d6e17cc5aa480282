"""binary16 numbers for machines without instructions for them: by their bits, in vectors, too."""

from __future__ import annotations

from xdsl.dialects import llvm
from xdsl.dialects.builtin import Float16Type, Float32Type, i16, i32
from xdsl.ir import Attribute, Operation, SSAValue

from nn_opt.conversion.to_llvm.addressing import compare
from nn_opt.conversion.to_llvm.code import Code
from nn_opt.conversion.to_llvm.values import EXACT, like, select
from nn_opt.ir.types import element_type

_EXACT = {"fastmathFlags": EXACT}
SHIFT = 13  # bits that a binary32's fraction is longer
REBIAS = (127 - 15) << 23
SMALLEST = (127 - 14) << 23  # 2^-14, the smallest normal binary16, as a binary32
LARGE = (127 + 16) << 23  # 2^16, beyond all of them
INFINITY, NAN = 0x7C00, 0x7E00
# Added to a number below 2^-14, this leaves the bits of its binary16 form, rounded, at the end.
DENORMAL = ((127 - 15) + (23 - 10) + 1) << 23


def is_half(type_: Attribute) -> bool:
    """Return whether a type is binary16, or a vector of it."""
    return isinstance(element_type(type_), Float16Type)


def half_to_single(code: Code, value: SSAValue) -> SSAValue:
    """Return binary16 numbers as binary32, exactly."""
    type_ = like(value.type, i32)
    bits = code.emit(llvm.BitcastOp, (value,), like(value.type, i16))
    bits = code.emit(llvm.ZExtOp, (bits,), type_)
    size = _shifted(code, llvm.ShlOp, _masked(code, bits, 0x7FFF), SHIFT)
    exponent = _masked(code, size, INFINITY << SHIFT)
    normal = _plus(code, size, REBIAS)
    huge = _plus(code, normal, REBIAS)  # infinity and NaN have the largest exponent, again
    tiny = _float(code, _plus(code, normal, 1 << 23))
    smallest = _float(code, code.number(SMALLEST, type_))
    tiny = _bits(code, code.emit(llvm.FSubOp, (tiny, smallest), tiny.type, _EXACT))
    is_tiny = compare(code, "eq", exponent, code.number(0, type_))
    is_huge = compare(code, "eq", exponent, code.number(INFINITY << SHIFT, type_))
    result = select(code, is_huge, huge, select(code, is_tiny, tiny, normal))
    sign = _shifted(code, llvm.ShlOp, _masked(code, bits, 0x8000), 16)
    return _float(code, code.emit(llvm.OrOp, (result, sign), type_))


def single_to_half(code: Code, value: SSAValue, wanted: Attribute) -> SSAValue:
    """Return binary32 numbers rounded to the nearest binary16, the even one of two."""
    type_ = like(value.type, i32)
    bits = _bits(code, value)
    sign, size = _masked(code, bits, 1 << 31), _masked(code, bits, (1 << 31) - 1)
    magic = code.number(DENORMAL, type_)
    sum_ = code.emit(llvm.FAddOp, (_float(code, size), _float(code, magic)), value.type, _EXACT)
    tiny = code.emit(llvm.SubOp, (_bits(code, sum_), magic), type_)
    odd = _masked(code, _shifted(code, llvm.LShrOp, size, SHIFT), 1)
    normal = code.emit(llvm.AddOp, (_plus(code, size, 0xFFF - REBIAS), odd), type_)
    normal = _shifted(code, llvm.LShrOp, normal, SHIFT)
    is_nan = _above(code, size, 0xFF << 23)
    huge = select(code, is_nan, code.number(NAN, type_), code.number(INFINITY, type_))
    small = select(code, _above(code, size, SMALLEST - 1), normal, tiny)
    result = select(code, _above(code, size, LARGE - 1), huge, small)
    sign = _shifted(code, llvm.LShrOp, sign, 16)
    result = code.emit(llvm.OrOp, (result, sign), type_)
    narrow = code.emit(llvm.TruncOp, (result,), like(type_, i16))
    return code.emit(llvm.BitcastOp, (narrow,), wanted)


def _bits(code: Code, value: SSAValue) -> SSAValue:
    return code.emit(llvm.BitcastOp, (value,), like(value.type, i32))


def _float(code: Code, bits: SSAValue) -> SSAValue:
    return code.emit(llvm.BitcastOp, (bits,), like(bits.type, Float32Type()))


def _masked(code: Code, bits: SSAValue, mask: int) -> SSAValue:
    return code.emit(llvm.AndOp, (bits, code.number(_signed(mask), bits.type)), bits.type)


def _plus(code: Code, bits: SSAValue, more: int) -> SSAValue:
    return code.emit(llvm.AddOp, (bits, code.number(_signed(more), bits.type)), bits.type)


def _shifted(code: Code, kind: type[Operation], bits: SSAValue, by: int) -> SSAValue:
    return code.emit(kind, (bits, code.number(by, bits.type)), bits.type)


def _above(code: Code, bits: SSAValue, limit: int) -> SSAValue:
    return compare(code, "ugt", bits, code.number(limit, bits.type))


def _signed(value: int) -> int:
    return value - (1 << 32) if value >= 1 << 31 else value
