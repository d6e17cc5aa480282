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


def test_axes_without_elements():
    """Hardmax has no first maximum there, LRN no window over channels."""
    text = """
    g (float[0] a, double[2,0,3] b, float[2,0,1,3] c) => (float[] x, double[] y, float[] z) {
      x = Hardmax<axis = 0>(a)  y = Hardmax<axis = 1>(b)  z = LRN<size = 5>(c)
    }"""
    inputs = [np.zeros(0, np.float32), np.zeros((2, 0, 3)), np.zeros((2, 0, 1, 3), np.float32)]
    got = nn_opt.compile(parse(text, 13), cache=False, threads=1)(*inputs)
    assert [a.shape for a in got] == [(0,), (2, 0, 3), (2, 0, 1, 3)]


def test_sizes_times_scales_are_of_single_precision():
    """2.6 is a little less in float32; its product with 5 is 13, as ONNX infers, not 12."""
    x = np.arange(5, dtype=np.float32)[None]
    places = np.arange(13) / np.float32(2.6)
    head = "g (float[1,5] x) => (float[] y) <float[2] scales = {1.0, 2.6}>"
    y = nn_opt.compile(parse(f"{head} {{ y = Upsample(x, scales) }}", 9), cache=False)(x)
    assert y.tolist() == [np.floor(places).tolist()]
    y = nn_opt.compile(parse(f'{head} {{ y = Resize(x, "", scales) }}', 13), cache=False)(x)
    places = np.clip(places + 0.5 / np.float32(2.6) - 0.5, 0, 4)  # half_pixel, ties to the floor
    assert y.tolist() == [np.ceil(places - 0.5).tolist()]
