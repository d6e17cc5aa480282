"""Small models as files, each with an input and what onnxruntime makes of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from bench import models


@dataclass(frozen=True)
class Sample:
    """A model's file, one input, and the output that belongs to it."""

    path: Path
    name: str  # of the input
    x: NDArray[np.float32]
    y: NDArray[np.float32]


def sample_of(kind: str, folder: Path, file: str) -> Sample:
    """Write a small model of bench.models into a folder."""
    return sample(models.build_small(kind), folder / file)


def sample(model: onnx.ModelProto, path: Path) -> Sample:
    """Write a model of one input and one output; run it."""
    path.write_bytes(model.SerializeToString())
    session = onnxruntime.InferenceSession(str(path))
    (given,) = session.get_inputs()
    x = np.random.default_rng(0).normal(size=given.shape).astype(np.float32)
    (y,) = session.run(None, {given.name: x})
    return Sample(path, given.name, x, np.asarray(y))


def tiny_network() -> onnx.ModelProto:
    """Return a network for images of 16 by 16 pixels: four layers, ten classes."""
    rng = np.random.default_rng(1)
    shapes = {
        "w0": (8, 3, 3, 3),
        "b0": (8,),
        "w1": (8, 1, 3, 3),
        "w2": (12, 8, 1, 1),
        "w3": (12, 10),
    }
    weights = [
        numpy_helper.from_array(rng.normal(0, 0.3, shape).astype(np.float32), name)
        for name, shape in shapes.items()
    ]
    border = [1, 1, 1, 1]
    nodes = [
        helper.make_node("Conv", ["image", "w0", "b0"], ["c0"], pads=border, strides=[2, 2]),
        helper.make_node("Relu", ["c0"], ["r0"]),
        helper.make_node("Conv", ["r0", "w1"], ["c1"], pads=border, group=8),
        helper.make_node("Conv", ["c1", "w2"], ["c2"]),
        helper.make_node("GlobalAveragePool", ["c2"], ["pool"]),
        helper.make_node("Flatten", ["pool"], ["flat"]),
        helper.make_node("MatMul", ["flat", "w3"], ["scores"]),
    ]
    given = helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, 16, 16])
    made = helper.make_tensor_value_info("scores", TensorProto.FLOAT, [1, 10])
    graph = helper.make_graph(nodes, "tiny", [given], [made], weights)
    opset = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opset, ir_version=9)


def recurrences() -> onnx.ModelProto:
    """Return an LSTM of both directions; loops of moves alone, of no step, and one in another.

    5 steps, 2 sequences, 3 features, 2 hidden numbers.
    """
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
    g (float[5,2,3] x) => (float[30,2] y)
    <int64[2] rows = {-1, 2}, int64 three = {3}, int64 none = {0},
     bool go = {1}, float[2,2] a = {0.5, -1, 2, 0.25}, float[2,2] b = {1, 0, -0.5, 3}> {
      h, last, cell = LSTM<hidden_size = 2, direction = "bidirectional">(x, w, r)
      flat = Reshape(h, rows)
      moved, here, there = Loop(three, go, last, cell, cell) <body = move (int64 i, bool c,
        float[2,2,2] p, float[2,2,2] q, float[2,2,2] s) => (bool d, float[2,2,2] k,
        float[2,2,2] l, float[2,2,2] m) {
        d = Identity(c)
        k = Identity(q)
        l = Identity(s)
        m = Neg(p)
      }>
      never = Loop(none, go, a) <body = wait (int64 i, bool c, float[2,2] p)
        => (bool d, float[2,2] q) { d = Identity(c)  q = Exp(p) }>
      sums, all = Loop(three, go, never) <body = outer (int64 i, bool c, float[2,2] p)
        => (bool d, float[2,2] q, float[2,2] t) {
        d = Identity(c)
        n = Cast<to = 1>(i)
        o = Loop(three, go, p) <body = inner (int64 j, bool e, float[2,2] u)
          => (bool f, float[2,2] v) {
          f = Identity(e)
          z = Tanh(u)
          v = Add(z, b)
        }>
        q = Sub(o, n)
        t = Mul(p, b)
      }>
      ends = Reshape(moved, rows)
      both = Reshape(all, rows)
      y = Concat<axis = 0>(flat, ends, both)
    }""")
    rng = np.random.default_rng(2)
    for name, shape in {"w": (2, 8, 3), "r": (2, 8, 2)}.items():
        weights = rng.normal(size=shape).astype(np.float32)
        model.graph.initializer.append(numpy_helper.from_array(weights, name))
    return model
