"""The benchmark models' small variants and real trained models, imported and interpreted."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest
import tools
from onnx_text import at_graph_level, in_onnxruntime, relative_error

from bench import models, real_models

# float32 sums in another order over a few dozen layers
TOLERANCE = 1e-5


@pytest.mark.parametrize("name", models.SMALL)
def test_small_variant_agrees_with_onnxruntime(name: str) -> None:
    model = models.build_small(name)
    onnx.checker.check_model(model, full_check=True)
    inputs = models.sample_inputs(model)
    expected = in_onnxruntime(model, inputs)
    for got, want in zip(at_graph_level(model, inputs), expected, strict=True):
        assert np.std(want) > 1e-3, "the comparison would be vacuous"
        assert relative_error(got, want) < TOLERANCE


def test_a_name_decides_every_byte() -> None:
    first, second = (models.build_small("mlp").SerializeToString() for _ in range(2))
    assert first == second
    assert first != models.build("mlp").SerializeToString()


@pytest.mark.parametrize("name", ["mobilenet_v2", "bert_tiny"])
def test_full_model_is_well_formed(name: str) -> None:
    onnx.checker.check_model(models.build(name), full_check=True)


@pytest.mark.parametrize("name", real_models.MODELS)
def test_real_model_agrees_with_onnxruntime(name: str) -> None:
    path = real_models.find(name)
    if path is None:
        tools.lacking(f"needs {name}: run `python -m bench.real_models`")
    inputs = real_models.sample_inputs(name)
    session = onnxruntime.InferenceSession(str(path))
    assert set(inputs) == {value.name for value in session.get_inputs()}
    expected = in_onnxruntime(path, inputs)
    for got, want in zip(at_graph_level(path, inputs), expected, strict=True):
        assert got.shape == want.shape
        assert relative_error(got, want) < real_models.MODELS[name].tolerance
