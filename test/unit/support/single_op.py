"""One graph op in a function, run as it is and as formulas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.builder import ImplicitBuilder
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Region

from nn_opt.conversion.graph_to_tensor import ConvertGraphToTensorPass
from nn_opt.ir.parsing import make_context
from nn_opt.ir.resources import tensor_type_of
from nn_opt.reference import run

Array = NDArray[Any]
Build = Callable[..., Any]


def module_of(build: Build, *arrays: Array) -> ModuleOp:
    """Return @main with one argument an array, and the results of the op that `build` makes."""
    types = [tensor_type_of(array) for array in arrays]
    block = Block(arg_types=types)
    with ImplicitBuilder(block):
        op = build(*block.args)
        func.ReturnOp(*op.results)
    results = [result.type for result in op.results]
    module = ModuleOp([func.FuncOp("main", (types, results), Region(block))])
    module.verify()
    return module


def convert(module: ModuleOp) -> ModuleOp:
    ConvertGraphToTensorPass().apply(make_context(), module)
    module.verify()
    return module


def before_and_after(build: Build, *arrays: Array) -> tuple[list[Array], list[Array]]:
    """Return the results of the graph and of the formulas, seen as the graph's dtypes."""
    module = module_of(build, *arrays)
    before = run(module, arrays)
    after = run(convert(module), arrays)
    return before, [a.view(b.dtype) for a, b in zip(after, before, strict=True)]


def assert_equal(build: Build, *arrays: Array, rtol: float = 1e-5, atol: float = 1e-6) -> None:
    """Assert that the formulas say what the op says; floats up to rounding, NaN equals NaN."""
    for b, a in zip(*before_and_after(build, *arrays), strict=True):
        assert a.shape == b.shape
        if b.dtype.kind in "iub":
            np.testing.assert_array_equal(a, b)
        else:
            np.testing.assert_allclose(
                a.astype(np.float64), b.astype(np.float64), rtol=rtol, atol=atol
            )
