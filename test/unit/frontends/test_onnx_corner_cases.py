"""Corner cases that ONNX's own suite leaves out, through compiled code, against NumPy."""

from __future__ import annotations

import numpy as np
from onnx_text import Array, parse

import nn_opt

SPECIAL = [0.0, -0.0, 1, -1, 0.5, 1.5, 2.5, -2.5, 3.7, 1e-3, 100, -30, np.inf, -np.inf, np.nan]


def pairs(dtype: str) -> tuple[Array, Array]:
    """Return every pair of special numbers of a float type."""
    limits = np.finfo(dtype)
    ends = [limits.max, -limits.max, limits.tiny, limits.smallest_subnormal]
    numbers = np.array([*SPECIAL, *ends], dtype)
    left, right = np.meshgrid(numbers, numbers)
    return left, right


def test_remainders_of_floats_are_exact():
    """Any quotient; fmod has the sign of the dividend, else that of the divisor, also of zeros."""
    with np.errstate(all="ignore"):
        singles, doubles = pairs("float32"), pairs("float64")
        wanted = [np.fmod(*singles), np.fmod(*doubles), np.mod(*singles)]
    text = """
    g (float[19,19] a, float[19,19] b, double[19,19] c, double[19,19] d)
      => (float[] y, double[] z, float[] floor) {
      y = Mod<fmod = 1>(a, b)  z = Mod<fmod = 1>(c, d)  floor = Mod(a, b)
    }"""
    got = nn_opt.compile(parse(text, 28), cache=False, threads=1)(*singles, *doubles)
    for ours, theirs in zip(got, wanted, strict=True):
        np.testing.assert_array_equal(ours, theirs)
        zeros = theirs == 0
        assert (np.signbit(ours)[zeros] == np.signbit(theirs)[zeros]).all()
