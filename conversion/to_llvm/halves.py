"""Floats of other widths; bfloat by its bits, for the machines without such a type.

Machines with AVX512-BF16 have an instruction that rounds to bfloat. It takes denormal numbers for
zeros, as those that multiply bfloats do; so it is used where a module says that this is fine.
"""

from __future__ import annotations

from xdsl.dialects import arith, llvm
from xdsl.dialects.builtin import BFloat16Type, Float32Type, Float64Type, i16, i32
from xdsl.ir import Attribute, Operation, SSAValue

from nn_opt.conversion.to_llvm.code import Code, Rule
from nn_opt.conversion.to_llvm.machine import machine_type
from nn_opt.conversion.to_llvm.soft_halves import half_to_single, is_half, single_to_half
from nn_opt.conversion.to_llvm.values import EXACT, compare_floats, like, select
from nn_opt.ir.target import flushes_denormals, module_around, target_of
from nn_opt.ir.types import element_type

EQUAL, GREATER, UNORDERED = 1, 2, 14  # predicates of llvm.fcmp: oeq, ogt, uno
ROUNDING = "avx512bf16"  # LLVM's name of what rounds a vector of f32 to bfloat
NO_FLAGS = {"fastmathFlags": EXACT}


def lower_extend(code: Code, op: arith.ExtFOp) -> None:
    """%b = arith.extf %a  ->  llvm.fpext; of bfloat a shift, for machines without the type"""
    code.bind(op.result, extend(code, code.value(op.operands[0]), machine_type(op.result.type)))


def extend(code: Code, value: SSAValue, wanted: Attribute) -> SSAValue:
    """Return a float as a wider one."""
    if isinstance(element_type(value.type), BFloat16Type):
        single = like(value.type, Float32Type())
        value = code.emit(llvm.BitcastOp, (value,), like(value.type, i16))
        value = code.emit(llvm.ZExtOp, (value,), like(value.type, i32))
        value = code.emit(llvm.ShlOp, (value, code.number(16, value.type)), value.type)
        value = code.emit(llvm.BitcastOp, (value,), single)
    elif is_half(value.type) and not code.unit.target.halves:
        value = half_to_single(code, value)
    if value.type == wanted:
        return value
    return code.emit(llvm.FPExtOp, (value,), wanted)


def lower_truncate(code: Code, op: arith.TruncFOp) -> None:
    """%b = arith.truncf %a  ->  llvm.fptrunc; to bfloat by rounding the bits"""
    value, wanted = code.value(op.operands[0]), machine_type(op.result.type)
    if rounds_at_once(op):
        code.bind(op.result, code.emit(llvm.FPTruncOp, (value,), wanted))
    else:
        code.bind(op.result, truncate(code, value, wanted))


def rounds_at_once(op: arith.TruncFOp) -> bool:
    """Return whether the machine has an instruction for it that is as exact as the module wants."""
    types = element_type(op.operands[0].type), element_type(op.result.type)
    if types != (Float32Type(), BFloat16Type()):
        return False
    module = module_around(op)
    return module is not None and flushes_denormals(module) and target_of(module).has(ROUNDING)


def truncate(code: Code, value: SSAValue, wanted: Attribute) -> SSAValue:
    """Return a float as a narrower one, rounded to nearest even."""
    if isinstance(element_type(wanted), Float32Type):
        return code.emit(llvm.FPTruncOp, (value,), wanted)
    if isinstance(element_type(value.type), Float64Type):
        value = _round_to_odd(code, value)
    if isinstance(element_type(wanted), BFloat16Type):
        return _round_to_bfloat(code, value, wanted)
    if is_half(wanted) and not code.unit.target.halves:
        return single_to_half(code, value, wanted)
    return code.emit(llvm.FPTruncOp, (value,), wanted)


def _round_to_odd(code: Code, value: SSAValue) -> SSAValue:
    """Return a double as a single whose last bit tells that something was cut off.

    Rounding that once more gives what rounding the double at once would give.
    """
    single = code.emit(llvm.FPTruncOp, (value,), like(value.type, Float32Type()))
    back = code.emit(llvm.FPExtOp, (single,), value.type)
    sizes = [code.emit(llvm.FAbsOp, (v,), v.type, NO_FLAGS) for v in (back, value)]
    type_ = like(value.type, i32)
    one = code.number(1, type_)
    bits = code.emit(llvm.BitcastOp, (single,), type_)
    is_larger = compare_floats(code, GREATER, sizes[0], sizes[1], EXACT)
    below = code.emit(llvm.SubOp, (bits, one), type_)
    bits = select(code, is_larger, below, bits)
    odd = code.emit(llvm.OrOp, (bits, one), type_)
    bits = select(code, compare_floats(code, EQUAL, back, value, EXACT), bits, odd)
    return code.emit(llvm.BitcastOp, (bits,), single.type)


def _round_to_bfloat(code: Code, value: SSAValue, wanted: Attribute) -> SSAValue:
    """Add half of the last place that stays, less one if that is even; NaN stays NaN."""
    type_ = like(value.type, i32)
    bits = code.emit(llvm.BitcastOp, (value,), type_)
    high = code.emit(llvm.LShrOp, (bits, code.number(16, type_)), type_)
    odd = code.emit(llvm.AndOp, (high, code.number(1, type_)), type_)
    half = code.emit(llvm.AddOp, (odd, code.number(0x7FFF, type_)), type_)
    rounded = code.emit(llvm.AddOp, (bits, half), type_)
    quiet = code.emit(llvm.OrOp, (bits, code.number(0x400000, type_)), type_)
    is_nan = compare_floats(code, UNORDERED, value, value, EXACT)
    chosen = select(code, is_nan, quiet, rounded)
    chosen = code.emit(llvm.LShrOp, (chosen, code.number(16, type_)), type_)
    narrow = code.emit(llvm.TruncOp, (chosen,), like(type_, i16))
    return code.emit(llvm.BitcastOp, (narrow,), wanted)


RULES: dict[type[Operation], Rule] = {
    arith.ExtFOp: lower_extend,
    arith.TruncFOp: lower_truncate,
}
