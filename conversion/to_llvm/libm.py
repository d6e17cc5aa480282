"""Functions without an instruction: calls of the C library, lane by lane."""

from __future__ import annotations

from xdsl.dialects import llvm, math
from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type
from xdsl.ir import Attribute, Operation, SSAValue

from nn_opt.conversion.to_llvm.code import Code, Rule
from nn_opt.conversion.to_llvm.halves import extend, truncate
from nn_opt.conversion.to_llvm.values import like, values
from nn_opt.dialects.llvm import ExtractElementOp
from nn_opt.ir.remf import RemFOp
from nn_opt.ir.types import element_type, lanes_of

# The double function's name; the single one's has an `f` behind it.
FUNCTIONS: dict[type[Operation], str] = {
    math.AcosOp: "acos",
    math.AcoshOp: "acosh",
    math.AsinOp: "asin",
    math.AsinhOp: "asinh",
    math.AtanOp: "atan",
    math.AtanhOp: "atanh",
    math.Atan2Op: "atan2",
    math.CbrtOp: "cbrt",
    math.CosOp: "cos",
    math.CoshOp: "cosh",
    math.ErfOp: "erf",
    math.ExpOp: "exp",
    math.Exp2Op: "exp2",
    math.ExpM1Op: "expm1",
    math.LogOp: "log",
    math.Log10Op: "log10",
    math.Log1pOp: "log1p",
    math.Log2Op: "log2",
    math.PowFOp: "pow",
    RemFOp: "fmod",
    math.SinOp: "sin",
    math.SinhOp: "sinh",
    math.TanOp: "tan",
    math.TanhOp: "tanh",
}
HALVES = (Float16Type, BFloat16Type)


def lower_function(code: Code, op: Operation) -> None:
    """%b = math.tan %a  ->  llvm.call @tanf, once for each lane"""
    operands = values(code, op)
    type_ = operands[0].type
    half = isinstance(element_type(type_), HALVES)
    if half:
        operands = [extend(code, value, like(type_, Float32Type())) for value in operands]
    result = call_lanes(code, FUNCTIONS[type(op)], operands)
    code.bind(op.results[0], truncate(code, result, type_) if half else result)


def call_lanes(code: Code, name: str, operands: list[SSAValue]) -> SSAValue:
    """Return the function of scalars, or the vector of it for each lane."""
    type_ = operands[0].type
    lanes = lanes_of(type_)
    if lanes is None:
        return call_scalar(code, name, operands)
    element = element_type(type_)
    result = code.poison(type_)
    for lane in range(lanes):
        at = code.integer(lane)
        picked = [code.emit(ExtractElementOp, (value, at), element) for value in operands]
        value = call_scalar(code, name, picked)
        result = code.emit(llvm.InsertElementOp, (result, value, at), type_)
    return result


def call_scalar(code: Code, name: str, operands: list[SSAValue]) -> SSAValue:
    """Return the C function of scalars."""
    type_: Attribute = operands[0].type
    full = f"{name}f" if isinstance(type_, Float32Type) else name
    code.unit.declare(full, [type_] * len(operands), type_)
    op = llvm.CallOp(full, *operands, return_type=type_)
    op.location = code.location
    code.act(op)
    result = op.results[0]
    code.places[result] = (code.depth, True)
    return result


RULES: dict[type[Operation], Rule] = dict.fromkeys(FUNCTIONS, lower_function)
