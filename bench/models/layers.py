"""Writes ONNX graphs layer by layer, the way common exporters spell them, with seeded weights.

Weights are scaled so that activations neither vanish nor overflow at any depth: He's rule for
convolutions, 1/sqrt(inputs) for dense layers, batch statistics near the standard normal.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

OPSET = 17
IR_VERSION = 8

Array = NDArray[Any]


@dataclass(frozen=True)
class Value:
    """A tensor of the graph being written: its name and shape."""

    name: str
    shape: tuple[int, ...]


Activation = Callable[[Value], Value]


class Writer:
    """A graph being written; one method a layer. The name alone decides every weight."""

    def __init__(self, name: str):
        self.name = name
        self.random = np.random.default_rng(zlib.crc32(name.encode()))
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self.inputs: list[onnx.ValueInfoProto] = []
        self._shared: dict[tuple[str, tuple[int, ...], bytes], Value] = {}

    # tensors --------------------------------------------------------------------------------

    def input(self, name: str, shape: Sequence[int], kind: int = TensorProto.FLOAT) -> Value:
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return Value(name, tuple(shape))

    def weight(self, array: Array, hint: str) -> Value:
        name = f"{hint}.{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(array, order="C"), name))
        return Value(name, array.shape)

    def shared(self, value: Any, kind: Any = np.float32) -> Value:
        """Return a constant; equal ones are stored once, as exporters do."""
        array = np.asarray(value, kind)
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self._shared:
            self._shared[key] = self.weight(array, "constant")
        return self._shared[key]

    def normal(self, shape: Sequence[int], deviation: float, hint: str = "weight") -> Value:
        array = self.random.standard_normal(shape, np.float32) * np.float32(deviation)
        return self.weight(array, hint)

    def uniform(self, size: int, low: float, high: float, hint: str) -> Value:
        return self.weight(self.random.uniform(low, high, size).astype(np.float32), hint)

    def node(
        self, kind: str, *inputs: Value | None, shape: Sequence[int] = (), **attributes: Any
    ) -> Value:
        """Add a node of one result, whose shape the caller knows."""
        name = f"/{kind.lower()}_{len(self.nodes)}"
        names = ["" if value is None else value.name for value in inputs]
        self.nodes.append(helper.make_node(kind, names, [f"{name}:0"], name, **attributes))
        return Value(f"{name}:0", tuple(shape))

    def like(self, kind: str, first: Value, *others: Value, **attributes: Any) -> Value:
        """Add an element-wise node: a result of the first operand's shape."""
        return self.node(kind, first, *others, shape=first.shape, **attributes)

    def model(self, output: Value) -> onnx.ModelProto:
        """Return the finished, checked model."""
        result = helper.make_tensor_value_info(output.name, TensorProto.FLOAT, output.shape)
        graph = helper.make_graph(self.nodes, self.name, self.inputs, [result], self.weights)
        imports = [helper.make_opsetid("", OPSET)]
        model = helper.make_model(graph, opset_imports=imports, producer_name="nn-opt bench")
        model.ir_version = IR_VERSION
        return model

    # layers of image networks ---------------------------------------------------------------

    def conv(
        self,
        x: Value,
        filters: int,
        size: int,
        *,
        stride: int = 1,
        pad: int | None = None,
        groups: int = 1,
        bias: bool = False,
    ) -> Value:
        pad = size // 2 if pad is None else pad
        n, channels, *image = x.shape
        inputs = channels // groups
        w = self.normal((filters, inputs, size, size), (2.0 / (inputs * size**2)) ** 0.5)
        b = self.uniform(filters, -0.05, 0.05, "bias") if bias else None
        sizes = [(edge + 2 * pad - size) // stride + 1 for edge in image]
        operands = (x, w) if b is None else (x, w, b)
        return self.node(
            "Conv",
            *operands,
            shape=(n, filters, *sizes),
            kernel_shape=[size] * 2,
            strides=[stride] * 2,
            pads=[pad] * 4,
            dilations=[1, 1],
            group=groups,
        )

    def batch_norm(self, x: Value, gain: float = 1.0) -> Value:
        channels = x.shape[1]
        parameters = [
            self.uniform(channels, low, high, hint)
            for low, high, hint in (
                (0.8 * gain, 1.2 * gain, "scale"),
                (-0.1, 0.1, "shift"),
                (-0.1, 0.1, "mean"),
                (0.8, 1.2, "variance"),
            )
        ]
        return self.like("BatchNormalization", x, *parameters, epsilon=1e-5, momentum=0.9)

    def relu(self, x: Value) -> Value:
        return self.like("Relu", x)

    def relu6(self, x: Value) -> Value:
        return self.like("Clip", x, self.shared(0.0), self.shared(6.0))

    def conv_norm(
        self,
        x: Value,
        filters: int,
        size: int,
        *,
        stride: int = 1,
        groups: int = 1,
        activation: Activation | None = None,
        gain: float = 1.0,
    ) -> Value:
        y = self.batch_norm(self.conv(x, filters, size, stride=stride, groups=groups), gain)
        return y if activation is None else activation(y)

    def max_pool(self, x: Value, size: int, stride: int, pad: int = 0, ceil: bool = False) -> Value:
        n, channels, *image = x.shape
        spans = [edge + 2 * pad - size for edge in image]
        sizes = [(-(-span // stride) if ceil else span // stride) + 1 for span in spans]
        return self.node(
            "MaxPool",
            x,
            shape=(n, channels, *sizes),
            kernel_shape=[size] * 2,
            strides=[stride] * 2,
            pads=[pad] * 4,
            ceil_mode=int(ceil),
        )

    def flatten(self, x: Value) -> Value:
        return self.node("Flatten", x, shape=(x.shape[0], int(np.prod(x.shape[1:]))), axis=1)

    def pooled(self, x: Value) -> Value:
        """Average over the image, then a vector an example."""
        return self.flatten(self.node("GlobalAveragePool", x, shape=(*x.shape[:2], 1, 1)))

    # dense layers ---------------------------------------------------------------------------

    def gemm(self, x: Value, outputs: int) -> Value:
        """A Linear on a matrix, weights stored [outputs, inputs]."""
        inputs = x.shape[-1]
        w = self.normal((outputs, inputs), inputs**-0.5)
        b = self.uniform(outputs, -0.05, 0.05, "bias")
        shape = (x.shape[0], outputs)
        return self.node("Gemm", x, w, b, shape=shape, alpha=1.0, beta=1.0, transB=1)

    def linear(self, x: Value, outputs: int) -> Value:
        """A Linear on a sequence: MatMul, then the bias as first operand of Add."""
        inputs = x.shape[-1]
        shape = (*x.shape[:-1], outputs)
        y = self.node("MatMul", x, self.normal((inputs, outputs), inputs**-0.5), shape=shape)
        return self.node("Add", self.uniform(outputs, -0.05, 0.05, "bias"), y, shape=shape)
