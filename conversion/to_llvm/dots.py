"""loop.dot as the instruction that a machine has for it, or as shorter sums that all have."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float32Type,
    IntegerType,
    i8,
    i16,
    i32,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from nn_opt.conversion.to_llvm.accesses import splat
from nn_opt.conversion.to_llvm.code import Code
from nn_opt.conversion.to_llvm.intrinsics import intrinsic
from nn_opt.dialects import loop
from nn_opt.ir.diagnostics import complaint
from nn_opt.ir.types import element_type, shape_of, vector_type

Key = tuple[Attribute, Attribute, int, bool]  # of a, of the sum, lanes, whether a is unsigned
BYTES = 4  # that a 32-bit lane holds


@dataclass(frozen=True)
class Spelling:
    """An intrinsic of LLVM and the type of its operands' elements; a group of `a` is 32 bits."""

    name: str
    element: Attribute
    features: tuple[str, ...]  # any of which suffices


I32 = IntegerType(32)
VNNI = ("avx512vnni",)
SHORT_VNNI = ("avx512vnni", "avxvnni")
SPELLINGS: dict[Key, Spelling] = {
    (BFloat16Type(), Float32Type(), 16, False): Spelling(
        "llvm.x86.avx512bf16.dpbf16ps.512", BFloat16Type(), ("avx512bf16",)
    ),
    (i8, I32, 16, True): Spelling("llvm.x86.avx512.vpdpbusd.512", i32, VNNI),
    (i8, I32, 8, True): Spelling("llvm.x86.avx512.vpdpbusd.256", i32, SHORT_VNNI),
    (i8, I32, 4, True): Spelling("llvm.x86.avx512.vpdpbusd.128", i32, SHORT_VNNI),
}
PAIRS = {  # sums of two products of 16 bits, which every x86 has for its vectors
    ("x86_64", 16): "llvm.x86.avx512.pmaddw.d.512",
    ("x86_64", 8): "llvm.x86.avx2.pmadd.wd",
    ("x86_64", 4): "llvm.x86.sse2.pmadd.wd",
    ("wasm32", 4): "llvm.wasm.dot",
}


def lower_dot(code: Code, op: loop.DotOp) -> None:
    """%d = loop.dot %acc, %a, %b  ->  a call of the machine's intrinsic, `a` in every lane"""
    lanes, group = shape_of(op.acc)[0], op.group
    element, unsigned = element_type(op.a), op.unsigned is not None
    spelling = SPELLINGS.get((element, element_type(op.acc), lanes, unsigned))
    target = code.unit.target
    if spelling is not None and any(target.has(feature) for feature in spelling.features):
        count = lanes * group if spelling.element != i32 else lanes
        type_ = vector_type(count, spelling.element)
        operands = (code.value(op.acc), _everywhere(code, op, type_), _as(code, op.b, type_))
        code.bind(op.result, intrinsic(code, spelling.name, operands, op.acc.type))
    elif unsigned and group == BYTES and element == i8:
        sum_of = _by_pairs if (target.architecture, lanes) in PAIRS else _by_bytes
        code.bind(op.result, sum_of(code, op, lanes))
    elif spelling is None:
        hint = "use an intrinsic of the schedule, such as dot_bf16x2"
        raise PassFailedException(complaint(op, "no machine has this instruction", hint=hint))
    else:
        hint = "compile for a machine that has it, or in f32"
        lacks = " or ".join(spelling.features)
        problem = f"the target {target.name!r} ({target.cpu}) lacks {lacks}"
        raise PassFailedException(complaint(op, problem, hint=hint))


def _by_pairs(code: Code, op: loop.DotOp, lanes: int) -> SSAValue:
    """Sum the products of even bytes, then those of odd ones, each byte widened to 16 bits."""
    halves, whole = vector_type(2 * lanes, i16), vector_type(lanes, i32)
    eight = code.number(8, halves)
    left, right = _everywhere(code, op, halves), _as(code, op.b, halves)
    evens = (
        _half(code, llvm.AndOp, left, code.number(255, halves)),
        _half(code, llvm.AShrOp, _half(code, llvm.ShlOp, right, eight), eight),
    )
    odds = _half(code, llvm.LShrOp, left, eight), _half(code, llvm.AShrOp, right, eight)
    total, key = code.value(op.acc), (code.unit.target.architecture, lanes)
    for factors in (evens, odds):
        pair = intrinsic(code, PAIRS[key], factors, whole)
        total = code.emit(llvm.AddOp, (total, pair), whole)
    return total


def _by_bytes(code: Code, op: loop.DotOp, lanes: int) -> SSAValue:
    """Widen one byte of each lane after the other to 32 bits, multiply and add."""
    whole = vector_type(lanes, i32)
    left, right = _everywhere(code, op, whole), _as(code, op.b, whole)
    total, top = code.value(op.acc), code.number(24, whole)
    for byte in range(BYTES):
        a = _half(code, llvm.LShrOp, left, code.number(8 * byte, whole))
        a = _half(code, llvm.AndOp, a, code.number(255, whole))
        b = _half(code, llvm.ShlOp, right, code.number(24 - 8 * byte, whole))
        b = _half(code, llvm.AShrOp, b, top)
        product = code.emit(llvm.MulOp, (a, b), whole)
        total = code.emit(llvm.AddOp, (total, product), whole)
    return total


def _half(code: Code, kind: type[Operation], left: SSAValue, right: SSAValue) -> SSAValue:
    """Return a part of each lane, which other dots with the same vector share."""
    return code.share(kind, (left, right), left.type)


def _everywhere(code: Code, op: loop.DotOp, type_: Attribute) -> SSAValue:
    """Return the group of `a` on every lane, as one 32-bit number that is repeated."""
    lanes = shape_of(op.acc)[0]
    one = code.share(llvm.BitcastOp, (code.value(op.a),), i32, key=i32)
    every = splat(code, one, vector_type(lanes, i32))
    return every if every.type == type_ else code.share(llvm.BitcastOp, (every,), type_, key=type_)


def _as(code: Code, source: SSAValue, type_: Attribute) -> SSAValue:
    value = code.value(source)
    return value if value.type == type_ else code.share(llvm.BitcastOp, (value,), type_, key=type_)


RULES = {loop.DotOp: lower_dot}
