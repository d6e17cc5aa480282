"""One rule for each type of op: its line of LLVM assembly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from xdsl.dialects import llvm
from xdsl.dialects.builtin import IntegerAttr
from xdsl.dialects.llvm import GEP_USE_SSA_VAL
from xdsl.ir import Attribute, Block, Operation, SSAValue

from nn_opt.backends.llvm.text import LITERALS, Text, then_label
from nn_opt.backends.llvm.words import mangled, symbol, type_word
from nn_opt.dialects.llvm import (
    AtomicRMWOp,
    ExtractElementOp,
    FCmpOp,
    FPToSIOp,
    FPToUIOp,
    GEPOp,
    SelectOp,
    UIToFPOp,
)
from nn_opt.ir.memory import remembered

Rule: TypeAlias = Callable[[Text, Any], str]
LOOP = ", !llvm.loop !0"  # no unrolling, no vectorizing: a schedule has decided

FAST = {"reassoc", "nnan", "ninf", "nsz", "arcp", "contract", "afn"}
BINARY: dict[type[Operation], str] = {
    llvm.AddOp: "add",
    llvm.SubOp: "sub",
    llvm.MulOp: "mul",
    llvm.UDivOp: "udiv",
    llvm.SDivOp: "sdiv",
    llvm.URemOp: "urem",
    llvm.SRemOp: "srem",
    llvm.AndOp: "and",
    llvm.OrOp: "or",
    llvm.XOrOp: "xor",
    llvm.ShlOp: "shl",
    llvm.LShrOp: "lshr",
    llvm.AShrOp: "ashr",
    llvm.FAddOp: "fadd",
    llvm.FSubOp: "fsub",
    llvm.FMulOp: "fmul",
    llvm.FDivOp: "fdiv",
    llvm.FRemOp: "frem",
}
CASTS: dict[type[Operation], str] = {
    llvm.TruncOp: "trunc",
    llvm.ZExtOp: "zext",
    llvm.SExtOp: "sext",
    llvm.BitcastOp: "bitcast",
    llvm.SIToFPOp: "sitofp",
    UIToFPOp: "uitofp",
    FPToSIOp: "fptosi",
    FPToUIOp: "fptoui",
    llvm.FPExtOp: "fpext",
    llvm.FPTruncOp: "fptrunc",
    llvm.IntToPtrOp: "inttoptr",
    llvm.PtrToIntOp: "ptrtoint",
}
# Ops that are calls of an intrinsic overloaded on the result's type.
NAMED: dict[type[Operation], str] = {
    llvm.FAbsOp: "llvm.fabs",
    llvm.FCeilOp: "llvm.ceil",
    llvm.FFloorOp: "llvm.floor",
    llvm.FSqrtOp: "llvm.sqrt",
    llvm.FExpOp: "llvm.exp",
    llvm.FExp2Op: "llvm.exp2",
    llvm.FLogOp: "llvm.log",
    llvm.FLog2Op: "llvm.log2",
    llvm.FSinOp: "llvm.sin",
    llvm.FCosOp: "llvm.cos",
    llvm.FPowOp: "llvm.pow",
    llvm.FMAOp: "llvm.fma",
    llvm.FCopySignOp: "llvm.copysign",
    llvm.VectorFMaxOp: "llvm.maxnum",
    llvm.VectorFMinOp: "llvm.minnum",
}
RESULT = -1
# Intrinsics whose name carries other types than the result's: which operands', in order.
OVERLOADED: dict[str, tuple[int, ...]] = {
    "llvm.masked.load": (RESULT, 0),
    "llvm.masked.store": (0, 1),
    "llvm.masked.gather": (RESULT, 0),
    "llvm.masked.scatter": (0, 1),
    "llvm.memcpy": (0, 1, 2),
    "llvm.memset": (0, 2),
    "llvm.vector.reduce.fadd": (1,),
    "llvm.vector.reduce.fmul": (1,),
    "llvm.ldexp": (RESULT, 1),
    "llvm.lrint": (RESULT, 0),
    "llvm.prefetch": (0,),
    "llvm.stacksave": (RESULT,),
    "llvm.stackrestore": (0,),
    "llvm.x86.avx512bf16.dpbf16ps.512": (),
    "llvm.x86.avx512.vpdpbusd.512": (),
    "llvm.x86.avx512.vpdpbusd.256": (),
    "llvm.x86.avx512.vpdpbusd.128": (),
    "llvm.x86.avx512.pmaddw.d.512": (),
    "llvm.x86.avx2.pmadd.wd": (),
    "llvm.x86.sse2.pmadd.wd": (),
    "llvm.wasm.dot": (),
}
DEVICE = "llvm.nvvm."  # names that say their types themselves
REDUCTION = "llvm.vector.reduce."  # the others of this family carry their operand's type
IMMEDIATE = {"llvm.memcpy", "llvm.memset", "llvm.abs", "llvm.ctlz", "llvm.cttz"}


def binary(p: Text, op: Operation) -> str:
    """%r = add type %a, %b"""
    lhs, rhs = op.operands
    flags = _fast(op) + _wraps(op)
    return p.define(op, f"{BINARY[type(op)]} {flags}{p.typed(lhs)}, {p.name(rhs)}")


def cast(p: Text, op: Operation) -> str:
    """%r = zext type %a to type"""
    source, target = op.operands[0], type_word(op.results[0].type)
    return p.define(op, f"{CASTS[type(op)]} {p.typed(source)} to {target}")


def negate(p: Text, op: llvm.FNegOp) -> str:
    return p.define(op, f"fneg {_fast(op)}{p.typed(op.operands[0])}")


def compare_integers(p: Text, op: llvm.ICmpOp) -> str:
    word = llvm.ICmpPredicateFlag.from_int(op.predicate.value.data).value
    return p.define(op, f"icmp {word} {p.typed(op.lhs)}, {p.name(op.rhs)}")


def compare_floats(p: Text, op: FCmpOp) -> str:
    word = op.word.removeprefix("_")
    return p.define(op, f"fcmp {_fast(op)}{word} {p.typed(op.lhs)}, {p.name(op.rhs)}")


def select(p: Text, op: SelectOp) -> str:
    return p.define(op, f"select {p.all_typed(op.operands)}")


def insert(p: Text, op: llvm.InsertElementOp) -> str:
    return p.define(op, f"insertelement {p.all_typed((op.vector, op.value, op.index))}")


def extract(p: Text, op: ExtractElementOp) -> str:
    return p.define(op, f"extractelement {p.all_typed(op.operands)}")


def shuffle(p: Text, op: llvm.ShuffleVectorOp) -> str:
    picks = list(op.mask.iter_values())
    lanes = ", ".join("i32 poison" if pick < 0 else f"i32 {pick}" for pick in picks)
    mask = f"<{lanes}>" if any(picks) else "zeroinitializer"
    return p.define(op, f"shufflevector {p.all_typed(op.operands)}, <{len(picks)} x i32> {mask}")


def address(p: Text, op: GEPOp) -> str:
    values = iter(op.ssa_indices)
    words = [
        p.typed(next(values)) if index == GEP_USE_SSA_VAL else f"i64 {index}"
        for index in op.rawConstantIndices.iter_values()
    ]
    flags = "".join(f"{flag} " for flag in op.flags)
    start = f"getelementptr {flags}{type_word(op.elem_type)}, {p.typed(op.ptr)}"
    return p.define(op, ", ".join([start, *words]))


def load(p: Text, op: llvm.LoadOp) -> str:
    word = type_word(op.dereferenced_value.type)
    return p.define(op, f"load {word}, {p.typed(op.ptr)}{_aligned(op.alignment)}")


def store(p: Text, op: llvm.StoreOp) -> str:
    return f"  store {p.typed(op.value)}, {p.typed(op.ptr)}{_aligned(op.alignment)}"


def atomic(p: Text, op: AtomicRMWOp) -> str:
    word = op.kind.removeprefix("_")
    return p.define(op, f"atomicrmw {word} {p.typed(op.ptr)}, {p.typed(op.val)} {op.order}")


def allocate(p: Text, op: llvm.AllocaOp) -> str:
    word = type_word(op.elem_type)
    return p.define(op, f"alloca {word}, {p.typed(op.size)}{_aligned(op.alignment)}")


def named_intrinsic(p: Text, op: Operation) -> str:
    return _call_intrinsic(p, op, NAMED[type(op)], op.operands)


def intrinsic(p: Text, op: llvm.CallIntrinsicOp) -> str:
    return _call_intrinsic(p, op, op.intrin.data, op.args)


def call(p: Text, op: llvm.CallOp) -> str:
    result = type_word(op.returned.type) if op.returned is not None else "void"
    if op.callee is None:
        function, arguments = p.name(op.args[0]), op.args[1:]
    else:
        function, arguments = symbol(op.callee.string_value()), op.args
    text = f"call {result} {function}({p.all_typed(arguments)})"
    return p.define(op, text) if op.returned is not None else f"  {text}"


def jump(p: Text, op: llvm.BrOp) -> str:
    return f"  br label %{p.label(op.successor)}{_loop(p, op, op.successor)}"


def branch(p: Text, op: llvm.CondBrOp) -> str:
    assert op.parent is not None
    then, otherwise = p.label(op.then_block), p.label(op.else_block)
    condition = p.typed(op.cond)
    if op.then_block is op.else_block:
        edge = then_label(op, p.label(op.parent))
        taken = f"{edge}:\n  br label %{then}"
        return f"  br {condition}, label %{edge}, label %{otherwise}\n{taken}"
    closing = _loop(p, op, op.then_block) or _loop(p, op, op.else_block)
    return f"  br {condition}, label %{then}, label %{otherwise}{closing}"


def give_back(p: Text, op: llvm.ReturnOp) -> str:
    return f"  ret {p.typed(op.operands[0])}" if op.operands else "  ret void"


def unreachable(p: Text, op: llvm.UnreachableOp) -> str:
    return "  unreachable"


def in_place(p: Text, op: Operation) -> str:
    """Constants are written where they are used."""
    return ""


def _call_intrinsic(p: Text, op: Operation, base: str, values: Sequence[SSAValue]) -> str:
    result = type_word(op.results[0].type) if op.results else "void"
    name = symbol(base + "".join(f".{mangled(t)}" for t in _overload(op, base, values)))
    if name not in p.declarations:
        types = [type_word(value.type) for value in values]
        if base in IMMEDIATE:
            types[-1] = f"{types[-1]} immarg"
        p.declarations[name] = f"declare {result} {name}({', '.join(types)})"
    text = f"call {_fast(op)}{result} {name}({p.all_typed(values)})"
    return p.define(op, text) if op.results else f"  {text}"


def _overload(op: Operation, base: str, values: Sequence[SSAValue]) -> list[Attribute]:
    """Return the types that an intrinsic's name carries."""
    if base.startswith(DEVICE):
        return []
    default = (0,) if base.startswith(REDUCTION) else (RESULT,)
    which = OVERLOADED.get(base, default)
    return [op.results[0].type if k == RESULT else values[k].type for k in which]


