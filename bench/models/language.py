"""Sequence networks: BERT encoders, a GPT decoder, an MLP, LSTM and GRU classifiers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
from onnx import TensorProto

from bench.models.layers import Value, Writer

MASKED = -10000.0  # what exporters add to scores that must not be attended


class SequenceWriter(Writer):
    """Layers of transformers, spelled in elementary nodes as opset-17 exporters do."""

    def layer_norm(self, x: Value) -> Value:
        row = (*x.shape[:-1], 1)
        mean = self.node("ReduceMean", x, shape=row, axes=[-1], keepdims=1)
        centred = self.like("Sub", x, mean)
        square = self.like("Pow", centred, self.shared(2.0))
        variance = self.node("ReduceMean", square, shape=row, axes=[-1], keepdims=1)
        deviation = self.like("Sqrt", self.like("Add", variance, self.shared(1e-5)))
        scale = self.uniform(x.shape[-1], 0.8, 1.2, "scale")
        y = self.like("Mul", self.like("Div", centred, deviation), scale)
        return self.like("Add", y, self.uniform(x.shape[-1], -0.1, 0.1, "shift"))

    def gelu(self, x: Value) -> Value:
        erf = self.like("Erf", self.like("Div", x, self.shared(2.0**0.5)))
        y = self.like("Mul", x, self.like("Add", erf, self.shared(1.0)))
        return self.like("Mul", y, self.shared(0.5))

    def gelu_tanh(self, x: Value) -> Value:
        cube = self.like("Mul", self.like("Pow", x, self.shared(3.0)), self.shared(0.044715))
        inner = self.like("Mul", self.like("Add", x, cube), self.shared((2 / np.pi) ** 0.5))
        y = self.like("Add", self.like("Tanh", inner), self.shared(1.0))
        return self.like("Mul", self.like("Mul", x, self.shared(0.5)), y)

    def heads(self, x: Value, count: int, perm: Sequence[int]) -> Value:
        batch, length, width = x.shape
        split = (batch, length, count, width // count)
        y = self.node("Reshape", x, self.shared(split, np.int64), shape=split)
        return self.node("Transpose", y, shape=[split[axis] for axis in perm], perm=perm)

    def attention(self, x: Value, count: int, mask: Value, *, fused: bool) -> Value:
        """Self-attention; `fused` makes queries, keys and values by one product and a Split."""
        batch, length, width = x.shape
        q, k, v = self._fused_qkv(x) if fused else [self.linear(x, width) for _ in range(3)]
        q, v = self.heads(q, count, [0, 2, 1, 3]), self.heads(v, count, [0, 2, 1, 3])
        k = self.heads(k, count, [0, 2, 3, 1])
        scores = self.node("MatMul", q, k, shape=(batch, count, length, length))
        scores = self.like("Div", scores, self.shared((width / count) ** 0.5))
        weights = self.like("Softmax", self.like("Add", scores, mask), axis=-1)
        y = self.node("MatMul", weights, v, shape=v.shape)
        split = (batch, length, count, width // count)
        y = self.node("Transpose", y, shape=split, perm=[0, 2, 1, 3])
        y = self.node("Reshape", y, self.shared(x.shape, np.int64), shape=x.shape)
        return self.linear(y, width)

    def _fused_qkv(self, x: Value) -> list[Value]:
        width = x.shape[-1]
        y = self.linear(x, 3 * width)
        sizes = self.shared([width] * 3, np.int64)
        names = [f"{y.name}/{part}" for part in "qkv"]
        self.nodes.append(
            onnx.helper.make_node("Split", [y.name, sizes.name], names, f"{y.name}/split", axis=-1)
        )
        return [Value(name, x.shape) for name in names]

    def feed_forward(self, x: Value, activation: str) -> Value:
        wide = self.linear(x, 4 * x.shape[-1])
        bent = self.gelu(wide) if activation == "gelu" else self.gelu_tanh(wide)
        return self.linear(bent, x.shape[-1])


def bert(
    name: str, layers: int, width: int, heads: int, *, length: int = 128, vocabulary: int = 30522
) -> onnx.ModelProto:
    """Devlin et al. 2018: post-norm encoder with a pooler on the first token."""
    net = SequenceWriter(name)
    names = ("input_ids", "token_type_ids", "attention_mask")
    ids, kinds, attend = (net.input(n, (1, length), TensorProto.INT64) for n in names)
    mask = _padding_mask(net, attend)
    shape = (1, length, width)
    x = net.node("Gather", net.normal((vocabulary, width), 0.02, "words"), ids, shape=shape)
    kind = net.node("Gather", net.normal((2, width), 0.02, "kinds"), kinds, shape=shape)
    x = net.like("Add", net.like("Add", x, kind), net.normal(shape, 0.02, "positions"))
    x = net.layer_norm(x)
    for _ in range(layers):
        x = net.layer_norm(net.like("Add", net.attention(x, heads, mask, fused=False), x))
        x = net.layer_norm(net.like("Add", net.feed_forward(x, "gelu"), x))
    first = net.node("Gather", x, net.shared(0, np.int64), shape=(1, width), axis=1)
    return net.model(net.like("Tanh", net.gemm(first, width)))


def _padding_mask(net: SequenceWriter, attend: Value) -> Value:
    batch, length = attend.shape
    shape = (batch, 1, 1, length)
    seen = net.node("Unsqueeze", attend, net.shared([1, 2], np.int64), shape=shape)
    seen = net.like("Cast", seen, to=TensorProto.FLOAT)
    hidden = net.node("Sub", net.shared(1.0), seen, shape=shape)
    return net.like("Mul", hidden, net.shared(MASKED))


def gpt(
    name: str, layers: int, width: int, heads: int, *, length: int = 64, vocabulary: int = 1024
) -> onnx.ModelProto:
    """Radford et al. 2019: pre-norm causal decoder, tanh GELU, logits of every position."""
    net = SequenceWriter(name)
    ids = net.input("input_ids", (1, length), TensorProto.INT64)
    shape = (1, length, width)
    x = net.node("Gather", net.normal((vocabulary, width), 0.02, "words"), ids, shape=shape)
    x = net.like("Add", x, net.normal(shape, 0.02, "positions"))
    causal = np.triu(np.full((1, 1, length, length), MASKED, np.float32), 1)
    mask = net.weight(causal, "causal")
    for _ in range(layers):
        x = net.like("Add", x, net.attention(net.layer_norm(x), heads, mask, fused=True))
        x = net.like("Add", x, net.feed_forward(net.layer_norm(x), "gelu_tanh"))
    head = net.normal((width, vocabulary), width**-0.5, "head")
    logits = (1, length, vocabulary)
    return net.model(net.node("MatMul", net.layer_norm(x), head, shape=logits))


def mlp(name: str, sizes: Sequence[int] = (784, 1024, 1024, 512, 10)) -> onnx.ModelProto:
    """Dense layers with ReLU between them and a softmax at the end."""
    net = Writer(name)
    x = net.input("features", (1, sizes[0]))
    for size in sizes[1:-1]:
        x = net.relu(net.gemm(x, size))
    return net.model(net.like("Softmax", net.gemm(x, sizes[-1]), axis=-1))


GATES = {"LSTM": 4, "GRU": 3}


def recurrent(
    name: str,
    kind: str,
    *,
    layers: int = 2,
    length: int = 64,
    features: int = 128,
    hidden: int = 256,
    classes: int = 10,
) -> onnx.ModelProto:
    """Stacked layers of one kind over [batch, time, features]; the last step is classified."""
    net = Writer(name)
    inputs = net.input("sequence", (1, length, features))
    x = net.node("Transpose", inputs, shape=(length, 1, features), perm=[1, 0, 2])
    for _ in range(layers):
        y = _recurrent_layer(net, x, kind, hidden)
        shape = (length, 1, hidden)
        x = net.node("Squeeze", y, net.shared([1], np.int64), shape=shape)
    last = net.node("Gather", x, net.shared(length - 1, np.int64), shape=(1, hidden), axis=0)
    return net.model(net.gemm(last, classes))


def _recurrent_layer(net: Writer, x: Value, kind: str, hidden: int) -> Value:
    rows, bound = GATES[kind] * hidden, hidden**-0.5
    shapes = ((1, rows, x.shape[-1]), (1, rows, hidden), (1, 2 * rows))
    parameters = [
        net.weight(net.random.uniform(-bound, bound, shape).astype(np.float32), "gates")
        for shape in shapes
    ]
    states = [net.shared(np.zeros((1, 1, hidden)))] * (2 if kind == "LSTM" else 1)
    extra = {"linear_before_reset": 1} if kind == "GRU" else {}
    shape = (x.shape[0], 1, 1, hidden)
    return net.node(kind, x, *parameters, None, *states, shape=shape, hidden_size=hidden, **extra)
