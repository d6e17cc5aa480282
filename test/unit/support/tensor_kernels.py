# ruff: noqa: E501  (lines of IR)
"""Small kernels of each kind on the tensor level, with what they mean in NumPy on float64."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from nn_opt.dialects import loop
from nn_opt.ir.parsing import make_context, parse_module
from nn_opt.ir.types import element_type, numpy_dtype, shape_of
from nn_opt.ir.verify import verify
from nn_opt.reference.running import entry_function

Array = NDArray[Any]


@dataclass(frozen=True)
class Kernel:
    """Text of a module and its meaning: a function of float64 (or integer) arrays."""

    text: str
    meaning: Callable[..., Any]
    least: int = -4  # range of integer inputs
    most: int = 4

    def module(self) -> ModuleOp:
        """Return the parsed module."""
        return parse(self.text)

    def inputs(self, seed: int = 0) -> list[Array]:
        """Return seeded inputs: floats N(0, 1), integers in the kernel's range."""
        rng = np.random.default_rng(seed)
        return [
            self.one(rng, type_) for type_ in entry_function(self.module()).function_type.inputs
        ]

    def one(self, rng: np.random.Generator, type_: Any) -> Array:
        dtype = numpy_dtype(element_type(type_))
        if dtype.kind == "f":
            return rng.standard_normal(shape_of(type_)).astype(dtype)
        return rng.integers(self.least, self.most, size=shape_of(type_)).astype(dtype)

    def expected(self, inputs: Sequence[Array]) -> list[Array]:
        """Return the results in NumPy, floats as float64."""
        wide = [x.astype(np.float64) if x.dtype.kind == "f" else x for x in inputs]
        results = self.meaning(*wide)
        return list(results) if isinstance(results, tuple) else [results]


def parse(text: str) -> ModuleOp:
    """Return the verified module of a text."""
    module = parse_module(make_context(), text, "test.mlir")
    verify(module)
    return module


def apply(module: ModuleOp, *passes: ModulePass) -> ModuleOp:
    """Run passes in place, verifying after each; return the module."""
    for step in passes:
        step.apply(make_context(), module)
        verify(module)
    return module


def assert_results(actual: Sequence[Array], expected: Sequence[Array], tolerance: float = 1e-5):
    """Fail unless results agree; f32 sums of up to 100 N(0, 1) terms are good to 1e-5."""
    assert len(actual) == len(expected)
    for have, want in zip(actual, expected, strict=True):
        np.testing.assert_allclose(have, want, rtol=tolerance, atol=tolerance)


def windows(x: Array, size: int, pad: int, stride: int, fill: float) -> Array:
    """Return [n, c, p, q, size, size] patches of an image."""
    padded = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)), constant_values=fill)
    view = np.lib.stride_tricks.sliding_window_view(padded, (size, size), axis=(2, 3))
    return view[:, :, ::stride, ::stride]


def softmax(x: Array) -> Array:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def blocked(x: Array, w: Array) -> Array:
    n, c, h, v, i = x.shape
    plain = x.transpose(0, 1, 4, 2, 3).reshape(n, c * i, h, v)
    f, g, r, s, _, o = w.shape
    kernel = w.transpose(0, 5, 1, 4, 2, 3).reshape(f * o, g * i, r, s)
    y = np.einsum("ncpqrs,fcrs->nfpq", windows(plain, 3, 1, 1, 0.0), kernel)
    return y.reshape(n, f, o, h, v).transpose(0, 1, 3, 4, 2)


def recurrence(x: Array) -> tuple[Array, Array]:
    h, rows = np.ones(4), []
    for row in x[::-1]:
        h = np.tanh(h[::-1] + row)
        rows.append(h)
    return h, np.array(rows[::-1])


def gather(table: Array, rows: Array) -> Array:
    inside = (rows >= 0) & (rows < len(table))
    return np.where(inside[:, None], table[np.where(inside, rows, 0)], 7.0)


