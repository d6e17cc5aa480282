"""Sizes that no vector divides: compiled kernels against NumPy and onnxruntime, on every width.

Rows of one table share a model, so that one compilation serves many shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache

import numpy as np
import onnx
import pytest
import tools
from gpu_lowering import lowered
from gpu_threads import on_threads
from onnx import TensorProto, helper, numpy_helper
from onnx_text import Array, in_onnxruntime, relative_error
from simt_device import run_on_fibers

import nn_opt
from nn_opt.compiler import require_runnable
from nn_opt.runtime.loader import RuntimeFault

TARGETS = ("cpu", "x86-64-v2", "x86-64-v3", "x86-64-v4")
TOLERANCE = 2e-5  # float32 sums of at most a few hundred terms, in another order
PIXELS = (1, 2, 3, 5, 7, 13, 17, 31)


class Net:
    """Independent nodes in one model, each with inputs of its own."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.inputs: dict[str, Array] = {}
        self.weights: dict[str, Array] = {}
        self.outputs: list[str] = []

    def noise(self, *shape: int, constant: bool = False) -> str:
        """Return the name of a new array of normal numbers."""
        number = len(self.inputs) + len(self.weights)
        array = np.random.default_rng(number).standard_normal(shape, np.float32)
        return self.given(array, constant=constant)

    def given(self, array: Array, *, constant: bool = False) -> str:
        """Return the name of a new input or weight."""
        name = f"x{len(self.inputs) + len(self.weights)}"
        (self.weights if constant else self.inputs)[name] = array
        return name

    def add(self, kind: str, *operands: str, **attributes: object) -> str:
        """Add a node, whose result is a result of the model; return its name."""
        name = f"y{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, operands, [name], name=name, **attributes))
        self.outputs.append(name)
        return name

    def model(self) -> onnx.ModelProto:
        """Return the model."""
        declared = [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, array.shape)
            for name, array in self.inputs.items()
        ]
        results = [helper.make_tensor_value_info(y, TensorProto.FLOAT, None) for y in self.outputs]
        weights = [numpy_helper.from_array(a, name) for name, a in self.weights.items()]
        graph = helper.make_graph(self.nodes, "odd", declared, results, weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)


