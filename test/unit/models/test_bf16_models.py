"""Small networks in bf16 against onnxruntime in f32: the error of each kind, one thread or two."""

from __future__ import annotations

import numpy as np
import pytest
from onnx_text import Array, in_onnxruntime

import nn_opt
from bench import models
from nn_opt.ir.target import host

pytestmark = pytest.mark.skipif(
    not host().has("avx512bf16"), reason="this processor lacks avx512bf16"
)

# |got - want| / |want|, Euclidean, of the worst output. A rounding is off by 2^-9 = 2e-3 at most.
BOUNDS = {
    "resnet18": 1e-2,
    "resnet50": 1e-2,
    "mobilenet_v1": 1e-2,
    "mobilenet_v2": 1e-2,
    "squeezenet1_1": 1e-2,
    "vgg16": 2e-2,
    "bert_tiny": 2e-2,
    "gpt_small": 2e-2,
    "mlp": 5e-3,
    "lstm": 1e-2,
    "gru": 1e-2,
}


@pytest.mark.parametrize("name", BOUNDS)
def test_networks_in_bf16(name: str):
    model = models.build_small(name)
    inputs = models.sample_inputs(model)
    expected = in_onnxruntime(model, inputs)
    compiled = nn_opt.compile(model, precision="bf16", threads=1, cache=False)
    one = compiled.run(inputs)
    errors = [norm_of_error(got, want) for got, want in zip(one.values(), expected, strict=True)]
    assert 1e-7 < max(errors) < BOUNDS[name]
    for got, want in zip(compiled.run(inputs, threads=2).values(), one.values(), strict=True):
        np.testing.assert_array_equal(got, want)


def norm_of_error(got: Array, want: Array) -> float:
    exact = want.astype(np.float64)
    return float(np.linalg.norm(got - exact) / np.linalg.norm(exact))
