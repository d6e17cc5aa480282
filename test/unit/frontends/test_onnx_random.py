"""Random numbers: their distribution, and that a seed and a name decide them."""

from __future__ import annotations

import numpy as np
import pytest
from onnx_text import Array, at_graph_level, parse

import nn_opt
from nn_opt.dialects.graph.random import philox

COUNT = 20_000


def drawn(node: str, kind: str = "float") -> Array:
    return at_graph_level(parse(f"g () => ({kind}[] y) {{ {node} }}", 22), {})[0]


@pytest.mark.parametrize("kind", [1, 10, 11])
def test_uniform_numbers_fill_their_range(kind: int) -> None:
    text = f"RandomUniform<shape = [{COUNT}], low = -1.0, high = 3.0, seed = 1.0, dtype = {kind}>"
    numbers = drawn(f"y = {text}()", {1: "float", 10: "float16", 11: "double"}[kind]).astype(
        np.float64
    )
    assert -1 <= numbers.min() < -0.99
    assert 2.99 < numbers.max() <= 3
    counts = np.histogram(numbers, 20, (-1, 3))[0]
    chi = ((counts - COUNT / 20) ** 2 / (COUNT / 20)).sum()
    assert chi < 43.8  # 19 degrees of freedom: one in a thousand is above


def test_normal_numbers_have_their_moments() -> None:
    numbers = drawn(f"y = RandomNormal<shape = [{COUNT}], mean = 2.0, scale = 3.0, seed = 4.0>()")
    z = (numbers.astype(np.float64) - 2) / 3
    moments = [np.mean(z**k) for k in (1, 2, 3, 4)]
    np.testing.assert_allclose(moments, [0, 1, 0, 3], atol=0.15)
    assert np.abs(np.corrcoef(z[:-1], z[1:])[0, 1]) < 0.03


def test_seeds_and_names_decide() -> None:
    def of(text: str) -> Array:
        return drawn(f"{text} = RandomUniform<shape = [8]>()")

    seeded = "RandomUniform<shape = [8], seed = 2.0>()"
    assert np.array_equal(drawn(f"[a] y = {seeded}"), drawn(f"[b] y = {seeded}"))
    assert np.array_equal(of("[a] y"), of("[a] y"))
    assert not np.array_equal(of("[a] y"), of("[b] y"))


def test_like_takes_shape_and_type() -> None:
    text = "g (double[2,3] x) => (double[] y, float[] z) { y = RandomNormalLike(x)"
    model = parse(text + " z = RandomUniformLike<dtype = 1>(x) }", 22)
    results = at_graph_level(model, {"x": np.zeros((2, 3))})
    assert [(r.shape, r.dtype) for r in results] == [((2, 3), np.float64), ((2, 3), np.float32)]


def test_draws_follow_probabilities() -> None:
    text = "g (float[2,3] x, float[40,50] p) => (int64[] y, bool[] z)"
    text += " { y = Multinomial<dtype = 7, sample_size = 4000, seed = 3.0>(x)"
    model = parse(text + " z = Bernoulli<dtype = 9, seed = 5.0>(p) }", 22)
    shares = np.array([[0.2, 0.5, 0.3], [0.0, 0.9, 0.1]])
    with np.errstate(divide="ignore"):
        logits = np.log(shares).astype(np.float32)
    chances = np.full((40, 50), 0.3, np.float32)
    found, below = nn_opt.compile(model, threads=1).run({"x": logits, "p": chances}).values()
    counted = [np.bincount(row, minlength=3) / 4000 for row in found]
    np.testing.assert_allclose(counted, shares, atol=0.03)
    assert counted[1][0] == 0
    assert abs(below.mean() - 0.3) < 0.04


def test_bits_are_those_of_philox() -> None:
    # Source: Random123's known answers of philox2x32-10: counter (0, 0), key 0, and all ones.
    assert philox(np.array([0], np.uint64), 0)[0] == 0xFF1DAE59
    assert philox(np.array([2**64 - 1], np.uint64), 2**32 - 1)[0] == 0x2C3F628B