def convolutions() -> Iterator[Net]:
    """Yield nets of convolutions: channels, pixels, strides, dilations, groups and pads vary."""
    choose = np.random.default_rng(7)
    for _ in range(2):
        net = Net()
        for pixels in PIXELS:
            for _ in range(3):
                group = int(choose.choice([1, 1, 2, 3]))
                channels, features = (group * int(choose.choice([1, 2, 5, 7, 16])) for _ in "xy")
                pads = [int(p) for p in choose.integers(0, 3, 4)]
                dilations = [int(d) for d in choose.integers(1, 3, 2)]
                room = [pixels + pads[a] + pads[a + 2] for a in (0, 1)]
                kernel = [
                    int(choose.integers(1, min(4, (r - 1) // d + 1) + 1))
                    for r, d in zip(room, dilations, strict=True)
                ]
                net.add(
                    "Conv",
                    net.noise(int(choose.integers(1, 3)), channels, pixels, pixels),
                    net.noise(features, channels // group, *kernel, constant=True),
                    net.noise(features, constant=True),
                    group=group,
                    pads=pads,
                    dilations=dilations,
                    strides=[int(s) for s in choose.integers(1, 4, 2)],
                )
        yield net
    net = Net()
    for channels in (1, 3, 17, 31):  # depthwise
        w = net.noise(channels, 1, 3, 3, constant=True)
        net.add("Conv", net.noise(1, channels, 13, 7), w, group=channels, pads=[1, 1, 1, 1])
    for channels, features in ((16, 32), (32, 16), (17, 33), (64, 5)):  # blocked layouts, chained
        w = net.noise(features, channels, 1, 1, constant=True)
        y = net.add("Relu", net.add("Conv", net.noise(1, channels, 5, 7), w))
        v = net.noise(channels, features, 3, 3, constant=True)
        net.add("Conv", y, v, pads=[1, 0, 2, 1])
    for strides, dilation, extra in (((1, 1), 1, 0), ((2, 3), 1, 1), ((2, 1), 2, 0)):
        net.add(
            "ConvTranspose",
            net.noise(1, 3, 5, 7),
            net.noise(3, 5, 3, 2, constant=True),
            strides=strides,
            dilations=[dilation, 1],
            pads=[1, 0, 0, 1],
            output_padding=[extra, 0],
        )
    yield net


def products() -> Iterator[Net]:
    """Yield nets of matrix products, with a variable and with a constant right side."""
    sizes = (1, 2, 3, 5, 17, 33, 129)
    choose = np.random.default_rng(3)
    for constant in (False, True):
        net = Net()
        for m in sizes:
            for n in sizes:
                k = int(choose.choice(sizes))
                net.add("MatMul", net.noise(m, k), net.noise(k, n, constant=constant))
        if not constant:
            net.add("MatMul", net.noise(3, 1, 5, 7), net.noise(2, 7, 33))
            net.add("MatMul", net.noise(7), net.noise(2, 7, 33))
            net.add("MatMul", net.noise(2, 5, 7), net.noise(7))
            net.add("Gemm", net.noise(17, 5), net.noise(17, 3), net.noise(3), transA=1, beta=0.5)
        yield net


def reductions() -> Iterator[Net]:
    """Yield nets that reduce or normalise over each axis, and over several."""
    shapes = ((7, 5, 3), (3, 17, 2), (1, 33, 129), (5, 1, 31), (2, 3, 65))
    yield from (_reduced(shape) for shape in shapes)


def _reduced(shape: tuple[int, ...]) -> Net:
    net = Net()
    for axis in range(3):
        net.add("Softmax", net.noise(*shape), axis=axis)
        net.add("ReduceMax", net.noise(*shape), axes=[axis], keepdims=axis % 2)
        net.add("CumSum", net.noise(*shape), net.given(np.asarray(axis), constant=True))
    net.add("LogSoftmax", net.noise(*shape), axis=-1)
    for axes in ([0, 1], [1, 2], [0, 2], [0, 1, 2]):
        net.add("ReduceMean", net.noise(*shape), axes=axes)
        net.add("ReduceL2", net.noise(*shape), axes=axes, keepdims=0)
    net.add("ReduceProd", net.noise(*shape[:1], 3), axes=[0])
    net.add("LayerNormalization", net.noise(*shape), net.noise(shape[2]), net.noise(shape[2]))
    return net


def windows() -> Iterator[Net]:
    """Yield a net of pools whose windows leave the image."""
    net = Net()
    for pixels in PIXELS:
        for kind in ("MaxPool", "AveragePool"):
            kernel = [min(3, pixels), min(2, pixels)]
            pads = [kernel[0] // 2, 0, 0, kernel[1] // 2]
            net.add(
                kind, net.noise(1, 3, pixels, 7), kernel_shape=kernel, strides=[2, 1], pads=pads
            )
        net.add("GlobalAveragePool", net.noise(2, 3, pixels, 5))
    yield net


def movements() -> Iterator[Net]:
    """Yield a net of transposes, concatenations, slices, pads and broadcasts."""
    net = Net()
    for n in PIXELS:
        x, one = net.noise(n, 3, 5), net.noise(1, 3, 1)
        for perm in ([2, 1, 0], [0, 2, 1], [1, 2, 0]):
            net.add("Transpose", x, perm=perm)
        net.add("Mul", x, one)
        net.add("Add", x, net.noise(5))
        for axis in range(3):
            net.add("Concat", x, net.noise(*(n, 3, 5)), x, axis=axis)
        bounds = [net.given(np.asarray(v), constant=True) for v in ([-1], [-99], [2], [-2])]
        net.add("Slice", x, bounds[0], bounds[1], bounds[2], bounds[3])
        net.add("Pad", x, net.given(np.asarray([1, 0, 2, 0, 1, 0]), constant=True))
    yield net


def nothings() -> Iterator[Net]:
    """Yield a net in which some sizes are 0."""
    net = Net()
    empty = net.noise(0, 5)
    net.add("Relu", empty)
    net.add("Concat", empty, net.noise(3, 5), axis=0)
    net.add("MatMul", net.noise(3, 0), net.noise(0, 4))
    net.add("MatMul", empty, net.noise(5, 4))
    net.add("ReduceSum", empty, net.given(np.asarray([0]), constant=True))
    net.add("Softmax", empty, axis=1)
    net.add("Transpose", empty, perm=[1, 0])
    yield net


FAMILIES: dict[str, Callable[[], Iterator[Net]]] = {
    family.__name__: family
    for family in (convolutions, products, reductions, windows, movements, nothings)
}


@cache
def nets(family: str) -> list[tuple[Net, onnx.ModelProto, list[Array]]]:
    """Return the nets of a family with what onnxruntime makes of each."""
    made: list[tuple[Net, onnx.ModelProto, list[Array]]] = []
    for net in FAMILIES[family]():
        model = net.model()
        made.append((net, model, in_onnxruntime(model, net.inputs)))
    return made


def differences(net: Net, results: Mapping[str, Array], expected: list[Array]) -> list[str]:
    """Return a line for each result that is not as expected."""
    lines: list[str] = []
    for node, want in zip(net.nodes, expected, strict=True):
        got = results[node.output[0]]
        error = relative_error(got, want) if got.shape == want.shape else np.inf
        if not error < TOLERANCE:
            text = " ".join(onnx.printer.to_text(node).split())
            lines.append(f"{error:.2g} {got.shape} for {want.shape}: {text}")
    return lines


@pytest.mark.parametrize("family", ["reductions", "windows", "movements", "nothings"])
def test_threads_of_a_gpu_agree_with_onnxruntime(family: str) -> None:
    for net, model, expected in nets(family)[:2]:
        results = on_threads(model, net.inputs)
        assert not differences(net, dict(zip(net.outputs, results, strict=True)), expected)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("family", FAMILIES)
def test_odd_sizes_agree_with_onnxruntime(family: str, target: str) -> None:
    try:
        require_runnable(target)
    except RuntimeFault as fault:
        pytest.skip(str(fault))
    for net, model, expected in nets(family):
        compiled = nn_opt.compile(model, target=target, threads=1, cache=False)
        assert not differences(net, compiled.run(net.inputs), expected)


@tools.needs("clang++-19", "g++")
@pytest.mark.parametrize(
    ("family", "language"), [("reductions", "cuda"), ("windows", "metal"), ("nothings", "cuda")]
)
def test_odd_sizes_as_kernels(family: str, language: str) -> None:
    net, model, expected = nets(family)[0]
    module = lowered(model, language, net.inputs)
    given = [net.inputs[value.name] for value in model.graph.input]
    results = run_on_fibers(module, given, language)
    assert not differences(net, dict(zip(net.outputs, results, strict=True)), expected)
