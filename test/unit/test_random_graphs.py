"""Random small graphs, compiled for this machine and as kernels, against onnxruntime."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import onnx
import tools
from gpu_lowering import lowered
from gpu_threads import on_threads
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper
from onnx_text import Array, in_onnxruntime, relative_error
from simt_device import run_on_fibers

import nn_opt

TOLERANCE = 2e-5  # a chain of up to seven float32 ops, in another order
SIZES = st.sampled_from([1, 2, 3, 5, 8, 16, 17, 33])
UNARY = ["Relu", "Sigmoid", "Tanh", "Abs", "Neg", "Erf", "HardSwish", "Softplus", "Floor"]
BINARY = ["Add", "Sub", "Mul", "Max", "Min"]
REDUCE = ["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin"]


@dataclass
class Graph:
    """Values so far, each with its shape; `draw` decides what comes next."""

    draw: st.DrawFn
    nodes: list[onnx.NodeProto] = field(default_factory=list[onnx.NodeProto])
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    inputs: list[str] = field(default_factory=list[str])
    weights: dict[str, Array] = field(default_factory=dict[str, Array])

    def value(self, rank: int | None = None) -> str:
        """Return a value so far, of a rank if one is given; a new input if there is none."""
        known = [v for v, shape in self.shapes.items() if rank in (None, len(shape))]
        if known and self.draw(st.integers(0, 3)):
            return self.draw(st.sampled_from(known[-3:]))
        count = self.draw(st.integers(1, 4)) if rank is None else rank
        return self.operand(tuple(self.draw(SIZES) for _ in range(count)))

    def operand(self, shape: tuple[int, ...]) -> str:
        """Return a new input or weight of a shape."""
        name = f"x{len(self.inputs) + len(self.weights)}"
        if self.draw(st.booleans()):
            self.inputs.append(name)
            self.shapes[name] = shape
        else:
            self.weights[name] = normal(shape, len(self.weights))
        return name

    def known(self, values: list[int]) -> str:
        """Return a new constant vector."""
        name = f"k{len(self.weights)}"
        self.weights[name] = np.asarray(values, np.int64)
        return name

    def add(self, kind: str, operands: list[str], shape: tuple[int, ...], **attributes: object):
        """Add a node whose result has a shape."""
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, operands, [name], name=name, **attributes))
        self.shapes[name] = shape

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of a value."""
        return self.shapes[name] if name in self.shapes else self.weights[name].shape


def normal(shape: tuple[int, ...], seed: int) -> Array:
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


def unary(g: Graph) -> None:
    x = g.value()
    g.add(g.draw(st.sampled_from(UNARY)), [x], g.shape(x))


def binary(g: Graph) -> None:
    x = g.value()
    shape = g.shape(x)
    other = tuple(size if g.draw(st.booleans()) else 1 for size in shape)
    other = other[g.draw(st.integers(0, len(shape))) :]
    same = [v for v, s in g.shapes.items() if s == shape]
    y = g.draw(st.sampled_from(same)) if same and g.draw(st.booleans()) else g.operand(other)
    g.add(g.draw(st.sampled_from(BINARY)), [x, y], shape)


def reduce(g: Graph) -> None:
    x = g.value()
    shape = g.shape(x)
    if not shape:
        return
    axes = sorted(g.draw(st.sets(st.integers(0, len(shape) - 1), min_size=1)))
    keep = g.draw(st.booleans())
    kind = g.draw(st.sampled_from(REDUCE))
    left = tuple(1 if k in axes else n for k, n in enumerate(shape) if keep or k not in axes)
    if kind == "ReduceSum":
        g.add(kind, [x, g.known(axes)], left, keepdims=int(keep))
    else:
        g.add(kind, [x], left, axes=axes, keepdims=int(keep))


def softmax(g: Graph) -> None:
    x = g.value()
    if g.shape(x):
        axis = g.draw(st.integers(0, len(g.shape(x)) - 1))
        g.add("Softmax", [x], g.shape(x), axis=axis)


def transpose(g: Graph) -> None:
    x = g.value()
    perm = g.draw(st.permutations(range(len(g.shape(x)))))
    g.add("Transpose", [x], tuple(g.shape(x)[k] for k in perm), perm=list(perm))


