"""Kernels of each kind on GPUs: right in the interpreter's threads, without races, on a device."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tools
from gpu_kinds import KINDS, inputs_of, lowered, program
from oclgrind import Job, run_under_oclgrind
from opencl import run_opencl
from xdsl.dialects.builtin import ModuleOp

from nn_opt.dialects.loop import ForOp
from nn_opt.ir.parsing import make_context, parse_module
from nn_opt.ir.resources import Array
from nn_opt.reference import run

ALL = program(KINDS)
SLOW = ("long sums", "whole", "softmax of too long rows")  # where one element follows another
PLAIN = program({name: kind for name, kind in KINDS.items() if name not in SLOW})
# Each way to spread work over threads once: a compiler takes a third of a second for a kernel.
ON_DEVICE = (
    "vectors",
    "long sums",
    "softmax",
    "softmax of rows at once",
    "layer norm",
    "first of greatest",
    "running sums",
    "row by weights in blocks",
    "transpose",
    "attention",
)
FEW = program({name: KINDS[name] for name in ON_DEVICE})


@pytest.fixture(scope="module")
def kernels() -> ModuleOp:
    return lowered(ALL, "lower-to-loops lower-to-gpu")


def expected(text: str, inputs: list[Array]) -> list[Array]:
    """Return what the graph means; floats in double precision."""
    wide = [x.astype(np.float64) if x.dtype == np.float32 else x for x in inputs]
    module = parse_module(make_context(), text.replace("f32", "f64"), "kind.mlir")
    return run(module, wide)


def assert_right(results: list[Array], text: str, inputs: list[Array]) -> None:
    for result, want in zip(results, expected(text, inputs), strict=True):
        # float32 sums of up to 34000 numbers in another order
        np.testing.assert_allclose(result, want, rtol=3e-5, atol=3e-5)


def test_scheduled_loops_compute_the_same() -> None:
    inputs = inputs_of(PLAIN)
    assert_right(run(lowered(PLAIN, "lower-to-loops"), inputs), PLAIN, inputs)


def test_threads_compute_the_same_without_races(kernels: ModuleOp) -> None:
    inputs = inputs_of(ALL)
    assert_right(run(kernels, inputs), ALL, inputs)


@pytest.mark.parametrize("name", KINDS)
def test_every_stage_is_bound(name: str) -> None:
    module = lowered(KINDS[name].text(), "lower-to-loops")
    nests = [op for op in module.walk() if isinstance(op, ForOp) and op.parent_op() is not None]
    tops = [op for op in nests if not isinstance(op.parent_op(), ForOp)]
    assert all(op.how.is_block for op in tops)


@tools.needs("opencl")
def test_a_device_computes_the_same() -> None:
    inputs = inputs_of(FEW)
    module = lowered(FEW, "lower-to-loops lower-to-gpu")
    assert_right(run_opencl(module, inputs), FEW, inputs)


@tools.needs("oclgrind")
def test_oclgrind_finds_nothing(kernels: ModuleOp, tmp_path: Path) -> None:
    inputs = inputs_of(ALL)
    report = run_under_oclgrind({"kinds": Job(kernels, inputs)}, tmp_path)
    assert not report.findings, report.log
    assert_right(report.outputs["kinds"], ALL, inputs)
