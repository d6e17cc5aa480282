"""No default schedule wants more vector registers than a machine has, save where that is stated.

A sum that goes to the stack and back costs more than what the schedule gains. LLVM says in its
assembly what it spilled; the kinds of kernels are those that `default_schedule` tells apart.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from bench.models.layers import Value, Writer
from bench.operators import conv, depthwise, matmul, pointwise
from bench.sweep import convolution, pool
from nn_opt.backends.llvm import print_module
from nn_opt.backends.llvm.object import emit_assembly
from nn_opt.frontends.onnx import import_model
from nn_opt.ir.parsing import make_context
from nn_opt.ir.target import set_target, target_named
from nn_opt.pipelines import expand, run_passes

Layer = Callable[[Writer], Value]
TARGETS = ("x86-64-v4", "x86-64-v3", "neon")
SPILL = re.compile(r"(Spill|Reload)$")
VECTOR = re.compile(r"%[xyz]mm\d|\b[qv]\d+\b")


def between(shape: tuple[int, ...], layer: Callable[[Writer, Value], Value]) -> Layer:
    """Return a layer between convolutions, where channels are in blocks."""

    def write(w: Writer) -> Value:
        y = layer(w, w.relu(w.conv(w.input("x", shape), shape[1], 1)))
        return w.conv(w.relu(y), 16, 1)

    return write


def channelwise(size: int, stride: int) -> Callable[[Writer, Value], Value]:
    return lambda w, y: w.conv(y, y.shape[1], size, stride=stride, groups=y.shape[1])


def gated(w: Writer) -> Value:
    """A few steps of a GRU."""
    weights, recurrent = w.normal((1, 192, 64), 0.1), w.normal((1, 192, 64), 0.1)
    x = w.input("x", (4, 1, 64))
    return w.node("GRU", x, weights, recurrent, shape=(4, 1, 1, 64), hidden_size=64)


def normalized(w: Writer) -> Value:
    scale, shift = w.uniform(256, 0.5, 1.5, "scale"), w.uniform(256, -0.1, 0.1, "shift")
    return w.like("LayerNormalization", w.input("x", (16, 256)), scale, shift, axis=-1)


LAYERS: dict[str, Layer] = {
    "1x1": conv(14, 64, 64, 1),
    "1x1 short rows": conv(7, 64, 64, 1),
    "3x3": conv(28, 32, 32, 3, stride=2),
    "3x3 short rows": conv(7, 32, 32, 3, stride=2),
    "dilated": convolution((1, 32, 28, 28), 32, (3, 3), dilation=2),
    "groups": convolution((1, 32, 28, 28), 32, (3, 3), groups=4),
    "3-D": convolution((1, 16, 8, 12, 12), 16, (3, 3, 3)),
    "stem 7x7": conv(56, 3, 32, 7, stride=2),
    "stem 3x3": conv(56, 3, 32, 3, stride=2),
    "winograd": conv(28, 64, 64, 3),
    "winograd, tiles over the edge": conv(13, 64, 64, 3),
    "depthwise 3x3": between((1, 32, 28, 28), channelwise(3, 1)),
    "depthwise 3x3 s2": between((1, 32, 28, 28), channelwise(3, 2)),
    "depthwise 3x3 short rows": between((1, 32, 7, 7), channelwise(3, 1)),
    "depthwise 5x5": between((1, 32, 28, 28), channelwise(5, 1)),
    "depthwise 5x5 s2": between((1, 32, 28, 28), channelwise(5, 2)),
    "depthwise along rows": depthwise(56, 16),
    "depthwise along rows s2": depthwise(56, 16, stride=2),
    "pooling": between((1, 32, 28, 28), lambda w, y: w.max_pool(y, 3, 2, pad=1)),
    "pooling along rows": pool("MaxPool", (1, 16, 57, 57), 3, 2),
    "matmul": matmul(64, 128, 96),
    "matmul of a vector": matmul(1, 256, 256),
    "matmul of odd sizes": matmul(17, 63, 37),
    "softmax": pointwise("Softmax", 64, 96, axis=-1),
    "softmax of uneven rows": pointwise("Softmax", 64, 197, axis=-1),
    "log softmax of long uneven rows": pointwise("LogSoftmax", 7, 1001, axis=-1),
    "layer norm": normalized,
    "element-wise": pointwise("Tanh", 1024),
    "element-wise, two branches": pointwise("Erf", 1024),
    "recurrent step": gated,
}
# What is stated, and why: a tile of F(4, 3) is 36 vectors, of which no machine has as many
# registers (it is transformed once, and then serves all filters); and the polynomials of functions
# at the end of a row or tile overlap.
STATED: dict[tuple[str, str], int] = {
    ("winograd", "x86-64-v4"): 96,
    ("winograd", "x86-64-v3"): 300,
    ("winograd", "neon"): 240,
    ("winograd, tiles over the edge", "x86-64-v4"): 36,
    ("winograd, tiles over the edge", "x86-64-v3"): 100,
    ("winograd, tiles over the edge", "neon"): 80,
    ("softmax", "x86-64-v3"): 6,
    ("softmax of uneven rows", "x86-64-v3"): 6,
    ("log softmax of long uneven rows", "x86-64-v3"): 6,
    ("recurrent step", "x86-64-v3"): 14,
    ("recurrent step", "neon"): 12,
}


def spills(layer: Layer, target: str) -> int:
    """Return how often kernels move a vector to the stack or back for want of registers."""
    writer = Writer("spills")
    module = import_model(writer.model(layer(writer)))
    set_target(module, target)
    run_passes(make_context(), module, expand("compile"))
    text = emit_assembly(print_module(module), target_named(target), comments=True)
    lines = [line for line in text.splitlines() if SPILL.search(line)]
    return sum(bool(VECTOR.search(line)) for line in lines)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", LAYERS)
def test_a_default_schedule_does_not_spill(name: str, target: str):
    assert spills(LAYERS[name], target) <= STATED.get((name, target), 0)
