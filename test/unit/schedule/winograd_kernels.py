"""Winograd convolutions as kernels: text, inputs, and what NumPy makes of them in float64."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from nn_opt.conversion.graph_to_tensor import ConvertGraphToTensorPass
from nn_opt.conversion.tensor_to_loop import ConvertTensorToLoopPass
from nn_opt.dialects.graph.winograd import ALGORITHMS
from nn_opt.ir.parsing import make_context, parse_module
from nn_opt.ir.resources import Array
from nn_opt.reference import run


@dataclass(frozen=True)
class Case:
    """A convolution of `inputs` blocks of channels, plus a residual, then ReLU."""

    tile: int
    rows: int
    columns: int
    pads: tuple[int, int, int, int] = (1, 1, 1, 1)
    batch: int = 1
    inputs: int = 2
    filters: int = 2
    lanes: int = 16

    @property
    def result(self) -> tuple[int, ...]:
        top, left, bottom, right = self.pads
        size = self.rows + top + bottom - 2, self.columns + left + right - 2
        return (self.batch, self.filters, *size, self.lanes)

    def text(self) -> str:
        """Return the module of one kernel."""
        points, lanes = self.tile + 2, self.lanes
        x = _type(self.batch, self.inputs, self.rows, self.columns, lanes)
        w = _type(points, points, self.filters, self.inputs, lanes, lanes)
        y = _type(*self.result)
        layouts = f'layout "NCHW{lanes}c" weight_layout "OIHW{lanes}i{lanes}o"'
        return f"""
func.func @conv(%x: {x}, %w: {w}, %r: {y}) -> {y} attributes {{kernel}} {{
  %y = graph.conv %x, %w strides [1, 1] pads {list(self.pads)} dilations [1, 1] group 1
    {layouts} algorithm "winograd{self.tile}" : ({x}, {w}) -> {y}
  %z = graph.add %y, %r : ({y}, {y}) -> {y}
  %u = graph.relu %z : {y}
  func.return %u : {y}
}}
"""

    def loops(self) -> tuple[Context, ModuleOp]:
        """Return the kernel as plain loop nests."""
        ctx = make_context()
        module = parse_module(ctx, self.text(), "kernel.mlir")
        for step in (ConvertGraphToTensorPass(), ConvertTensorToLoopPass()):
            step.apply(ctx, module)
        return ctx, module

    def arrays(self) -> tuple[Array, Array, Array]:
        """Return seeded x, plain weights [F, C, 3, 3, ci, fi] and residual."""
        rng = np.random.default_rng(5)
        x = (self.batch, self.inputs, self.rows, self.columns, self.lanes)
        w = (self.filters, self.inputs, 3, 3, self.lanes, self.lanes)
        shapes = (x, w, self.result)
        x, w, r = (rng.standard_normal(shape).astype(np.float32) for shape in shapes)
        return x, (w / np.sqrt(9 * self.inputs * self.lanes)).astype(np.float32), r

    def inputs_of_kernel(self) -> list[Array]:
        """Return the kernel's arguments: the weights transformed in float64, rounded once."""
        x, w, r = self.arrays()
        matrix = np.array(ALGORITHMS[f"winograd{self.tile}"].weights)
        u = np.einsum("ar,fcrsio,bs->abfcio", matrix, w.astype(np.float64), matrix)
        return [x, u.astype(np.float32), r]

    def expected(self) -> Array:
        """Return the direct sum in float64."""
        x, w, r = (array.astype(np.float64) for array in self.arrays())
        top, left, bottom, right = self.pads
        padded = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right), (0, 0)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
        return np.maximum(np.einsum("ncpqirs,fcrsio->nfpqo", windows, w) + r, 0)

    def check(self, module: ModuleOp) -> None:
        """Check that a module still computes the convolution; outputs are about N(0, 1)."""
        module.verify()
        (result,) = run(module, self.inputs_of_kernel())
        np.testing.assert_allclose(result, self.expected(), rtol=0, atol=2e-5)


def _type(*shape: int) -> str:
    return f"tensor<{'x'.join(map(str, shape))}xf32>"
