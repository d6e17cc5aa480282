"""Whole models as CUDA and Metal text: compiled for the machines they are for, and executed.

There is no GPU here: CUDA's own compiler says whether kernels fit, threads are fibers of this CPU.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import tools
from gpu_lowering import lowered
from nvrtc import compile_cuda
from simt_device import run_on_fibers
from simt_metal import check_metal
from xdsl.dialects.builtin import ModuleOp

from bench import models, real_models
from nn_opt.backends.source.gpu_languages import language_named
from nn_opt.backends.source.gpu_program import print_kernels

SMALL = ("resnet18", "mobilenet_v2", "bert_tiny", "lstm")
REAL = (("mtcnn_refine", "cuda"), ("voice_window", "metal"))
FULL = ("resnet18", "mobilenet_v2")
MACHINES = ("sm_75", "sm_80", "sm_90")
NEWEST = MACHINES[-1]
TOLERANCE = 1e-4
Feeds = Mapping[str, np.ndarray[Any, Any]]


@cache
def small(name: str) -> tuple[onnx.ModelProto, Feeds]:
    model = models.build_small(name)
    return model, models.sample_inputs(model)


@cache
def small_lowered(name: str, language: str) -> ModuleOp:
    return lowered(small(name)[0], language)


def text_of(module: ModuleOp, language: str) -> str:
    return print_kernels(module, language_named(language)).text


def agree(module: ModuleOp, model: onnx.ModelProto, feeds: Feeds, language: str) -> None:
    session = onnxruntime.InferenceSession(model.SerializeToString())
    expected = session.run(None, dict(feeds))
    names = [value.name for value in session.get_inputs()]
    results = run_on_fibers(module, [feeds[name] for name in names], language)
    for got, want in zip(results, expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=0, atol=TOLERANCE)
        assert got.argmax() == want.argmax()


@tools.needs("clang++-19", "g++")
@pytest.mark.parametrize("language", ["cuda", "metal"])
@pytest.mark.parametrize("name", SMALL)
def test_a_model_computes_the_same(name: str, language: str) -> None:
    """In two orders of threads; races and accesses out of bounds are faults."""
    model, feeds = small(name)
    agree(small_lowered(name, language), model, feeds, language)


@tools.needs("clang++-19", "g++")
@pytest.mark.parametrize(("name", "language"), REAL)
def test_a_trained_model_computes_the_same(name: str, language: str) -> None:
    path = real_models.find(name)
    if path is None:
        tools.lacking(f"needs {name}: run `python -m bench.real_models`")
    model, feeds = onnx.load(path), real_models.sample_inputs(name)
    agree(lowered(model, language, feeds), model, feeds, language)


@tools.needs("nvrtc")
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", SMALL[:-1])
def test_cuda_compiles_for_machines(name: str, machine: str) -> None:
    module = small_lowered(name, "cuda")
    kernels = compile_cuda(text_of(module, "cuda"), machine)
    assert len(kernels) == text_of(module, "cuda").count("__global__")
    if machine == NEWEST:
        assert [kernel for kernel, usage in kernels.items() if usage.spills] == []


@tools.needs("nvrtc")
@pytest.mark.parametrize("name", FULL)
def test_default_schedules_spill_no_registers(name: str) -> None:
    model = models.build(name)
    text = text_of(lowered(model, "cuda"), "cuda")
    kernels = compile_cuda(text, NEWEST)
    assert len(kernels) == text.count("__global__") > 10
    assert [kernel for kernel, usage in kernels.items() if usage.spills] == []
    assert max(usage.shared for usage in kernels.values()) <= 48 * 1024


@tools.needs("clang-19")
@pytest.mark.parametrize("name", SMALL)
def test_metal_has_the_right_types(name: str) -> None:
    check_metal(text_of(small_lowered(name, "metal"), "metal"))
