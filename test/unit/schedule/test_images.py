"""Padded images are read where they are, or copied; large ones are read in strips."""

from __future__ import annotations

import numpy as np
import pytest
from kernels import random_inputs
from lowering import lowered
from numpy.lib.stride_tricks import sliding_window_view

from nn_opt.dialects.loop import AllocOp
from nn_opt.ir.types import memory_space
from nn_opt.reference import run
from nn_opt.schedule.nest import blocks_in, loops_around


def conv(channels: int, edge: int, filters: int, *, dilation: int = 1) -> str:
    """A 3x3 convolution of a plain image, filters in blocks of 16, padded to keep its size."""
    x, w = f"tensor<{channels}x{edge}x{edge}xf32>", f"tensor<{filters}x{channels}x3x3x16xf32>"
    y, d = f"tensor<{filters}x{edge}x{edge}x16xf32>", dilation
    return f"""
    func.func @conv(%x: {x}, %w: {w}) -> {y} attributes {{kernel}} {{
      %y = tensor.compute "conv" (%fo: {filters}, %p: {edge}, %q: {edge}, %fi: 16)
          reduce fast add (%c: {channels}, %r: 3, %s: 3) : {y} {{
        %a = tensor.read %x[%c, %p + {d} * %r - {d}, %q + {d} * %s - {d}] or 0.0 : {x}
        %k = tensor.read %w[%fo, %c, %r, %s, %fi] : {w}
        %m = arith.mulf %a, %k : f32
        tensor.yield %m : f32
      }}
      func.return %y : {y}
    }}"""


def copies(text: str) -> bool:
    """Return whether anything but the tile gets a buffer."""
    module = lowered(text, "x86-64-v4", "apply-schedule")
    spaces = [memory_space(op.result) for op in module.walk() if isinstance(op, AllocOp)]
    return set(spaces) != {"register"}


@pytest.mark.parametrize(
    ("text", "copied"),
    [
        (conv(2, 40, 1), False),
        (conv(2, 40, 1, dilation=2), False),
        (conv(2, 40, 1, dilation=4), True),  # eight rows of borders: too many for their own code
        (conv(2, 20, 1), True),  # a small image
        (conv(8, 40, 2), True),  # enough work with each element
    ],
    ids=["near", "dilated", "far", "small", "work"],
)
def test_a_padded_image_is_copied_where_borders_cost_more(text: str, copied: bool):
    assert copies(text) is copied


@pytest.mark.parametrize("dilation", [1, 2])
def test_borders_keep_the_numbers(dilation: int):
    text = conv(1, 40, 1, dilation=dilation)
    assert not copies(text)
    x, w = random_inputs(text)
    pad = ((0, 0), (dilation, dilation), (dilation, dilation))
    span = 2 * dilation + 1
    windows = sliding_window_view(np.pad(x.astype(float), pad), (span, span), axis=(1, 2))
    expected = np.einsum("cpqrs,fcrsi->fpqi", windows[..., ::dilation, ::dilation], w)
    (result,) = run(lowered(text, "x86-64-v4", "vectorize-loops"), [x, w])
    np.testing.assert_allclose(result, expected, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize(("edge", "rows"), [(56, 3), (16, None)])
def test_all_filters_read_a_strip_before_the_next(edge: int, rows: int | None):
    module = lowered(conv(64, edge, 4), "x86-64-v4", "apply-schedule")
    block = next(b for b in blocks_in(module) if b.stage.data == "conv")
    trips = [loop.trips for loop in loops_around(block)]
    if rows is None:
        assert trips[:2] == [4, edge]
    else:
        assert trips[0] * trips[2] >= edge
        assert trips[1:3] == [4, rows]
