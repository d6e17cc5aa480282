"""Whole models as CUDA and Metal text: compiled for the machines they are for, and executed.

There is no GPU here: CUDA's own compiler says whether kernels fit, threads are fibers of this CPU.
"""

from __future__ import annotations

from functools import cache

import pytest
import tools
from four_models import FOUR, case
from gpu_lowering import lowered
from nvrtc import compile_cuda
from simt_device import run_on_fibers
from simt_metal import check_metal
from xdsl.dialects.builtin import ModuleOp

from bench import models
from nn_opt.backends.source.gpu_languages import language_named
from nn_opt.backends.source.gpu_program import print_kernels

FULL = ("resnet18", "mobilenet_v2")
MACHINES = ("sm_75", "sm_80", "sm_90")
NEWEST = MACHINES[-1]


@cache
def small(name: str, language: str) -> ModuleOp:
    wanted = case(name)
    return lowered(wanted.model, language, wanted.feeds)


def text_of(module: ModuleOp, language: str) -> str:
    return print_kernels(module, language_named(language)).text


@tools.needs("clang++-19", "g++")
@pytest.mark.parametrize("language", ["cuda", "metal"])
@pytest.mark.parametrize("name", [*FOUR, "lstm"])
def test_a_model_computes_the_same(name: str, language: str) -> None:
    """In two orders of threads; races and accesses out of bounds are faults."""
    wanted = case(name)
    wanted.assert_computed(run_on_fibers(small(name, language), wanted.inputs, language))


@tools.needs("nvrtc")
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", FOUR)
def test_cuda_compiles_for_machines(name: str, machine: str) -> None:
    module = small(name, "cuda")
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
@pytest.mark.parametrize("name", FOUR)
def test_metal_has_the_right_types(name: str) -> None:
    check_metal(text_of(small(name, "metal"), "metal"))
