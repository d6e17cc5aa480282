"""arith and math ops as LLVM instructions: tables, and one rule for each shape of op."""

from __future__ import annotations

import numpy as np
from xdsl.dialects import arith, llvm, math, vector
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerAttr,
    f32,
    i1,
    i32,
    i64,
)
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from nn_opt.conversion.to_llvm.code import Code, Properties, Rule
from nn_opt.conversion.to_llvm.extremes import maximum, minimum
from nn_opt.conversion.to_llvm.halving import Combine
from nn_opt.conversion.to_llvm.indices import combine, constant_form
from nn_opt.conversion.to_llvm.intrinsics import intrinsic
from nn_opt.conversion.to_llvm.signatures import hint_for, is_register
from nn_opt.conversion.to_llvm.values import EXACT, compare_floats, fast, select, values
from nn_opt.dialects import loop
from nn_opt.dialects.llvm import FPToSIOp, FPToUIOp, UIToFPOp, bool_like
from nn_opt.ir.diagnostics import complaint
from nn_opt.ir.literals import scalar_value
from nn_opt.ir.resources import Array
from nn_opt.ir.types import element_type, numpy_dtype, shape_of

RELAXED = "relaxed-simd"  # Wasm's name of products and sums that the engine may fuse
CONTRACT = llvm.FastMathAttr([FastMathFlag.ALLOW_CONTRACT])
ROUND_AND_CONVERT = ("x86_64", "aarch64")  # one instruction does both
# Integer ops that take no flags.
PLAIN: dict[type[Operation], type[Operation]] = {
    arith.AddiOp: llvm.AddOp,
    arith.SubiOp: llvm.SubOp,
    arith.MuliOp: llvm.MulOp,
    arith.DivSIOp: llvm.SDivOp,
    arith.DivUIOp: llvm.UDivOp,
    arith.RemSIOp: llvm.SRemOp,
    arith.RemUIOp: llvm.URemOp,
    arith.AndIOp: llvm.AndOp,
    arith.OrIOp: llvm.OrOp,
    arith.XOrIOp: llvm.XOrOp,
    arith.ShLIOp: llvm.ShlOp,
    arith.ShRUIOp: llvm.LShrOp,
    arith.ShRSIOp: llvm.AShrOp,
}
# Float ops, which keep the fast-math flags of the source.
FLOATING: dict[type[Operation], type[Operation]] = {
    arith.AddfOp: llvm.FAddOp,
    arith.SubfOp: llvm.FSubOp,
    arith.MulfOp: llvm.FMulOp,
    arith.DivfOp: llvm.FDivOp,
    arith.NegfOp: llvm.FNegOp,
    math.SqrtOp: llvm.FSqrtOp,
    math.AbsFOp: llvm.FAbsOp,
    math.CopySignOp: llvm.FCopySignOp,
}
INTRINSICS: dict[type[Operation], str] = {
    arith.MaxSIOp: "llvm.smax",
    arith.MinSIOp: "llvm.smin",
    arith.MaxUIOp: "llvm.umax",
    arith.MinUIOp: "llvm.umin",
    math.CtPopOp: "llvm.ctpop",
    loop.LdexpOp: "llvm.ldexp",
}
# Intrinsics with a last operand that says what is poison: nothing is.
WITH_FALSE: dict[type[Operation], str] = {
    math.AbsIOp: "llvm.abs",
    math.CountLeadingZerosOp: "llvm.ctlz",
    math.CountTrailingZerosOp: "llvm.cttz",
}
CASTS: dict[type[Operation], type[Operation]] = {
    arith.ExtSIOp: llvm.SExtOp,
    arith.ExtUIOp: llvm.ZExtOp,
    arith.TruncIOp: llvm.TruncOp,
    arith.SIToFPOp: llvm.SIToFPOp,
    arith.UIToFPOp: UIToFPOp,
    arith.FPToSIOp: FPToSIOp,
    arith.FPToUIOp: FPToUIOp,
    arith.BitcastOp: llvm.BitcastOp,
    vector.BitcastOp: llvm.BitcastOp,
}


def lower_plain(code: Code, op: Operation) -> None:
    """%c = arith.muli %a, %b  ->  llvm.mul"""
    bind_same(code, op, PLAIN[type(op)], {})


def lower_floating(code: Code, op: Operation) -> None:
    """%c = arith.mulf %a, %b  ->  llvm.fmul"""
    bind_same(code, op, FLOATING[type(op)], {"fastmathFlags": fast(op)})


