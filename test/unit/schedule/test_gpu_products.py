"""Matrix products on GPUs: right in the interpreter's threads, without races, and on a device."""

from __future__ import annotations

import numpy as np
import pytest
import tools
from opencl import run_opencl
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from nn_opt.dialects.loop import ForOp
from nn_opt.ir.parsing import make_context, parse_module
from nn_opt.ir.resources import Array
from nn_opt.ir.target import set_target
from nn_opt.ir.types import element_type, numpy_dtype, shape_of
from nn_opt.pipelines import expand
from nn_opt.reference import run


def matmul(x: str, w: str, y: str, dtype: str = "f32", after: str = "") -> str:
    a, b, c = (f"tensor<{shape}x{dtype}>" for shape in (x, w, y))
    return f"""
func.func @main(%x: {a}, %w: {b}, %r: {c}) -> {c} {{
  %a = graph.matmul %x, %w : ({a}, {b}) -> {c}
  {after or f"%y = graph.add %a, %r : ({c}, {c}) -> {c}"}
  func.return %y : {c}
}}
"""


def conv(x: str, w: str, y: str, filters: int, how: str) -> str:
    a, b, c = (f"tensor<{shape}xf32>" for shape in (x, w, y))
    types = f"({a}, {b}, tensor<{filters}xf32>) -> {c}"
    return f"""
func.func @main(%x: {a}, %w: {b}, %b: tensor<{filters}xf32>) -> {c} {{
  %a = graph.conv %x, %w, %b {how} : {types}
  %y = graph.relu %a : {c}
  func.return %y : {c}
}}
"""


def window(stride: int, pad: int, dilation: int, group: int = 1) -> str:
    pads = ", ".join([str(pad)] * 4)
    both = f"strides [{stride}, {stride}] pads [{pads}] dilations [{dilation}, {dilation}]"
    return f"{both} group {group}"


TRANSPOSED = """
func.func @main(%x: tensor<9x12xf32>, %w: tensor<10x12xf32>) -> tensor<9x10xf32> {
  %t = graph.transpose %w perm [1, 0] : (tensor<10x12xf32>) -> tensor<12x10xf32>
  %y = graph.matmul %x, %t : (tensor<9x12xf32>, tensor<12x10xf32>) -> tensor<9x10xf32>
  func.return %y : tensor<9x10xf32>
}
"""
KERNELS = {
    "odd sizes": matmul("7x13", "13x11", "7x11"),
    "whole vectors": matmul("8x16", "16x36", "8x36"),
    "batches": matmul("2x3x9x5", "2x1x5x6", "2x3x9x6"),
    "rows of batches": matmul("2x3x5", "5x8", "2x3x8"),
    "transposed": TRANSPOSED,
    "f64": matmul("5x6", "6x8", "5x8", "f64"),
    "conv 3x3": conv("1x3x6x7", "5x3x3x3", "1x5x6x7", 5, window(1, 1, 1)),
    "conv stride 2": conv("2x4x7x7", "6x4x3x3", "2x6x4x4", 6, window(2, 1, 1)),
    "conv dilated": conv("1x3x8x8", "4x3x3x3", "1x4x8x8", 4, window(1, 2, 2)),
    "conv 1x1": conv("1x8x4x4", "12x8x1x1", "1x12x4x4", 12, window(1, 0, 1)),
}


def inputs_of(text: str) -> list[Array]:
    main = parse_module(make_context(), text, "product.mlir").body.block.first_op
    assert isinstance(main, FuncOp)
    rng = np.random.default_rng(3)
    return [
        rng.standard_normal(shape_of(type_)).astype(numpy_dtype(element_type(type_)))
        for type_ in main.function_type.inputs
    ]


def lowered(text: str, pipeline: str, target: str = "opencl") -> ModuleOp:
    ctx = make_context()
    module = parse_module(ctx, text, "product.mlir")
    set_target(module, target)
    for name in ("fuse-ops", *pipeline.split()):
        for step in expand(name):
            step.apply(ctx, module)
    module.verify()
    return module


def expected(text: str) -> Array:
    """Return what the graph means, from inputs in double precision."""
    text = text.replace("xf32", "xf64")
    module = parse_module(make_context(), text, "product.mlir")
    (result,) = run(module, [array.astype(np.float64) for array in _as_stored(text)])
    return result


def _as_stored(text: str) -> list[Array]:
    return inputs_of(text.replace("xf64", "xf32"))


def assert_close(result: Array, text: str) -> None:
    np.testing.assert_allclose(result, expected(text), rtol=2e-5, atol=2e-5)


@pytest.fixture(scope="module")
def kernels() -> dict[str, ModuleOp]:
    return {name: lowered(text, "lower-to-loops lower-to-gpu") for name, text in KERNELS.items()}


@pytest.mark.parametrize("name", ["odd sizes", "batches", "conv stride 2"])
def test_scheduled_loops_keep_the_result(name: str):
    module = lowered(KERNELS[name], "lower-to-loops")
    assert any(isinstance(op, ForOp) and op.how.is_thread for op in module.walk())
    assert_close(run(module, _as_stored(KERNELS[name]))[0], KERNELS[name])


@pytest.mark.parametrize("name", ["odd sizes", "conv 3x3"])
def test_threads_of_a_block_do_not_race(name: str, kernels: dict[str, ModuleOp]):
    assert_close(run(kernels[name], _as_stored(KERNELS[name]))[0], KERNELS[name])


@tools.needs("opencl")
@pytest.mark.parametrize("name", KERNELS)
def test_a_device_computes_it(name: str, kernels: dict[str, ModuleOp]):
    arrays = inputs_of(KERNELS[name])
    assert_close(run_opencl(kernels[name], arrays)[0], KERNELS[name])
