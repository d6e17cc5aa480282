"""Programs for pass tests: parse a text, fill its weights, run it before and after passes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from nn_opt.dialects import graph
from nn_opt.ir.parsing import make_context, parse_module
from nn_opt.ir.types import element_type, numpy_dtype, shape_of
from nn_opt.reference import entry_function, run

Array = NDArray[Any]


def program(text: str, **weights: Array) -> ModuleOp:
    """Return the module of a text; `#graph.resource<"w">` takes the array `w`."""
    module = parse_module(make_context(), text, "test.mlir", weights)
    module.verify()
    return module


def normal(*shape: int, seed: int = 0) -> NDArray[np.float32]:
    """Return seeded N(0, 1) numbers."""
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def inputs_of(module: ModuleOp, seed: int = 7) -> list[Array]:
    """Return seeded inputs of the entry function; floats are N(0, 1)."""
    rng = np.random.default_rng(seed)
    types = entry_function(module).function_type.inputs
    return [rng.standard_normal(shape_of(t)).astype(numpy_dtype(element_type(t))) for t in types]


def apply(module: ModuleOp, *passes: ModulePass) -> None:
    """Run passes; the module verifies after each."""
    for step in passes:
        step.apply(make_context(), module)
        module.verify()


def results_before_and_after(
    module: ModuleOp, *passes: ModulePass, inputs: Sequence[Array] | None = None
) -> list[tuple[Array, Array]]:
    """Return each result of the interpreter before the passes with the one after them."""
    inputs = inputs_of(module) if inputs is None else inputs
    before = run(module, inputs)
    apply(module, *passes)
    return list(zip(before, run(module, inputs), strict=True))


def assert_same(module: ModuleOp, *passes: ModulePass, inputs: Sequence[Array] | None = None):
    """Assert that passes keep every bit of every result."""
    for before, after in results_before_and_after(module, *passes, inputs=inputs):
        assert before.dtype == after.dtype
        np.testing.assert_array_equal(after, before)
        if before.dtype.kind == "f":
            np.testing.assert_array_equal(np.signbit(after), np.signbit(before))


def assert_close(module: ModuleOp, *passes: ModulePass, tolerance: float = 1e-6):
    """Assert that passes keep the results up to norm(difference) / norm(result)."""
    for before, after in results_before_and_after(module, *passes):
        assert before.dtype == after.dtype
        wide = before.astype(np.float64)
        error = np.linalg.norm(after.astype(np.float64) - wide) / np.linalg.norm(wide)
        assert error < tolerance


def op_names(module: ModuleOp) -> list[str]:
    """Return the names of all ops, constants and the structure around them left out."""
    plain = {"builtin.module", "func.func", "func.return", graph.ConstantOp.name}
    return [op.name for op in module.walk() if op.name not in plain]