def lower_fma(code: Code, op: Operation) -> None:
    """%d = math.fma %a, %b, %c  ->  llvm.intr.fma; a product and a sum where no machine fuses them

    Without the instruction LLVM would call the C library's function for every lane. A factor that
    is known to lie in padding of zeros adds nothing: the sum stays what it was.
    """
    if any(lies_in_zeros(code, factor) for factor in op.operands[:2]):
        code.bind(op.results[0], code.value(op.operands[2]))
        return
    if code.unit.target.fuses:
        bind_same(code, op, llvm.FMAOp, {"fastmathFlags": fast(op)})
        return
    left, right, addend = values(code, op)
    may_fuse = code.unit.target.has(RELAXED)
    properties = {"fastmathFlags": CONTRACT if may_fuse else fast(op)}
    product = code.emit(llvm.FMulOp, (left, right), left.type, properties)
    code.bind(op.results[0], code.emit(llvm.FAddOp, (product, addend), left.type, properties))


def lies_in_zeros(code: Code, factor: SSAValue) -> bool:
    """Return whether a factor is a load with `or 0.0` that is outside its buffer for certain."""
    load = factor.owner
    if not isinstance(load, loop.LoadOp) or load.default is None or scalar_value(load.default):
        return False
    value = code.value(factor)
    return value is code.number(0.0, value.type)


def bind_same(code: Code, op: Operation, kind: type[Operation], properties: Properties) -> None:
    """Let the result be that of an instruction with the operands' type."""
    operands = values(code, op)
    code.bind(op.results[0], code.emit(kind, operands, operands[0].type, properties))


def lower_sum(code: Code, op: Operation) -> None:
    """Sums and differences of indices stay forms; of others they are instructions."""
    result = op.results[0]
    lhs, rhs = op.operands
    if lhs not in code.indices or rhs not in code.indices:
        lower_plain(code, op)
        return
    sign = -1 if isinstance(op, arith.SubiOp) else 1
    code.indices[result] = combine([(code.indices[lhs], 1), (code.indices[rhs], sign)])


def lower_product(code: Code, op: arith.MuliOp) -> None:
    """Multiples of indices stay forms."""
    lhs, rhs = (code.indices.get(operand) for operand in op.operands)
    for by, form in ((lhs, rhs), (rhs, lhs)):
        if by is not None and form is not None and not by.terms:
            code.indices[op.result] = combine([(form, by.constant)])
            return
    lower_plain(code, op)


def lower_intrinsic(code: Code, op: Operation) -> None:
    """%c = arith.maxsi %a, %b  ->  llvm.call_intrinsic "llvm.smax" """
    operands = values(code, op)
    type_ = operands[0].type
    code.bind(op.results[0], intrinsic(code, INTRINSICS[type(op)], operands, type_, fast(op)))


def lower_maximum(code: Code, op: arith.MaximumfOp) -> None:
    """%c = arith.maximumf %a, %b  ->  the larger; NaN if either is"""
    code.bind(op.result, maximum(code, *values(code, op)))


def lower_minimum(code: Code, op: arith.MinimumfOp) -> None:
    """%c = arith.minimumf %a, %b  ->  the smaller; NaN if either is"""
    code.bind(op.result, minimum(code, *values(code, op)))


def lower_number(code: Code, op: arith.MaxnumfOp | arith.MinnumfOp) -> None:
    """%c = arith.maxnumf %a, %b  ->  llvm.call_intrinsic "llvm.maxnum"

    WebAssembly has no such instruction: there it is the larger, or the one that is a number.
    """
    left, right = values(code, op)
    name, extreme = NUMBERS[type(op)]
    if not code.unit.target.adds_offsets:
        code.bind(op.result, intrinsic(code, name, (left, right), left.type, fast(op)))
        return
    both = extreme(code, left, right)
    either = select(code, compare_floats(code, UNORDERED, right, right, EXACT), left, both)
    is_nan = compare_floats(code, UNORDERED, left, left, EXACT)
    code.bind(op.result, select(code, is_nan, right, either))


UNORDERED = 14  # the predicate `uno` of llvm.fcmp
NUMBERS: dict[type[Operation], tuple[str, Combine]] = {
    arith.MaxnumfOp: ("llvm.maxnum", maximum),
    arith.MinnumfOp: ("llvm.minnum", minimum),
}


def lower_with_false(code: Code, op: Operation) -> None:
    """%b = math.absi %a  ->  llvm.call_intrinsic "llvm.abs"(%a, false)"""
    value = code.value(op.operands[0])
    operands = (value, code.number(0, i1))
    code.bind(op.results[0], intrinsic(code, WITH_FALSE[type(op)], operands, value.type, EXACT))


def lower_cast(code: Code, op: Operation) -> None:
    """%b = arith.extsi %a  ->  llvm.sext"""
    source = op.operands[0]
    wanted = code.unit.type_of(op.results[0].type)
    value = code.share(CASTS[type(op)], (code.value(source),), wanted, key=wanted)
    code.bind(op.results[0], value)


