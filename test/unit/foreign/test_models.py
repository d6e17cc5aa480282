"""Whole models on other machines: the same answers as onnxruntime's, within 1e-4."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import tools
from foreign import MACHINES, run_foreign
from numpy.typing import NDArray

import nn_opt
from bench import real_models
from bench.models import build_small, sample_inputs
from nn_opt.frontends.onnx import import_model

MODELS = ("resnet18", "mobilenet_v2", "bert_tiny")
Array = NDArray[Any]


def wanted(model: onnx.ModelProto, feeds: dict[str, Array]) -> list[Array]:
    session = onnxruntime.InferenceSession(model.SerializeToString())
    return session.run(None, feeds)


def assert_same(outputs: list[Array], expected: list[Array]) -> None:
    for made, right in zip(outputs, expected, strict=True):
        scale = max(1.0, float(np.abs(right).max()))
        np.testing.assert_allclose(made, right, rtol=0, atol=1e-4 * scale)
        np.testing.assert_array_equal(made.argmax(-1), right.argmax(-1))


@pytest.mark.parametrize("machine", ["aarch64", "riscv64"])
@pytest.mark.parametrize("name", MODELS)
def test_models_on(name: str, machine: str, tmp_path: Path):
    model = build_small(name)
    feeds = sample_inputs(model)
    outputs = run_foreign(import_model(model), MACHINES[machine], feeds, tmp_path)
    assert_same(outputs, wanted(model, feeds))


@pytest.mark.parametrize("target", ["wasm", "js"])
@pytest.mark.parametrize("name", MODELS)
def test_models_in_engines(name: str, target: str):
    for tool in ("wasmtime", "wasm-ld") if target == "wasm" else ("node",):
        tools.need(tool)
    model = build_small(name)
    feeds = sample_inputs(model)
    compiled = nn_opt.compile(model, target=target, cache=False)
    assert_same(list(compiled.run(feeds).values()), wanted(model, feeds))


def real_model() -> tuple[onnx.ModelProto, dict[str, Array]]:
    """Return a trained network and an input of its kind: what language a file is in."""
    path = real_models.find("magika")
    if path is None:
        tools.lacking("needs magika: run `python -m bench.real_models`")
    return onnx.load(path), real_models.sample_inputs("magika")


@pytest.mark.parametrize("machine", ["aarch64", "riscv64"])
def test_a_trained_model_on(machine: str, tmp_path: Path):
    model, feeds = real_model()
    module = import_model(model, shapes={name: array.shape for name, array in feeds.items()})
    outputs = run_foreign(module, MACHINES[machine], feeds, tmp_path)
    assert_same(outputs, wanted(model, feeds))


def test_a_trained_model_in_webassembly():
    tools.need("wasmtime")
    tools.need("wasm-ld")
    model, feeds = real_model()
    shapes = {name: array.shape for name, array in feeds.items()}
    compiled = nn_opt.compile(model, target="wasm", cache=False, shapes=shapes)
    assert_same(list(compiled.run(feeds).values()), wanted(model, feeds))
