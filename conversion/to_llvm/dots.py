"""loop.dot as the instruction that a machine has for it."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import llvm
from xdsl.dialects.builtin import BFloat16Type, Float32Type, IntegerType, ModuleOp, i8, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from nn_opt.conversion.to_llvm.accesses import splat
from nn_opt.conversion.to_llvm.code import Code
from nn_opt.conversion.to_llvm.intrinsics import intrinsic
from nn_opt.dialects import loop
from nn_opt.ir.diagnostics import complaint
from nn_opt.ir.target import DEFAULT, target_of
from nn_opt.ir.types import element_type, shape_of, vector_type

Key = tuple[Attribute, Attribute, int, bool]  # of a, of the sum, lanes, whether a is unsigned


@dataclass(frozen=True)
class Spelling:
    """An intrinsic of LLVM and the type of its operands' elements; a group of `a` is 32 bits."""

    name: str
    element: Attribute
    feature: str


SPELLINGS: dict[Key, Spelling] = {
    (BFloat16Type(), Float32Type(), 16, False): Spelling(
        "llvm.x86.avx512bf16.dpbf16ps.512", BFloat16Type(), "avx512bf16"
    ),
    (i8, IntegerType(32), 16, True): Spelling("llvm.x86.avx512.vpdpbusd.512", i32, "avx512vnni"),
}


def lower_dot(code: Code, op: loop.DotOp) -> None:
    """%d = loop.dot %acc, %a, %b  ->  a call of the machine's intrinsic, `a` in every lane"""
    lanes, group = shape_of(op.acc)[0], op.group
    key = (element_type(op.a), element_type(op.acc), lanes, op.unsigned is not None)
    spelling = SPELLINGS.get(key)
    if spelling is None:
        hint = "use an intrinsic of the schedule, such as dot_bf16x2"
        raise PassFailedException(complaint(op, "no machine has this instruction", hint=hint))
    require_feature(op, spelling.feature)
    count = lanes * group if spelling.element != i32 else lanes
    type_ = vector_type(count, spelling.element)
    operands = (code.value(op.acc), _everywhere(code, op, type_), _as(code, op.b, type_))
    code.bind(op.result, intrinsic(code, spelling.name, operands, op.acc.type))


def require_feature(op: Operation, feature: str) -> None:
    """Refuse an instruction that the module's target has not."""
    module: Operation | None = op
    while module is not None and not isinstance(module, ModuleOp):
        module = module.parent_op()
    target = target_of(module) if module is not None else DEFAULT
    if not target.has(feature):
        hint = "compile for a machine that has it, or in f32"
        problem = f"the target {target.name!r} ({target.cpu}) lacks {feature}"
        raise PassFailedException(complaint(op, problem, hint=hint))


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