def lower_truncation(code: Code, op: arith.FPToSIOp) -> None:
    """%b = arith.fptosi %a  ->  llvm.fptosi;  of a rounded f32 to i32, one instruction does both"""
    rounded, wanted = op.input.owner, code.unit.type_of(op.result.type)
    short = element_type(wanted) == i32 and element_type(op.input.type) == f32
    short = short and code.unit.target.architecture in ROUND_AND_CONVERT
    if not short or not isinstance(rounded, math.RoundEvenOp):
        lower_cast(code, op)
        return
    value = code.value(rounded.operand)
    code.bind(op.result, intrinsic(code, "llvm.lrint", (value,), wanted))


def lower_index_cast(code: Code, op: Operation) -> None:
    """Between index, as wide as a pointer, and an integer of its own width."""
    value = code.value(op.operands[0])
    wanted = code.unit.type_of(op.results[0].type)
    have, want = _bits(value.type), _bits(wanted)
    if have != want:
        kind = llvm.TruncOp if have > want else llvm.SExtOp
        value = code.share(kind, (value,), wanted, key=wanted)
    code.bind(op.results[0], value)


def _bits(type_: Attribute) -> int:
    return numpy_dtype(element_type(type_)).itemsize * 8


def lower_constant(code: Code, op: arith.ConstantOp) -> None:
    """%c = arith.constant  ->  llvm.mlir.constant, or a number inside index forms"""
    value, type_ = op.value, code.unit.type_of(op.result.type)
    if not is_register(type_):
        problem = f"is {op.result.type}, expected a number or a vector with one dimension"
        raise PassFailedException(complaint(op, problem, hint=hint_for(op.result.type)))
    if isinstance(op.result.type, IndexType):
        assert isinstance(value, IntegerAttr)
        code.indices[op.result] = constant_form(value.value.data)
        return
    if isinstance(value, DenseIntOrFPElementsAttr) and isinstance(
        element_type(op.result.type), IndexType
    ):
        code.scalars[op.result] = code.lanes(_index_lanes(value, code.index))
        return
    code.scalars[op.result] = code.constant(value, type_)


def _index_lanes(value: DenseIntOrFPElementsAttr, index: Attribute) -> Array:
    """Return a vector of indices as integers of the machine's width."""
    flat = np.frombuffer(value.data.data, np.int64).astype(numpy_dtype(index))
    return np.broadcast_to(flat, shape_of(value.type)).copy()


def lower_compare_integers(code: Code, op: arith.CmpiOp) -> None:
    """%c = arith.cmpi slt, %a, %b  ->  llvm.icmp "slt" """
    lhs, rhs = values(code, op)
    predicate = IntegerAttr(op.predicate.value.data, i64)
    type_ = bool_like(lhs.type)
    code.bind(op.result, code.emit(llvm.ICmpOp, (lhs, rhs), type_, {"predicate": predicate}))


def lower_compare_floats(code: Code, op: arith.CmpfOp) -> None:
    """%c = arith.cmpf olt, %a, %b  ->  llvm.fcmp "olt" """
    lhs, rhs = values(code, op)
    code.bind(op.result, compare_floats(code, op.predicate.value.data, lhs, rhs, fast(op)))


def lower_select(code: Code, op: Operation) -> None:
    """%d = arith.select %c, %a, %b  ->  llvm.select"""
    code.bind(op.results[0], select(code, *values(code, op)))


def lower_rsqrt(code: Code, op: math.RsqrtOp) -> None:
    """%b = math.rsqrt %a  ->  1 / sqrt(%a)"""
    value = code.value(op.operand)
    root = code.emit(llvm.FSqrtOp, (value,), value.type, {"fastmathFlags": fast(op)})
    operands = (code.number(1.0, value.type), root)
    code.bind(op.result, code.emit(llvm.FDivOp, operands, value.type, {"fastmathFlags": fast(op)}))


RULES: dict[type[Operation], Rule] = {
    **dict.fromkeys(PLAIN, lower_plain),
    **dict.fromkeys(FLOATING, lower_floating),
    **dict.fromkeys(INTRINSICS, lower_intrinsic),
    **dict.fromkeys(WITH_FALSE, lower_with_false),
    **dict.fromkeys(CASTS, lower_cast),
    arith.FPToSIOp: lower_truncation,
    math.FmaOp: lower_fma,
    vector.FMAOp: lower_fma,
    arith.MaxnumfOp: lower_number,
    arith.MinnumfOp: lower_number,
    arith.MaximumfOp: lower_maximum,
    arith.MinimumfOp: lower_minimum,
    arith.AddiOp: lower_sum,
    arith.SubiOp: lower_sum,
    arith.MuliOp: lower_product,
    arith.IndexCastOp: lower_index_cast,
    arith.ConstantOp: lower_constant,
    arith.CmpiOp: lower_compare_integers,
    arith.CmpfOp: lower_compare_floats,
    arith.SelectOp: lower_select,
    math.RsqrtOp: lower_rsqrt,
}