def _fast(op: Operation) -> str:
    flags = op.properties.get("fastmathFlags")
    return "" if flags is None else _fast_words(flags)


@remembered
def _fast_words(flags: Attribute) -> str:
    if not isinstance(flags, llvm.FastMathAttr) or not flags.data:
        return ""
    words = [flag.value for flag in flags.data]
    return "fast " if set(words) >= FAST else "".join(f"{word} " for word in sorted(words))


def _wraps(op: Operation) -> str:
    flags = op.properties.get("overflowFlags")
    return "" if flags is None else _wrap_words(flags)


@remembered
def _wrap_words(flags: Attribute) -> str:
    if not isinstance(flags, IntegerAttr):
        return ""
    return "".join(f"{word} " for bit, word in ((1, "nsw"), (2, "nuw")) if flags.value.data & bit)


def _aligned(alignment: IntegerAttr[Any] | None) -> str:
    return f", align {alignment.value.data}" if alignment is not None else ""


def _loop(p: Text, op: Operation, target: Block) -> str:
    return LOOP if p.is_backward(op, target) else ""


RULES: dict[type[Operation], Rule] = {
    **dict.fromkeys(BINARY, binary),
    **dict.fromkeys(CASTS, cast),
    **dict.fromkeys(NAMED, named_intrinsic),
    **dict.fromkeys([*LITERALS, llvm.ConstantOp, llvm.AddressOfOp], in_place),
    llvm.FNegOp: negate,
    llvm.ICmpOp: compare_integers,
    FCmpOp: compare_floats,
    SelectOp: select,
    llvm.InsertElementOp: insert,
    ExtractElementOp: extract,
    llvm.ShuffleVectorOp: shuffle,
    GEPOp: address,
    llvm.LoadOp: load,
    llvm.StoreOp: store,
    llvm.AllocaOp: allocate,
    AtomicRMWOp: atomic,
    llvm.CallIntrinsicOp: intrinsic,
    llvm.CallOp: call,
    llvm.BrOp: jump,
    llvm.CondBrOp: branch,
    llvm.ReturnOp: give_back,
    llvm.UnreachableOp: unreachable,
}
