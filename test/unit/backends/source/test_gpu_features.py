"""What kernels have beyond scalars, in every language that has it, as the interpreter has it."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import tools
from gpu_features import BY_HAND, FEATURES, inputs, module_of
from opencl import run_opencl, run_webgpu
from simt_device import run_on_fibers

from nn_opt.reference import run

RUNS = {
    "opencl": (run_opencl, ("opencl",)),
    "cuda": (partial(run_on_fibers, language="cuda"), ("clang++-19",)),
    "metal": (partial(run_on_fibers, language="metal"), ("clang++-19",)),
    "wgsl": (run_webgpu, ("wgpu", "vulkan")),
}
CASES = [pytest.param(name, marks=tools.needs(*RUNS[name][1]), id=name) for name in RUNS]


@pytest.mark.parametrize("language", CASES)
def test_kernels_compute_what_the_interpreter_does(language: str):
    features = {name: f for name, f in FEATURES.items() if language in f[0]}
    given = [array for _, _, types in features.values() for array in inputs(types)]
    known = {name: f for name, f in features.items() if name not in BY_HAND}
    first = [array for _, _, types in known.values() for array in inputs(types)]
    wanted = dict(zip(known, run(module_of(list(known.values())), first), strict=True))
    by_hand = {name: by for name, by in BY_HAND.items() if name in features}
    wanted |= {name: by(*inputs(features[name][2])) for name, by in by_hand.items()}
    got = RUNS[language][0](module_of(list(features.values())), given)
    for name, result in zip(features, got, strict=True):
        # A rounding of a half is 2^-11 or 2^-8; exp is off by some ulp of f32.
        rtol = {"halves": 1e-3, "bf16": 8e-3}.get(name, 1e-6)
        a, b = (np.asarray(array).astype(np.float64) for array in (result, wanted[name]))
        a = np.where(np.isnan(b), np.nan, a)  # what no thread has written
        np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-6, err_msg=name)
