"""Small models for the pages of the documentation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save

FLOAT = TensorProto.FLOAT


def save_digits(path: str | Path = "model.onnx", batch: str | int = "batch") -> None:
    """Write a network for images of digits: two convolutions, a pooling, a layer of 10 outputs."""
    rng = np.random.default_rng(0)
    weights = {
        "conv1.weight": rng.normal(0, 0.3, (8, 1, 3, 3)),
        "bn1.scale": rng.uniform(0.5, 1.5, 8),
        "bn1.bias": rng.normal(0, 0.1, 8),
        "bn1.mean": rng.normal(0, 0.1, 8),
        "bn1.var": rng.uniform(0.5, 1.5, 8),
        "conv2.weight": rng.normal(0, 0.1, (16, 8, 3, 3)),
        "conv2.bias": rng.normal(0, 0.1, 16),
        "fc.weight": rng.normal(0, 0.1, (16, 10)),
        "fc.bias": rng.normal(0, 0.1, 10),
    }
    bn1 = ["a", "bn1.scale", "bn1.bias", "bn1.mean", "bn1.var"]
    nodes = [
        helper.make_node("Conv", ["image", "conv1.weight"], ["a"], "/conv1", pads=[1, 1, 1, 1]),
        helper.make_node("BatchNormalization", bn1, ["b"], "/bn1"),
        helper.make_node("Relu", ["b"], ["c"], "/relu1"),
        helper.make_node(
            "Conv", ["c", "conv2.weight", "conv2.bias"], ["d"], "/conv2", strides=[2, 2]
        ),
        helper.make_node("Relu", ["d"], ["e"], "/relu2"),
        helper.make_node("GlobalAveragePool", ["e"], ["f"], "/pool"),
        helper.make_node("Flatten", ["f"], ["g"], "/flatten"),
        helper.make_node("Gemm", ["g", "fc.weight", "fc.bias"], ["scores"], "/fc"),
    ]
    graph = helper.make_graph(
        nodes,
        "digits",
        [helper.make_tensor_value_info("image", FLOAT, [batch, 1, 28, 28])],
        [helper.make_tensor_value_info("scores", FLOAT, [batch, 10])],
        [numpy_helper.from_array(v.astype(np.float32), k) for k, v in weights.items()],
    )
    opset = helper.make_opsetid("", 17)
    save(helper.make_model(graph, opset_imports=[opset], ir_version=9), str(path))
