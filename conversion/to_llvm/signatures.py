"""What functions may take and return before they become code: buffers, numbers and vectors."""

from __future__ import annotations

from collections.abc import Container, Iterator

from xdsl.dialects import func
from xdsl.dialects.builtin import (
    AnyFloat,
    IndexType,
    IntegerType,
    MemRefType,
    NoneAttr,
    TensorType,
    VectorType,
)
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import PassFailedException
from xdsl.utils.hints import isa

from nn_opt.conversion.to_llvm.code import no_rule
from nn_opt.ir.diagnostics import Complaints, Diagnostic, diagnose
from nn_opt.ir.types import shape_of

FIRST = "run --convert-tensor-to-loop first"


def is_register(type_: Attribute) -> bool:
    """Return whether a type is that of a number or of a vector with one dimension."""
    if isa(type_, VectorType):
        return len(shape_of(type_)) == 1
    return isinstance(type_, IntegerType | IndexType | AnyFloat)


def is_buffer(type_: Attribute) -> bool:
    """Return whether a type is a buffer of known size, its elements one after the other."""
    if not isa(type_, MemRefType) or not isinstance(type_.layout, NoneAttr):
        return False
    return -1 not in shape_of(type_)


def require_buffers(
    functions: list[func.FuncOp], entry: func.FuncOp | None, rules: Container[type[Operation]]
) -> None:
    """Check what functions take and return; `entry` takes nothing but buffers.

    Raises: PassFailedException that names all that is wrong, or an op of an earlier level.
    """
    problems = [found for op in functions for found in _problems(op, op is entry)]
    if problems:
        for function in functions:
            for op in function.body.walk():
                if type(op) not in rules:
                    raise no_rule(op)
        raise PassFailedException(Complaints(problems))


def _problems(function: func.FuncOp, entry: bool) -> Iterator[Diagnostic]:
    wanted = "a buffer" if entry else "a buffer, a number or a vector"
    for k, type_ in enumerate(function.function_type.inputs):
        if not is_buffer(type_) and (entry or not is_register(type_)):
            problem = f"argument #{k} is {type_}, expected {wanted}"
            yield diagnose(function, problem, hint=hint_for(type_))
    if outputs := function.function_type.outputs.data:
        problem = f"returns {', '.join(map(str, outputs))}, expected results in buffers"
        yield diagnose(function, problem, hint=FIRST)


def hint_for(type_: Attribute) -> str:
    """Return what to do about a type that no value may have here."""
    if isinstance(type_, MemRefType):
        return "buffers have a known size and no layout of their own"
    if isinstance(type_, TensorType):
        return FIRST
    if isinstance(type_, VectorType):
        return "the lanes of a vector lie along one dimension"
    return "pass it in a buffer, such as memref<f32>"
