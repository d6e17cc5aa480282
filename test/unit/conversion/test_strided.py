"""Vectors whose elements are stored a few places apart: between those of other vectors."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from nn_opt.backends.llvm import print_module
from nn_opt.backends.llvm.object import emit_assembly
from nn_opt.compiler import compile
from nn_opt.ir.parsing import make_context, parse_module
from nn_opt.ir.target import set_target, target_named
from nn_opt.pipelines import expand, run_passes

PIXELS = """
func.func @main(%x: tensor<1x{c}x{h}x{w}xf32>) -> tensor<1x1x{h}x{w}x4x{type}> {{
  %z = graph.cast %x : (tensor<1x{c}x{h}x{w}xf32>) -> tensor<1x{c}x{h}x{w}x{type}>
  %y = graph.layout_transform %z from "NCHW" to "NCHW4c" sizes [1, {c}, {h}, {w}]
    : (tensor<1x{c}x{h}x{w}x{type}>) -> tensor<1x1x{h}x{w}x4x{type}>
  func.return %y : tensor<1x1x{h}x{w}x4x{type}>
}}"""


def pixels(c: int, h: int, w: int, type_: str) -> ModuleOp:
    text = PIXELS.format(c=c, h=h, w=w, type=type_)
    return parse_module(make_context(), text, "pixels")


@pytest.mark.parametrize("type_", ["f32", "bf16"])
@pytest.mark.parametrize(("c", "h", "w"), [(3, 5, 64), (3, 3, 37), (2, 4, 16), (4, 1, 17)])
def test_channels_are_stored_in_turns(c: int, h: int, w: int, type_: str):
    x = np.random.default_rng(0).standard_normal((1, c, h, w)).astype(np.float32)
    expected = np.zeros((1, 1, h, w, 4), np.float32)
    expected[..., :c] = np.moveaxis(x, 1, -1)[:, None]
    if type_ == "bf16":
        expected = expected.astype(ml_dtypes.bfloat16)
    got = compile(pixels(c, h, w, type_), cache=False)(x)
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize(("target", "masked"), [("x86-64-v4", True), ("x86-64-v3", False)])
def test_masks_leave_alone_what_lies_between(target: str, masked: bool):
    module = pixels(3, 4, 64, "f32")
    set_target(module, target)
    run_passes(make_context(), module, expand("compile"))
    assembly = emit_assembly(print_module(module), target_named(target))
    assert ("{%k" in assembly) == masked