KERNELS = {
    "conv": Kernel(
        """
        func.func @main(%x: tensor<1x3x7x7xf32>, %w: tensor<4x3x3x3xf32>, %b: tensor<4xf32>) -> tensor<1x4x4x4xf32> {
          %c = tensor.compute "conv" (%n: 1, %f: 4, %p: 4, %q: 4) reduce fast add (%c: 3, %r: 3, %s: 3) : tensor<1x4x4x4xf32> {
            %a = tensor.read %x[%n, %c, 2 * %p + %r - 1, 2 * %q + %s - 1] or 0.0 : tensor<1x3x7x7xf32>
            %k = tensor.read %w[%f, %c, %r, %s] : tensor<4x3x3x3xf32>
            %m = arith.mulf %a, %k : f32
            tensor.yield %m : f32
          }
          %zero = tensor.constant dense<0.0> : tensor<f32> to tensor<f32>
          %y = tensor.compute "bias" (%n: 1, %f: 4, %p: 4, %q: 4) : tensor<1x4x4x4xf32> {
            %v = tensor.read %c[%n, %f, %p, %q] : tensor<1x4x4x4xf32>
            %k = tensor.read %b[%f] : tensor<4xf32>
            %z = tensor.read %zero[] : tensor<f32>
            %t = arith.addf %v, %k : f32
            %u = arith.maximumf %t, %z : f32
            tensor.yield %u : f32
          }
          func.return %y : tensor<1x4x4x4xf32>
        }""",
        lambda x, w, b: np.maximum(
            np.einsum("ncpqrs,fcrs->nfpq", windows(x, 3, 1, 2, 0.0), w) + b[:, None, None], 0
        ),
    ),
    "blocked": Kernel(
        """
        func.func @main(%x: tensor<1x2x4x5x8xf32>, %w: tensor<2x2x3x3x8x8xf32>) -> tensor<1x2x4x5x8xf32> {
          %c = tensor.compute "conv" (%n: 1, %fo: 2, %p: 4, %q: 5, %fi: 8) reduce fast add (%co: 2, %r: 3, %s: 3, %ci: 8) : tensor<1x2x4x5x8xf32> {
            %a = tensor.read %x[%n, %co, %p + %r - 1, %q + %s - 1, %ci] or 0.0 : tensor<1x2x4x5x8xf32>
            %k = tensor.read %w[%fo, %co, %r, %s, %ci, %fi] : tensor<2x2x3x3x8x8xf32>
            %m = arith.mulf %a, %k : f32
            tensor.yield %m : f32
          }
          func.return %c : tensor<1x2x4x5x8xf32>
        }""",
        blocked,
    ),
    "depthwise": Kernel(
        """
        func.func @main(%x: tensor<1x3x5x5xf32>, %w: tensor<3x3x3xf32>) -> tensor<1x3x5x5xf32> {
          %c = tensor.compute "conv" (%n: 1, %f: 3, %p: 5, %q: 5) reduce ordered add (%r: 3, %s: 3) : tensor<1x3x5x5xf32> {
            %a = tensor.read %x[%n, %f, %p + %r - 1, %q + %s - 1] or 0.0 : tensor<1x3x5x5xf32>
            %k = tensor.read %w[%f, %r, %s] : tensor<3x3x3xf32>
            %m = arith.mulf %a, %k : f32
            tensor.yield %m : f32
          }
          func.return %c : tensor<1x3x5x5xf32>
        }""",
        lambda x, w: np.einsum("ncpqrs,crs->ncpq", windows(x, 3, 1, 1, 0.0), w),
    ),
    "matmul": Kernel(
        """
        func.func @main(%x: tensor<5x7xf32>, %w: tensor<7x8xf32>) -> tensor<5x8xf32> {
          %c = tensor.compute "matmul" (%m: 5, %n: 8) reduce fast add (%k: 7) : tensor<5x8xf32> {
            %a = tensor.read %x[%m, %k] : tensor<5x7xf32>
            %b = tensor.read %w[%k, %n] : tensor<7x8xf32>
            %p = arith.mulf %a, %b : f32
            tensor.yield %p : f32
          }
          func.return %c : tensor<5x8xf32>
        }""",
        lambda x, w: x @ w,
    ),
    "softmax": Kernel(
        """
        func.func @main(%x: tensor<3x8xf32>) -> tensor<3x8xf32> {
          %top = tensor.compute "top" (%i: 3) reduce fast max (%j: 8) : tensor<3xf32> {
            %a = tensor.read %x[%i, %j] : tensor<3x8xf32>
            tensor.yield %a : f32
          }
          %e = tensor.compute "exp" (%i: 3, %j: 8) : tensor<3x8xf32> {
            %a = tensor.read %x[%i, %j] : tensor<3x8xf32>
            %b = tensor.read %top[%i] : tensor<3xf32>
            %d = arith.subf %a, %b : f32
            %f = math.exp %d : f32
            tensor.yield %f : f32
          }
          %sum = tensor.compute "sum" (%i: 3) reduce fast add (%j: 8) : tensor<3xf32> {
            %a = tensor.read %e[%i, %j] : tensor<3x8xf32>
            tensor.yield %a : f32
          }
          %y = tensor.compute "div" (%i: 3, %j: 8) : tensor<3x8xf32> {
            %a = tensor.read %e[%i, %j] : tensor<3x8xf32>
            %b = tensor.read %sum[%i] : tensor<3xf32>
            %d = arith.divf %a, %b : f32
            tensor.yield %d : f32
          }
          func.return %y : tensor<3x8xf32>
        }""",
        softmax,
    ),
    "pool": Kernel(
        """
        func.func @main(%x: tensor<1x2x6x6xf32>) -> tensor<1x2x3x3xf32> {
          %y = tensor.compute "pool" (%n: 1, %c: 2, %p: 3, %q: 3) reduce fast max (%r: 3, %s: 3) : tensor<1x2x3x3xf32> {
            %a = tensor.read %x[%n, %c, 2 * %p + %r - 1, 2 * %q + %s - 1] or -inf : tensor<1x2x6x6xf32>
            tensor.yield %a : f32
          }
          func.return %y : tensor<1x2x3x3xf32>
        }""",
        lambda x: windows(x, 3, 1, 2, -np.inf)[:, :, :3, :3].max((4, 5)),
    ),
    "gather": Kernel(
        """
        func.func @main(%t: tensor<4x6xf32>, %r: tensor<8xi32>) -> tensor<8x6xf32> {
          %y = tensor.compute "gather" (%i: 8, %j: 6) : tensor<8x6xf32> {
            %a = tensor.read %r[%i] : tensor<8xi32>
            %k = arith.index_cast %a : i32 to index
            %b = tensor.read %t[%k, %j] or 7.0 : tensor<4x6xf32>
            tensor.yield %b : f32
          }
          func.return %y : tensor<8x6xf32>
        }""",
        gather,
        least=-1,
        most=6,
    ),
    "scan": Kernel(
        """
        func.func private @step(%h: tensor<4xf32>, %x: tensor<4xf32>) -> tensor<4xf32> {
          %y = tensor.compute "step" (%i: 4) : tensor<4xf32> {
            %a = tensor.read %h[3 - %i] : tensor<4xf32>
            %b = tensor.read %x[%i] : tensor<4xf32>
            %c = arith.addf %a, %b : f32
            %d = math.tanh %c : f32
            tensor.yield %d : f32
          }
          func.return %y : tensor<4xf32>
        }
        func.func @main(%x: tensor<5x4xf32>) -> (tensor<4xf32>, tensor<5x4xf32>) {
          %h0 = tensor.constant dense<1.0> : tensor<f32> to tensor<4xf32>
          %h, %ys = tensor.scan reverse 1 (%s = %h0 : tensor<4xf32>, %row = %x : tensor<5x4xf32>) -> (tensor<4xf32>, tensor<5x4xf32>) {
            %o = func.call @step(%s, %row) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
            tensor.yield %o, %o : tensor<4xf32>, tensor<4xf32>
          }
          func.return %h, %ys : tensor<4xf32>, tensor<5x4xf32>
        }""",
        recurrence,
    ),
    "swap": Kernel(
        """
        func.func @main(%a: tensor<3xf32>, %b: tensor<3xf32>, %x: tensor<3x3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3x3xf32>) {
          %p, %q, %old = tensor.scan 2 (%s = %a : tensor<3xf32>, %t = %b : tensor<3xf32>, %row = %x : tensor<3x3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3x3xf32>) {
            tensor.yield %t, %s, %s : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
          }
          func.return %p, %q, %old : tensor<3xf32>, tensor<3xf32>, tensor<3x3xf32>
        }""",
        lambda a, b, x: (b, a, np.array([a, b, a])),
    ),
    "argmax": Kernel(
        """
        func.func @main(%x: tensor<5x8xf32>) -> (tensor<5xf32>, tensor<5xi64>) {
          %m, %i = tensor.compute "argmax" (%a: 5) reduce ordered custom (%b: 8) init (-inf, -1) : tensor<5xf32>, tensor<5xi64> {
            %v = tensor.read %x[%a, %b] : tensor<5x8xf32>
            %j = arith.index_cast %b : index to i64
            tensor.yield %v, %j : f32, i64
          } combine {
          ^bb0(%p: f32, %pi: i64, %q: f32, %qi: i64):
            %c = arith.cmpf ogt, %q, %p : f32
            %r = arith.select %c, %q, %p : f32
            %ri = arith.select %c, %qi, %pi : i64
            tensor.yield %r, %ri : f32, i64
          }
          func.return %m, %i : tensor<5xf32>, tensor<5xi64>
        }""",
        lambda x: (x.max(1), x.argmax(1)),
    ),
    "elementwise": Kernel(
        """
        func.func @main(%x: tensor<3x16xf32>, %y: tensor<16xf32>) -> tensor<48xf32> {
          %half = tensor.constant dense<0.5> : tensor<1xf32> to tensor<1xf32>
          %a = tensor.compute "affine" (%i: 3, %j: 16) : tensor<3x16xf32> {
            %u = tensor.read %x[%i, %j] : tensor<3x16xf32>
            %v = tensor.read %y[15 - %j] : tensor<16xf32>
            %h = tensor.read %half[0] : tensor<1xf32>
            %m = math.fma %u, %h, %v : f32
            tensor.yield %m : f32
          }
          %b = tensor.compute "gate" (%i: 3, %j: 16) : tensor<3x16xf32> {
            %u = tensor.read %a[%i, %j] : tensor<3x16xf32>
            %n = arith.negf %u : f32
            %c = arith.cmpf ogt, %u, %n : f32
            %s = arith.select %c, %u, %n : f32
            %r = math.sqrt %s : f32
            tensor.yield %r : f32
          }
          %c = tensor.view %b : tensor<3x16xf32> to tensor<48xf32>
          func.return %c : tensor<48xf32>
        }""",
        lambda x, y: np.sqrt(np.abs(x * 0.5 + y[::-1])).reshape(-1),
    ),
    "quantized": Kernel(
        """
        func.func @main(%x: tensor<3x9xi8>, %w: tensor<9x8xi8>) -> (tensor<3x8xi32>, tensor<3x8xi1>) {
          %y = tensor.compute "dot" (%m: 3, %n: 8) reduce fast add (%k: 9) : tensor<3x8xi32> {
            %a = tensor.read %x[%m, %k] : tensor<3x9xi8>
            %b = tensor.read %w[%k, %n] : tensor<9x8xi8>
            %c = arith.extsi %a : i8 to i32
            %d = arith.extui %b : i8 to i32
            %p = arith.muli %c, %d : i32
            tensor.yield %p : i32
          }
          %least = tensor.compute "sign" (%m: 3, %n: 8) : tensor<3x8xi1> {
            %a = tensor.read %y[%m, %n] : tensor<3x8xi32>
            %j = arith.index_cast %n : index to i32
            %c = arith.cmpi slt, %a, %j : i32
            tensor.yield %c : i1
          }
          func.return %y, %least : tensor<3x8xi32>, tensor<3x8xi1>
        }""",
        lambda x, w: (
            x.astype(np.int32) @ w.view(np.uint8).astype(np.int32),
            x.astype(np.int32) @ w.view(np.uint8).astype(np.int32) < np.arange(8),
        ),
    ),
    "shuffled": Kernel(
        """
        func.func @main(%x: tensor<4x12xf32>) -> tensor<48xf32> {
          %y = tensor.compute "transpose" (%i: 48) : tensor<48xf32> {
            %a = tensor.read %x[%i mod 4, %i floordiv 4] : tensor<4x12xf32>
            tensor.yield %a : f32
          }
          func.return %y : tensor<48xf32>
        }""",
        lambda x: x.T.reshape(-1),
    ),
    "zero_size": Kernel(
        """
        func.func @main(%x: tensor<4x0xf32>, %e: tensor<0x3xf32>) -> (tensor<4xf32>, tensor<0x3xf32>, tensor<3xf32>) {
          %s = tensor.compute "sum" (%i: 4) reduce fast add (%j: 0) : tensor<4xf32> {
            %a = tensor.read %x[%i, %j] : tensor<4x0xf32>
            tensor.yield %a : f32
          }
          %n = tensor.compute "neg" (%i: 0, %j: 3) : tensor<0x3xf32> {
            %a = tensor.read %e[%i, %j] : tensor<0x3xf32>
            %b = arith.negf %a : f32
            tensor.yield %b : f32
          }
          %p = tensor.compute "prod" (%j: 3) reduce fast mul (%i: 0) : tensor<3xf32> {
            %a = tensor.read %e[%i, %j] : tensor<0x3xf32>
            tensor.yield %a : f32
          }
          func.return %s, %n, %p : tensor<4xf32>, tensor<0x3xf32>, tensor<3xf32>
        }""",
        lambda x, e: (np.zeros(4), np.zeros((0, 3)), np.ones(3)),
    ),
    "rank_0": Kernel(
        """
        func.func @main(%x: tensor<f32>, %v: tensor<6xf32>) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
          %s = tensor.compute "sum" () reduce fast add (%i: 6) : tensor<f32> {
            %a = tensor.read %v[%i] : tensor<6xf32>
            tensor.yield %a : f32
          }
          %y = tensor.compute "scale" () : tensor<f32> {
            %a = tensor.read %x[] : tensor<f32>
            %b = tensor.read %s[] : tensor<f32>
            %c = arith.mulf %a, %b : f32
            tensor.yield %c : f32
          }
          func.return %y, %y, %x : tensor<f32>, tensor<f32>, tensor<f32>
        }""",
        lambda x, v: (x * v.sum(), x * v.sum(), x),
    ),
}


def mark_vector_loops(module: ModuleOp) -> int:
    """Mark as vector each innermost loop that some store of its block moves along; count them.

    What a schedule asks for is its own business; this asks wherever lanes make sense.
    """
    marked = 0
    for block in [op for op in module.walk() if isinstance(op, loop.BlockOp)]:
        custom = len([op for op in block.body.block.ops if isinstance(op, loop.StoreOp)]) > 1
        nest = block.parent_op()
        if not isinstance(nest, loop.ForOp) or custom:
            continue
        if block.axis_kinds[-1] is not loop.Kind.SEQ:
            nest.how = loop.ForKind.VECTOR
            marked += 1
    return marked
