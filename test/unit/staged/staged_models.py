"""Models in ONNX's text, what runs them, and how often the compiler is asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from numpy.typing import NDArray
from onnx import ModelProto

import nn_opt
import nn_opt.compiler

Array = NDArray[Any]


def ints(*numbers: int) -> Array:
    """Return a vector of int64."""
    return np.asarray(numbers, np.int64)


def reals(*numbers: float) -> Array:
    """Return a vector of float32."""
    return np.asarray(numbers, np.float32)


def parsed(text: str, opset: int = 20) -> ModelProto:
    """Return a model of ONNX's text, checked."""
    head = f'<ir_version: 9, opset_import: ["": {opset}]>\n'
    model = onnx.parser.parse_model(head + text)
    onnx.checker.check_model(model)  # pyright: ignore[reportUnknownMemberType]
    return model


def compiled(text: str, opset: int = 20) -> nn_opt.Model:
    """Return a model of ONNX's text, compiled, without a cache."""
    return nn_opt.compile(parsed(text, opset), cache=False, threads=1)


def by_onnxruntime(model: ModelProto, inputs: dict[str, Any]) -> list[Any]:
    """Return what onnxruntime computes."""
    providers = ["CPUExecutionProvider"]
    session: Any = onnxruntime.InferenceSession(model.SerializeToString(), providers=providers)
    return list(session.run(None, inputs))


def check(text: str, *calls: dict[str, Any], opset: int = 20) -> nn_opt.Model:
    """Compare calls of one compiled model with onnxruntime; return the model."""
    proto = parsed(text, opset)
    model = nn_opt.compile(proto, cache=False, threads=1)
    for inputs in calls:
        for got, expected in zip(
            model.run(inputs).values(), by_onnxruntime(proto, inputs), strict=True
        ):
            assert np.shape(got) == np.shape(expected)
            np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)
    return model


def counting(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Count from now on how often something is compiled; return what says the number."""
    count = 0
    before = nn_opt.compiler.Builder._built  # pyright: ignore[reportPrivateUsage]

    def built(self: Any, *arguments: Any) -> Any:
        nonlocal count
        artifact = before(self, *arguments)
        count += 1
        return artifact

    monkeypatch.setattr(nn_opt.compiler.Builder, "_built", built)
    return lambda: count
