"""The README's schedule applies to the kernel that it speaks of, and goes all the way down."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from nn_opt.ir.parsing import make_context, parse_module
from nn_opt.ir.resources import Array
from nn_opt.reference import run
from nn_opt.registry import load_pass

README = Path(__file__).resolve().parents[3] / "README.md"
IMAGE, FILTER = "tensor<1x2x3x28x16xf32>", "tensor<2x2x3x3x16x16xf32>"
KERNEL = f"""
func.func @conv_relu_0(%x: {IMAGE}, %w: {FILTER}) -> {IMAGE} attributes {{kernel}} {{
  %y = graph.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] group 1
    layout "NCHW16c" weight_layout "OIHW16i16o" : ({IMAGE}, {FILTER}) -> {IMAGE}
  %z = graph.relu %y : {IMAGE}
  func.return %z : {IMAGE}
}}
"""
DOWN = (
    *("apply-schedule", "lower-blocks", "flatten-accesses", "partition-loops"),
    *("compact-buffers", "vectorize-loops"),
)


def scheduled() -> ModuleOp:
    """Return the kernel's loops with the README's script beside them."""
    (script,) = re.findall(r"```mlir\n(sched\.script.*?)```", README.read_text(), flags=re.S)
    ctx = make_context()
    module = parse_module(ctx, KERNEL, "kernel.mlir")
    for name in ("convert-graph-to-tensor", "convert-tensor-to-loop"):
        load_pass(name)().apply(ctx, module)
    return parse_module(ctx, f"{module.body.block.first_op!s}\n{script}", "README.md")


def inputs() -> list[Array]:
    rng = np.random.default_rng(0)
    return [
        rng.standard_normal((1, 2, 3, 28, 16)).astype(np.float32),
        rng.standard_normal((2, 2, 3, 3, 16, 16)).astype(np.float32),
    ]


def expected(x: Array, w: Array) -> Array:
    """Return the convolution and ReLU, by NumPy in float64."""
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (1, 1), (1, 1), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    return np.maximum(np.einsum("ncpqirs,fcrsio->nfpqo", windows, w), 0)


def test_readme_schedule_keeps_the_numbers_at_every_stage():
    module, ctx = scheduled(), make_context()
    want = expected(*inputs())
    for name in DOWN:
        load_pass(name)().apply(ctx, module)
        (got,) = run(module, inputs())
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


def test_readme_schedule_becomes_vectors_in_registers():
    module, ctx = scheduled(), make_context()
    for name in (*DOWN, "plan-memory", "convert-loop-to-llvm"):
        load_pass(name)().apply(ctx, module)
    assert "llvm.intr.fma" in str(module)
    assert "vector<16xf32>" in str(module)
