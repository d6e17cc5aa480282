"""Run a module of any level on arrays."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
from xdsl.dialects.builtin import IntegerAttr, MemRefType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.interpreter import Interpreter
from xdsl.ir import Attribute

from nn_opt.ir.diagnostics import DiagnosticError, complaint
from nn_opt.ir.resources import Array
from nn_opt.ir.types import element_type, is_static, numpy_dtype, shape_of
from nn_opt.reference.meanings import REGISTERED
from nn_opt.reference.tables import functions_of

MEANINGS = {
    "arith": "nn_opt.reference.scalars",
    "func": "nn_opt.reference.functions",
    "gpu": "nn_opt.reference.gpu",
    "graph": "nn_opt.reference.graph",
    "loop": "nn_opt.reference.loop",
    "math": "nn_opt.reference.scalars",
    "tensor": "nn_opt.reference.tensor",
    "vector": "nn_opt.reference.vectors",
}
STRUCTURE = frozenset({"builtin", "sched"})  # never run: modules, and schedules beside the program


def dialects_of(module: ModuleOp) -> set[str]:
    """Return the names of the dialects that a module uses."""
    return {op.name.partition(".")[0] for op in module.walk()}


def can_run(module: ModuleOp) -> bool:
    """Return whether every dialect of a module has a meaning here, or else each op of it."""
    known = MEANINGS.keys() | STRUCTURE
    return dialects_of(module) <= known or all(
        op.name.partition(".")[0] in known or type(op) in REGISTERED for op in module.walk()
    )


def make_interpreter(
    module: ModuleOp, listeners: Sequence[Interpreter.Listener] = ()
) -> Interpreter:
    """Return an interpreter that knows the dialects which the module uses."""
    interpreter = Interpreter(module, listeners=tuple(listeners))
    used = dialects_of(module)
    for name in dict.fromkeys(row for dialect, row in MEANINGS.items() if dialect in used):
        for functions in import_module(name).FUNCTIONS:
            interpreter.register_implementations(functions(), override=True)
    if REGISTERED:
        interpreter.register_implementations(functions_of(REGISTERED)(), override=True)
    return interpreter


def entry_function(module: ModuleOp) -> FuncOp:
    """Return `@main`, else the only function with a body.

    Raises: DiagnosticError if there is no such function.
    """
    functions = [op for op in module.ops if isinstance(op, FuncOp) and op.body.blocks]
    for function in functions:
        if function.sym_name.data == "main":
            return function
    if len(functions) == 1:
        return functions[0]
    names = ", ".join(f"@{function.sym_name.data}" for function in functions) or "none"
    raise DiagnosticError(f"error: no function @main to run; there are: {names}")


def run(
    module: ModuleOp,
    inputs: Sequence[Array],
    *,
    listeners: Sequence[Interpreter.Listener] = (),
) -> list[Array]:
    """Return the results of the entry function.

    Where results are buffers (`num_outputs` last arguments), they are made here, full of NaN.
    Raises: DiagnosticError for inputs of another number or shape.
    """
    function = entry_function(module)
    types = list(function.function_type.inputs)
    count = function.attributes.get("num_outputs")
    outputs: list[Array] = []
    if isinstance(count, IntegerAttr) and count.value.data:
        outputs = [unwritten(type_) for type_ in types[-count.value.data :]]
        types = types[: -count.value.data]
    arguments = _checked(function, types, inputs)
    results = make_interpreter(module, listeners).call_op(function, (*arguments, *outputs))
    return outputs or [np.asarray(result) for result in results]


def unwritten(type_: Attribute) -> Array:
    """Return a buffer of a type whose contents show up as wrong where nothing is written."""
    dtype = numpy_dtype(element_type(type_))
    if dtype.kind in "fV":
        return np.full(shape_of(type_), np.nan, dtype)
    return np.full(shape_of(type_), np.frombuffer(b"\x5a" * dtype.itemsize, dtype)[0], dtype)


def _checked(function: FuncOp, types: Sequence[Attribute], inputs: Sequence[Array]) -> list[Any]:
    if len(types) != len(inputs):
        problem = f"@{function.sym_name.data} takes {len(types)} inputs, {len(inputs)} given"
        raise DiagnosticError(complaint(function, problem))
    return [_argument(function, type_, value) for type_, value in zip(types, inputs, strict=True)]


def _argument(function: FuncOp, type_: Attribute, value: Array) -> Any:
    """Return an input as the dtype of its type, a buffer as a copy, since it may be written."""
    dtype = numpy_dtype(element_type(type_))
    array = np.asarray(value)
    if array.dtype != dtype and array.dtype.itemsize == dtype.itemsize and dtype.kind in "iu":
        array = array.view(dtype)  # ui8 or f8 data below the graph level, which has only bytes
    if not hasattr(type_, "get_shape"):
        return array.astype(dtype)[()]
    if is_static(type_) and array.shape != shape_of(type_):
        problem = f"input has the shape {list(array.shape)}, expected {type_}"
        raise DiagnosticError(complaint(function, problem))
    return array.astype(dtype, copy=isinstance(type_, MemRefType))
