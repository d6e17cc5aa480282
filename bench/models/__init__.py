"""Networks of well-known structure with seeded weights: the name alone decides every byte.

python -m bench.models FOLDER [NAME ...]     write the named models as .onnx (default: all)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from bench.models.language import bert, gpt, mlp, recurrent
from bench.models.vision import mobilenet_v1, mobilenet_v2, resnet, squeezenet, vgg

Build = Callable[[str], onnx.ModelProto]

MODELS: dict[str, Build] = {
    "resnet18": lambda name: resnet(name, (2, 2, 2, 2), bottleneck=False),
    "resnet50": lambda name: resnet(name, (3, 4, 6, 3), bottleneck=True),
    "mobilenet_v1": mobilenet_v1,
    "mobilenet_v2": mobilenet_v2,
    "squeezenet1_1": squeezenet,
    "vgg16": vgg,
    "bert_tiny": lambda name: bert(name, 2, 128, 2),
    "bert_mini": lambda name: bert(name, 4, 256, 4),
    "bert_base": lambda name: bert(name, 12, 768, 12, vocabulary=8192),
    "gpt_small": lambda name: gpt(name, 2, 384, 6),
    "mlp": mlp,
    "lstm": lambda name: recurrent(name, "LSTM"),
    "gru": lambda name: recurrent(name, "GRU"),
}

# The same structures with few, narrow blocks: small enough to interpret at every level.
SMALL: dict[str, Build] = {
    "resnet18": lambda name: resnet(name, (1, 1), bottleneck=False, width=8, edge=32, classes=10),
    "resnet50": lambda name: resnet(name, (1, 1), bottleneck=True, width=4, edge=32, classes=10),
    "mobilenet_v1": lambda name: mobilenet_v1(
        name, ((16, 1), (32, 2)), stem=8, edge=32, classes=10
    ),
    "mobilenet_v2": lambda name: mobilenet_v2(
        name, ((1, 8, 1, 1), (3, 12, 2, 2)), stem=8, head=32, edge=32, classes=10
    ),
    "squeezenet1_1": lambda name: squeezenet(
        name, ((4, 8), (4, 8), (6, 12)), stem=8, edge=32, classes=10
    ),
    "vgg16": lambda name: vgg(name, ((4, 1), (8, 2)), hidden=32, edge=16, classes=10),
    "bert_tiny": lambda name: bert(name, 1, 16, 2, length=8, vocabulary=40),
    "bert_mini": lambda name: bert(name, 1, 24, 4, length=8, vocabulary=40),
    "bert_base": lambda name: bert(name, 2, 24, 3, length=8, vocabulary=40),
    "gpt_small": lambda name: gpt(name, 1, 24, 3, length=8, vocabulary=40),
    "mlp": lambda name: mlp(name, (20, 32, 16, 10)),
    "lstm": lambda name: recurrent(name, "LSTM", layers=2, length=6, features=8, hidden=12),
    "gru": lambda name: recurrent(name, "GRU", layers=2, length=6, features=8, hidden=12),
}


def build(name: str) -> onnx.ModelProto:
    """Return the named model; KeyError for a name that MODELS does not list."""
    return MODELS[name](name)


def build_small(name: str) -> onnx.ModelProto:
    """Return the small variant of the named model."""
    return SMALL[name](f"{name}_small")


def sample_inputs(model: onnx.ModelProto, seed: int = 0) -> dict[str, NDArray[Any]]:
    """Return seeded inputs: normal floats; integers that are valid token ids, kinds and masks."""
    random = np.random.default_rng(seed)
    samples: dict[str, NDArray[Any]] = {}
    for value in model.graph.input:
        shape = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        if value.type.tensor_type.elem_type == onnx.TensorProto.INT64:
            top = 32 if value.name == "input_ids" else 2
            samples[value.name] = random.integers(0, top, shape)
        else:
            samples[value.name] = random.standard_normal(shape, np.float32)
    return samples
