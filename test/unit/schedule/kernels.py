"""Small kernels as tensor text, and the loops they become: what schedules are tried on."""

from __future__ import annotations

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from nn_opt.conversion.tensor_to_loop import ConvertTensorToLoopPass
from nn_opt.ir.parsing import make_context, parse_module
from nn_opt.ir.resources import Array
from nn_opt.ir.types import element_type, numpy_dtype, shape_of
from nn_opt.reference import run

CONV = """
func.func @conv(%x: tensor<1x2x5x7x4xf32>, %w: tensor<3x2x3x3x4x4xf32>, %b: tensor<3x1x1x4xf32>)
    -> tensor<1x3x5x7x4xf32> attributes {kernel} {
  %y = tensor.compute "conv" (%n: 1, %fo: 3, %p: 5, %q: 7, %fi: 4)
      reduce fast add (%co: 2, %r: 3, %s: 3, %ci: 4) : tensor<1x3x5x7x4xf32> {
    %a = tensor.read %x[%n, %co, %p + %r - 1, %q + %s - 1, %ci] or 0.0 : tensor<1x2x5x7x4xf32>
    %k = tensor.read %w[%fo, %co, %r, %s, %ci, %fi] : tensor<3x2x3x3x4x4xf32>
    %m = arith.mulf %a, %k : f32
    tensor.yield %m : f32
  }
  %z = tensor.compute "bias" (%n: 1, %fo: 3, %p: 5, %q: 7, %fi: 4) : tensor<1x3x5x7x4xf32> {
    %a = tensor.read %y[%n, %fo, %p, %q, %fi] : tensor<1x3x5x7x4xf32>
    %c = tensor.read %b[%fo, 0, 0, %fi] : tensor<3x1x1x4xf32>
    %m = arith.addf %a, %c : f32
    tensor.yield %m : f32
  }
  %u = tensor.compute "relu" (%n: 1, %fo: 3, %p: 5, %q: 7, %fi: 4) : tensor<1x3x5x7x4xf32> {
    %a = tensor.read %z[%n, %fo, %p, %q, %fi] : tensor<1x3x5x7x4xf32>
    %c = arith.constant 0.0 : f32
    %m = arith.maximumf %a, %c : f32
    tensor.yield %m : f32
  }
  func.return %u : tensor<1x3x5x7x4xf32>
}
"""
MATMUL = """
func.func @matmul(%x: tensor<6x10xf32>, %w: tensor<10x21xf32>) -> tensor<6x21xf32>
    attributes {kernel} {
  %y = tensor.compute "matmul" (%m: 6, %n: 21) reduce fast add (%k: 10) : tensor<6x21xf32> {
    %a = tensor.read %x[%m, %k] : tensor<6x10xf32>
    %b = tensor.read %w[%k, %n] : tensor<10x21xf32>
    %c = arith.mulf %a, %b : f32
    tensor.yield %c : f32
  }
  func.return %y : tensor<6x21xf32>
}
"""
SUM_2D = """
func.func @sum(%x: tensor<2x3x6x6xf32>) -> tensor<2xf32> attributes {kernel} {
  %y = tensor.compute "sum" (%i: 2) reduce fast add (%j: 3, %k: 6, %m: 6) : tensor<2xf32> {
    %a = tensor.read %x[%i, %j, %k, %m] : tensor<2x3x6x6xf32>
    tensor.yield %a : f32
  }
  func.return %y : tensor<2xf32>
}
"""
PLACES_2D = """
func.func @places(%x: tensor<2x6x18xf32>) -> tensor<2xf32> attributes {kernel} {
  %y = tensor.compute "sum" (%i: 2) reduce fast add (%j: 6, %k: 3, %l: 6) : tensor<2xf32> {
    %a = tensor.read %x[%i, %j, 6 * %k + %l] : tensor<2x6x18xf32>
    %n = arith.addi %j, %j : index
    %m = arith.muli %n, %l : index
    %o = arith.index_cast %m : index to i32
    %f = arith.sitofp %o : i32 to f32
    %b = arith.mulf %a, %f : f32
    tensor.yield %b : f32
  }
  func.return %y : tensor<2xf32>
}
"""
PLACES = """
func.func @places(%x: tensor<3x21xf32>) -> tensor<3xf32> attributes {kernel} {
  %y = tensor.compute "sum" (%i: 3) reduce fast add (%k: 21) : tensor<3xf32> {
    %a = tensor.read %x[%i, %k] : tensor<3x21xf32>
    %n = arith.index_cast %k : index to i32
    %f = arith.sitofp %n : i32 to f32
    %b = arith.mulf %a, %f : f32
    tensor.yield %b : f32
  }
  func.return %y : tensor<3xf32>
}
"""
SOFTMAX = """
func.func @softmax(%x: tensor<3x21xf32>) -> tensor<3x21xf32> attributes {kernel} {
  %m = tensor.compute "max" (%i: 3) reduce fast max (%k: 21) : tensor<3xf32> {
    %a = tensor.read %x[%i, %k] : tensor<3x21xf32>
    tensor.yield %a : f32
  }
  %e = tensor.compute "exp" (%i: 3, %k: 21) : tensor<3x21xf32> {
    %a = tensor.read %x[%i, %k] : tensor<3x21xf32>
    %b = tensor.read %m[%i] : tensor<3xf32>
    %c = arith.subf %a, %b : f32
    %d = math.exp %c : f32
    tensor.yield %d : f32
  }
  %s = tensor.compute "sum" (%i: 3) reduce fast add (%k: 21) : tensor<3xf32> {
    %a = tensor.read %e[%i, %k] : tensor<3x21xf32>
    tensor.yield %a : f32
  }
  %y = tensor.compute "div" (%i: 3, %k: 21) : tensor<3x21xf32> {
    %a = tensor.read %e[%i, %k] : tensor<3x21xf32>
    %b = tensor.read %s[%i] : tensor<3xf32>
    %c = arith.divf %a, %b : f32
    tensor.yield %c : f32
  }
  func.return %y : tensor<3x21xf32>
}
"""
CHAIN = """
func.func @chain(%x: tensor<2x3x7x7xf32>, %w: tensor<3x1x1xf32>) -> tensor<2x3x7x7xf32>
    attributes {kernel} {
  %a = tensor.compute "mul" (%n: 2, %c: 3, %h: 7, %v: 7) : tensor<2x3x7x7xf32> {
    %1 = tensor.read %x[%n, %c, %h, %v] : tensor<2x3x7x7xf32>
    %2 = tensor.read %w[%c, 0, 0] : tensor<3x1x1xf32>
    %3 = arith.mulf %1, %2 : f32
    tensor.yield %3 : f32
  }
  %b = tensor.compute "neg" (%n: 2, %c: 3, %h: 7, %v: 7) : tensor<2x3x7x7xf32> {
    %1 = tensor.read %a[%n, %c, %h, %v] : tensor<2x3x7x7xf32>
    %2 = arith.negf %1 : f32
    tensor.yield %2 : f32
  }
  func.return %b : tensor<2x3x7x7xf32>
}
"""
ORDERED = """
func.func @sum(%x: tensor<4x6xf32>) -> tensor<4xf32> attributes {kernel} {
  %y = tensor.compute "sum" (%i: 4) reduce ordered add (%j: 2, %k: 3) : tensor<4xf32> {
    %a = tensor.read %x[%i, 3 * %j + %k] : tensor<4x6xf32>
    tensor.yield %a : f32
  }
  func.return %y : tensor<4xf32>
}
"""
FAN = """
func.func @fan(%x: tensor<3x21xf32>) -> tensor<3x21xf32> attributes {kernel} {
  %d = tensor.compute "double" (%i: 3, %k: 21) : tensor<3x21xf32> {
    %a = tensor.read %x[%i, %k] : tensor<3x21xf32>
    %b = arith.addf %a, %a : f32
    tensor.yield %b : f32
  }
  %f = tensor.compute "first" (%i: 3) : tensor<3xf32> {
    %a = tensor.read %d[%i, 0] : tensor<3x21xf32>
    tensor.yield %a : f32
  }
  %e = tensor.compute "exp" (%i: 3, %k: 21) : tensor<3x21xf32> {
    %a = tensor.read %d[%i, %k] : tensor<3x21xf32>
    %b = math.exp %a : f32
    tensor.yield %b : f32
  }
  %s = tensor.compute "sum" (%i: 3) reduce fast add (%k: 21) : tensor<3xf32> {
    %a = tensor.read %d[%i, %k] : tensor<3x21xf32>
    tensor.yield %a : f32
  }
  %y = tensor.compute "join" (%i: 3, %k: 21) : tensor<3x21xf32> {
    %a = tensor.read %e[%i, %k] : tensor<3x21xf32>
    %b = tensor.read %s[%i] : tensor<3xf32>
    %c = tensor.read %f[%i] : tensor<3xf32>
    %m = arith.mulf %a, %b : f32
    %n = arith.addf %m, %c : f32
    tensor.yield %n : f32
  }
  func.return %y : tensor<3x21xf32>
}
"""
KERNELS = {"conv": CONV, "matmul": MATMUL, "softmax": SOFTMAX, "chain": CHAIN, "ordered": ORDERED}


