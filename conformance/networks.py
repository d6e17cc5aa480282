"""The suite's nine networks with random weights, against onnxruntime.

The suite makes their weights by ConstantOfShape, all of a kind, so that its own outputs hardly
depend on what happens in between. Here they are drawn, from a normal distribution that keeps the
size of activations, and what is compared is what goes into the last softmax.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, numpy_helper

import nn_opt
from conformance.cases import all_cases, model_inputs, ramp

NAMES = (
    "light/test_bvlc_alexnet",
    "light/test_densenet121",
    "light/test_inception_v1",
    "light/test_inception_v2",
    "light/test_resnet50",
    "light/test_shufflenet",
    "light/test_squeezenet",
    "light/test_vgg19",
    "light/test_zfnet512",
)
TOLERANCE = 1e-3  # of the greatest output
Array = NDArray[Any]


def compare(name: str) -> dict[str, Any]:
    """Return the status of a network: whether the outputs are onnxruntime's."""
    import onnxruntime

    model = with_random_weights(all_cases()[name].model)
    feeds = {value.name: _noise(ramp(value)) for value in model_inputs(model)}
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3  # nothing of weights that are not used
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    wanted = np.asarray(session.run(None, feeds)[0])
    got = next(iter(nn_opt.compile(model, cache=False, threads=1).run(feeds).values()))
    spread = float(np.std(wanted))
    worst = float(np.abs(got - wanted).max() / np.abs(wanted).max())
    message = f"off by {worst:.2g} of the greatest output; standard deviation {spread:.2g}"
    right = worst <= TOLERANCE and spread > 1e-3
    return {"status": "pass" if right else "wrong", "message": message}


def _noise(like: Array) -> Array:
    return np.random.default_rng(1).standard_normal(like.shape).astype(np.float32)


def with_random_weights(model: ModelProto) -> ModelProto:
    """Return a copy with drawn weights in place of ConstantOfShape's, up to the last softmax."""
    made = ModelProto()
    made.CopyFrom(model)
    graph = made.graph
    shapes = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    roles = _roles(graph.node)
    generator = np.random.default_rng(0)
    kept: list[NodeProto] = []
    for node in graph.node:
        if node.op_type != "ConstantOfShape" or node.input[0] not in shapes:
            kept.append(node)
            continue
        shape = tuple(int(size) for size in shapes[node.input[0]])
        drawn = _weights(shape, roles.get(node.output[0], ""), generator)
        graph.initializer.append(numpy_helper.from_array(drawn, node.output[0]))
    if kept[-1].op_type == "Softmax":
        graph.output[0].CopyFrom(_untyped(kept.pop().input[0]))
    del graph.node[:]
    graph.node.extend(kept)
    return made


def _untyped(name: str) -> onnx.ValueInfoProto:
    return onnx.helper.make_tensor_value_info(name, TensorProto.FLOAT, None)


def _roles(nodes: Any) -> dict[str, str]:
    """Return what each weight is for: the operator that reads it and as which operand."""
    return {
        name: f"{node.op_type} {place}" for node in nodes for place, name in enumerate(node.input)
    }


def _weights(shape: tuple[int, ...], role: str, generator: np.random.Generator) -> Array:
    """Return He's initialisation; gains near 1, variances above 0, small biases."""
    if role in ("BatchNormalization 1", "BatchNormalization 4"):
        return generator.uniform(0.4, 0.8, shape).astype(np.float32)
    drawn = generator.standard_normal(shape)
    if len(shape) < 2:
        return (0.1 * drawn).astype(np.float32)
    fan_in = np.prod(shape[1:]) if len(shape) == 4 else shape[-1]
    return (drawn * np.sqrt(2 / fan_in)).astype(np.float32)