def reshape(g: Graph) -> None:
    x = g.value()
    total = int(np.prod(g.shape(x)))
    first = g.draw(st.sampled_from([d for d in range(1, total + 1) if total % d == 0]))
    g.add("Reshape", [x, g.known([first, total // first])], (first, total // first))


def concat(g: Graph) -> None:
    x = g.value()
    shape = g.shape(x)
    if not shape:
        return
    axis = g.draw(st.integers(0, len(shape) - 1))
    other = (*shape[:axis], g.draw(SIZES), *shape[axis + 1 :])
    joined = (*shape[:axis], shape[axis] + other[axis], *shape[axis + 1 :])
    g.add("Concat", [x, g.operand(other)], joined, axis=axis)


def cut(g: Graph) -> None:
    x = g.value()
    shape = g.shape(x)
    if not shape:
        return
    axis = g.draw(st.integers(0, len(shape) - 1))
    size = shape[axis]
    start = g.draw(st.integers(0, size - 1))
    stop = g.draw(st.integers(start + 1, size))
    step = g.draw(st.integers(1, 3))
    bounds = [g.known([v]) for v in (start, stop, axis, step)]
    left = len(range(start, stop, step))
    g.add("Slice", [x, *bounds], (*shape[:axis], left, *shape[axis + 1 :]))


def matmul(g: Graph) -> None:
    x = g.value(g.draw(st.integers(2, 3)))
    *batch, _, k = shape = g.shape(x)
    n = g.draw(SIZES)
    full = g.draw(st.booleans())
    y = g.operand((*(batch if full else ()), k, n))
    g.add("MatMul", [x, y], (*shape[:-1], n))


def conv(g: Graph) -> None:
    x = g.value(4)
    batch, channels, height, width = g.shape(x)
    group = channels if g.draw(st.booleans()) else 1
    features = group * g.draw(st.sampled_from([1, 2, 5, 16]))
    kernel = [g.draw(st.integers(1, min(3, size + 1))) for size in (height, width)]
    strides = [g.draw(st.integers(1, 2)) for _ in range(2)]
    pads = [g.draw(st.integers(0, 1)) for _ in range(2)] + [1, 1]
    sizes = [
        (size + pads[k] + pads[k + 2] - kernel[k]) // strides[k] + 1
        for k, size in enumerate((height, width))
    ]
    w = g.operand((features, channels // group, *kernel))
    out = (batch, features, *sizes)
    g.add("Conv", [x, w], out, group=group, strides=strides, pads=pads)


STEPS = [unary, binary, reduce, softmax, transpose, reshape, concat, cut, matmul, conv]


@st.composite
def graphs(draw: st.DrawFn) -> tuple[onnx.ModelProto, dict[str, Array]]:
    """Draw a model and its inputs; every value that nothing reads is a result."""
    g = Graph(draw)
    for step in draw(st.lists(st.sampled_from(STEPS), min_size=2, max_size=7)):
        if not g.shapes or max(map(np.prod, g.shapes.values())) < 20_000:
            step(g)
    read = {name for node in g.nodes for name in node.input}
    ends = [n for n in g.shapes if n not in read and n not in g.inputs] or g.inputs[:0]
    declare = helper.make_tensor_value_info
    graph = helper.make_graph(
        g.nodes,
        "random",
        [declare(name, TensorProto.FLOAT, g.shapes[name]) for name in g.inputs],
        [declare(name, TensorProto.FLOAT, g.shapes[name]) for name in ends],
        [numpy_helper.from_array(array, name) for name, array in g.weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
    inputs = {name: normal(g.shapes[name], 100 + k) for k, name in enumerate(g.inputs)}
    return model, inputs


def examples(count: int) -> settings:
    """Let a test take the same so many examples in each run, however long they take."""
    return settings(
        max_examples=count,
        deadline=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )


@examples(60)
@given(graphs())
def test_random_graphs_agree_with_onnxruntime(
    made: tuple[onnx.ModelProto, dict[str, Array]],
) -> None:
    model, inputs = made
    if not model.graph.output:
        return
    expected = in_onnxruntime(model, inputs)
    got = nn_opt.compile(model, threads=1, cache=False).run(inputs)
    for node, (name, want) in enumerate(zip(got, expected, strict=True)):
        assert got[name].shape == want.shape
        assert relative_error(got[name], want) < TOLERANCE, (node, onnx.printer.to_text(model))


@examples(10)
@given(graphs())
def test_random_graphs_on_threads_of_a_gpu_agree_with_onnxruntime(
    made: tuple[onnx.ModelProto, dict[str, Array]],
) -> None:
    model, inputs = made
    if not model.graph.output:
        return
    expected = in_onnxruntime(model, inputs)
    for result, want in zip(on_threads(model, inputs), expected, strict=True):
        assert result.shape == want.shape
        assert relative_error(result, want) < TOLERANCE, onnx.printer.to_text(model)


@tools.needs("clang++-19", "g++")
@examples(8)
@given(graphs())
def test_random_graphs_as_kernels(made: tuple[onnx.ModelProto, dict[str, Array]]) -> None:
    """As CUDA text on fibers, which find races and accesses out of bounds."""
    model, inputs = made
    if not model.graph.output:
        return
    results = run_on_fibers(lowered(model, "cuda", inputs), list(inputs.values()), "cuda")
    for got, want in zip(results, in_onnxruntime(model, inputs), strict=True):
        assert got.shape == want.shape
        assert relative_error(got, want) < TOLERANCE, onnx.printer.to_text(model)
