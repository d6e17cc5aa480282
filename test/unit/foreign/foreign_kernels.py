"""A small model with a kernel of every kind, and what onnxruntime makes of it."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

Array = NDArray[Any]
FLOAT, HALF, DOUBLE = TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE
BFLOAT = TensorProto.BFLOAT16
# The outputs, and how far they may be from onnxruntime's: of f16 and bf16, one last place.
OUTPUTS = {
    "conv": 1e-5,
    "strided": 1e-5,
    "scattered": 1e-5,
    "softmax": 1e-5,
    "half": 2e-3,
    "bfloat": 1e-2,
    "integer": 1e-4,
    "byte": 1.001,
    "whole": 0,
    "function": 2e-6,
    "double": 1e-6,
    "picked": 1e-5,
    "index": 0,
    "largest": 0,
}
TYPES = {"byte": TensorProto.UINT8, "index": TensorProto.INT64, "largest": TensorProto.INT64}


def _constants() -> list[onnx.TensorProto]:
    random = np.random.default_rng(0)
    normal = {
        name: random.normal(0, 0.3, shape).astype(np.float32)
        for name, shape in {
            "w": (8, 3, 3, 3),
            "d": (8, 1, 3, 3),
            "far": (21, 1, 2, 2),
            "m": (25, 20),
            "bias": (20,),
        }.items()
    }
    rest: dict[str, Array] = {
        "rows": np.array([8, 25], np.int64),
        "start": np.array([0, 0], np.int64),
        "end": np.array([2, 3], np.int64),
        "two": np.array([2, 3, 1, 1], np.int64),
        "three": np.array(3, np.float32),
        "mq": random.integers(-127, 128, (25, 20)).astype(np.int8),
        "wq": random.integers(-127, 128, (16, 8, 3, 3)).astype(np.int8),
        "step": np.array(0.02, np.float32),
        "wstep": np.array(0.003, np.float32),
        "big": np.array(0.2, np.float32),
        "zero": np.array(3, np.uint8),
        "wzero": np.array(0, np.int8),
        "five": np.array(5, np.int64),
        "seven": np.array(7, np.int64),
    }
    return [numpy_helper.from_array(value, name) for name, value in (normal | rest).items()]


def _nodes() -> list[onnx.NodeProto]:
    node = helper.make_node
    quantized = ["q8", "step", "zero", "wq", "wstep", "wzero", "big", "zero"]
    return [
        node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
        node("Relu", ["c"], ["conv"]),
        node("Conv", ["conv", "d"], ["strided"], pads=[1, 1, 1, 1], strides=[2, 2], group=8),
        node("AveragePool", ["conv"], ["pool"], kernel_shape=[2, 2], strides=[2, 2]),
        node("Reshape", ["pool", "rows"], ["flat"]),
        node("Slice", ["flat", "start", "end"], ["six"]),
        node("Reshape", ["six", "two"], ["pixel"]),
        node("Conv", ["pixel", "far"], ["scattered"], pads=[2, 1, 2, 2], strides=[3, 1], group=3),
        node("MatMul", ["flat", "m"], ["product"]),
        node("Add", ["product", "bias"], ["sum"]),
        node("Softmax", ["sum"], ["softmax"], axis=1),
        node("Cast", ["sum"], ["h"], to=HALF),
        node("Mul", ["h", "h"], ["hh"]),
        node("Cast", ["hh"], ["half"], to=FLOAT),
        node("Cast", ["sum"], ["b"], to=BFLOAT),
        node("Cast", ["b"], ["bfloat"], to=FLOAT),
        node("DynamicQuantizeLinear", ["flat"], ["q", "qs", "qz"]),
        node("MatMulInteger", ["q", "mq", "qz"], ["qi"]),
        node("Cast", ["qi"], ["qf"], to=FLOAT),
        node("Mul", ["qf", "qs"], ["integer"]),
        node("QuantizeLinear", ["conv", "step", "zero"], ["q8"]),
        node("QLinearConv", quantized, ["byte"], pads=[1, 1, 1, 1]),
        node("Mul", ["sum", "three"], ["thrice"]),
        node("Floor", ["thrice"], ["down"]),
        node("Ceil", ["thrice"], ["up"]),
        node("Round", ["thrice"], ["near"]),
        node("Sum", ["down", "up", "near"], ["whole"]),
        node("Erf", ["sum"], ["e"]),
        node("Tanh", ["sum"], ["t"]),
        node("Exp", ["t"], ["et"]),
        node("Add", ["e", "et"], ["function"]),
        node("Cast", ["sum"], ["wide"], to=DOUBLE),
        node("Exp", ["wide"], ["we"]),
        node("Cast", ["we"], ["double"], to=FLOAT),
        node("Gather", ["sum", "i"], ["picked"], axis=0),
        node("Mul", ["i", "five"], ["i5"]),
        node("Mod", ["i5", "seven"], ["index"]),
        node("ArgMax", ["sum"], ["largest"], axis=1, keepdims=0),
    ]


@cache
def model() -> onnx.ModelProto:
    """Return the model."""
    x = helper.make_tensor_value_info("x", FLOAT, [1, 3, 10, 10])
    i = helper.make_tensor_value_info("i", TensorProto.INT64, [4])
    outputs = [helper.make_tensor_value_info(k, TYPES.get(k, FLOAT), None) for k in OUTPUTS]
    graph = helper.make_graph(_nodes(), "kernels", [x, i], outputs, _constants())
    opset = [helper.make_opsetid("", 17)]
    made = helper.make_model(graph, opset_imports=opset, ir_version=8)
    return onnx.shape_inference.infer_shapes(made, strict_mode=True)


def feeds() -> dict[str, Array]:
    """Return the model's inputs."""
    x = np.random.default_rng(1).normal(size=(1, 3, 10, 10)).astype(np.float32)
    return {"x": x, "i": np.array([7, 0, 3, 3], np.int64)}


@cache
def expected() -> dict[str, Array]:
    """Return its outputs."""
    session = onnxruntime.InferenceSession(model().SerializeToString())
    return dict(zip(OUTPUTS, session.run(None, feeds()), strict=True))


def assert_right(outputs: dict[str, Array]) -> None:
    """Hold outputs against what is right."""
    for name, wanted in expected().items():
        assert outputs[name].dtype == wanted.dtype
        bound = OUTPUTS[name] * (1 if name == "byte" else max(1.0, float(np.abs(wanted).max())))
        difference = np.abs(outputs[name].astype(np.float64) - wanted.astype(np.float64))
        assert float(difference.max()) <= bound, name
