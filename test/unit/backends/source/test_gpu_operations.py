"""Every operation, in the text of every language for GPUs: executed, or refused with a reason."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest
import tools
from gpu_operations import gpu_module, has_f64, host_module
from opencl import run_opencl, run_webgpu
from operations import CASES
from simt_device import run_on_fibers
from xdsl.dialects.builtin import ModuleOp

from nn_opt.reference import run

RUNS = [
    pytest.param(run_opencl, marks=tools.needs("opencl"), id="OpenCL"),
    pytest.param(
        partial(run_on_fibers, language="cuda"), marks=tools.needs("clang++-19"), id="CUDA"
    ),
    pytest.param(
        partial(run_on_fibers, language="metal"), marks=tools.needs("clang++-19"), id="Metal"
    ),
    pytest.param(run_webgpu, marks=tools.needs("wgpu", "vulkan"), id="WGSL"),
]
Run = Callable[[ModuleOp, Sequence[Any]], list[Any]]
# Remainders by all orders of magnitude: exact, whatever the quotient.
BITS = np.random.default_rng(5).integers(0, 1 << 32, (2, 256), dtype=np.uint64)
ANY_FLOATS = list(BITS.astype(np.uint32).view(np.float32))
# The functions of OpenCL, 7.4: exp, log and others are off by up to 3 or 4 ulp, tan by 5.
ULP = 5 * 1.2e-7


@pytest.mark.parametrize("execute", RUNS)
def test_every_operation_and_type(execute: Run):
    doubles = execute is run_opencl or getattr(execute, "keywords", {}).get("language") == "cuda"
    cases = CASES if doubles else [case for case in CASES if not has_f64(case)]
    inputs = [array for _, arrays, *_ in cases for array in arrays]
    got = execute(gpu_module(cases), inputs)
    for (name, arrays, types, result, body), a in zip(cases, got, strict=True):
        with np.errstate(all="ignore"):
            (b,) = run(host_module(types, result, body, len(arrays[0])), arrays)
        exact = b.dtype.kind in "ib" or not re.match(r"math\.|divf", name)
        np.testing.assert_allclose(
            a, b, rtol=0 if exact else ULP, atol=0, equal_nan=True, err_msg=name
        )


@pytest.mark.parametrize("execute", RUNS)
def test_remainders_are_exact_however_large_the_quotient(execute: Run):
    body = "%r = arith.remf %a, %b : f32"
    case = ("remf", ANY_FLOATS, ["f32", "f32"], "f32", body)
    (got,) = execute(gpu_module([case]), ANY_FLOATS)
    with np.errstate(all="ignore"):
        x, y = (values.astype(np.float64) for values in ANY_FLOATS)
        np.testing.assert_array_equal(got, np.fmod(x, y).astype(np.float32))
