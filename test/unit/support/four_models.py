"""The four models that every backend computes in the tests, and what onnxruntime makes of them.

Three networks at a small size, and a trained one that says whether a window of sound is a voice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np
import onnx
import onnxruntime
import tools
from numpy.typing import NDArray

from bench import models, real_models

TRAINED = "voice_window"
FOUR = ("resnet18", "mobilenet_v2", "bert_tiny", TRAINED)
TOLERANCE = 1e-4
Array: TypeAlias = NDArray[Any]


@dataclass(frozen=True)
class Case:
    """A model and inputs in its order; `expected` is what onnxruntime computes of them."""

    model: onnx.ModelProto
    feeds: dict[str, Array]
    expected: list[Array]

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """What the inputs are, for models that leave it open."""
        return {name: array.shape for name, array in self.feeds.items()}

    @property
    def inputs(self) -> list[Array]:
        return list(self.feeds.values())

    def assert_computed(self, outputs: Sequence[Array]) -> None:
        assert_same(outputs, self.expected)


@cache
def case(name: str) -> Case:
    """Return one of the four, or another model of the benchmarks at a small size."""
    if name == TRAINED:
        return _known(trained(), real_models.sample_inputs(TRAINED))
    model = models.build_small(name)
    return _known(model, models.sample_inputs(model))


@cache
def full_case(name: str) -> Case:
    """Return one of the four at its full size."""
    if name == TRAINED:
        return case(name)
    model = models.build(name)
    return _known(model, models.sample_inputs(model))


def _known(model: onnx.ModelProto, feeds: dict[str, Array]) -> Case:
    """Return a case each of whose answers is worth comparing."""
    made = make_case(model, feeds)
    for want in made.expected:
        assert np.abs(want).max() > 10 * TOLERANCE, "the comparison would be vacuous"
    return made


def make_case(model: onnx.ModelProto, feeds: dict[str, Array]) -> Case:
    session = onnxruntime.InferenceSession(model.SerializeToString())
    ordered = {value.name: feeds[value.name] for value in session.get_inputs()}
    return Case(model, ordered, [np.asarray(y) for y in session.run(None, ordered)])


def trained() -> onnx.ModelProto:
    path = real_models.find(TRAINED)
    if path is None:
        tools.lacking(f"needs {TRAINED}: run `python -m bench.real_models`")
    return onnx.load(path)


def assert_same(outputs: Sequence[Array], expected: Sequence[Array]) -> None:
    """Assert that all answers are within 1e-4, and that the top ones are the same."""
    for got, want in zip(outputs, expected, strict=True):
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        assert want.size == 1 or np.std(want) > 10 * TOLERANCE, "all answers are the same"
        np.testing.assert_allclose(got, want, rtol=0, atol=TOLERANCE)
        np.testing.assert_array_equal(got.argmax(-1), want.argmax(-1))