def loops(text: str) -> tuple[Context, ModuleOp, FuncOp]:
    """Return the module of a kernel as plain loop nests, and its function."""
    ctx = make_context()
    module = parse_module(ctx, text, "kernel.mlir")
    ConvertTensorToLoopPass().apply(ctx, module)
    function = module.body.block.first_op
    assert isinstance(function, FuncOp)
    return ctx, module, function


def random_inputs(text: str) -> list[Array]:
    """Return seeded arrays for a kernel's arguments."""
    module = parse_module(make_context(), text, "kernel.mlir")
    function = module.body.block.first_op
    assert isinstance(function, FuncOp)
    rng = np.random.default_rng(7)
    return [
        rng.standard_normal(shape_of(type_)).astype(numpy_dtype(element_type(type_)))
        for type_ in function.function_type.inputs
    ]


def expected(text: str) -> Array:
    """Return what a kernel computes, by NumPy in float64."""
    inputs = [array.astype(np.float64) for array in random_inputs(text)]
    return _MEANINGS[text](*inputs)


def _conv(x: Array, w: Array, b: Array) -> Array:
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    return np.maximum(np.einsum("ncpqirs,fcrsio->nfpqo", windows, w) + b, 0)


def _softmax(x: Array) -> Array:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


_MEANINGS = {
    CONV: _conv,
    MATMUL: np.matmul,
    SOFTMAX: _softmax,
    CHAIN: lambda x, w: -(x * w),
    ORDERED: lambda x: x.sum(axis=1),
    SUM_2D: lambda x: x.sum(axis=(1, 2, 3)),
    PLACES_2D: lambda x: np.einsum("ijl,j,l", x, 2 * np.arange(6), np.arange(18) % 6),
    PLACES: lambda x: x @ np.arange(21),
    FAN: lambda x: np.exp(2 * x) * (2 * x).sum(axis=1, keepdims=True) + 2 * x[:, :1],
}


def assert_right(module: ModuleOp, text: str) -> None:
    """Check that a scheduled module still computes the kernel."""
    module.verify()
    (result,) = run(module, random_inputs(text))
    np.testing.assert_allclose(result, expected(text), rtol=2e-5, atol=2e-6)
