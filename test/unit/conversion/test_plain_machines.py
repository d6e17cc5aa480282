"""Machines without instructions that others have: the same numbers by other means, run here."""

from __future__ import annotations

import numpy as np
import pytest
from machine import Machine
from numpy.typing import NDArray

import nn_opt

BARE = "x86-64"  # neither rounds, nor fuses, nor converts binary16; and it runs here


def run(op: str, x: NDArray[np.generic], kind: str) -> NDArray[np.generic]:
    n = len(x)
    source, result = (f"tensor<{n}x{word}>" for word in kind.split("->"))
    text = f"""func.func @main(%x: {source}) -> {result} {{
      %y = {op} : {f"({source}) -> {result}" if "cast" in op else source}
      func.return %y : {result}
    }}"""
    return nn_opt.compile(nn_opt.parse(text), target=BARE, cache=False)(x)


SPECIAL = [
    *(0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.49999997, -0.7, 8388609.0, 4194304.5, 3e9),
    *(np.inf, -np.inf, np.nan),
]


@pytest.mark.parametrize(
    ("op", "numpy"), [("floor", np.floor), ("ceil", np.ceil), ("round", np.rint)]
)
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_whole_numbers(op: str, numpy: np.ufunc, kind: type[np.floating]):
    random = np.random.default_rng(0).normal(0, 5, 40)
    x = np.array([*SPECIAL, *random], kind)
    word = "f32" if kind is np.float32 else "f64"
    made = run(f"graph.{op} %x", x, f"{word}->{word}")
    np.testing.assert_array_equal(made, numpy(x))
    np.testing.assert_array_equal(np.signbit(made), np.signbit(numpy(x)))


ROUND = """
func.func @k(%x: memref<64xf32>, %y: memref<64xf32>, %z: memref<64xf32>) {
  loop.for %i = 0 to 16 {
    %a = loop.load %x[4 * %i] : memref<64xf32>, vector<4xf32>
    %b = math.round %a : vector<4xf32>
    %c = math.trunc %a : vector<4xf32>
    loop.store %b, %y[4 * %i] : memref<64xf32>, vector<4xf32>
    loop.store %c, %z[4 * %i] : memref<64xf32>, vector<4xf32>
  }
  func.return
}"""


def test_halves_away_from_zero():
    x = np.array([*SPECIAL, *np.random.default_rng(0).normal(0, 5, 64 - len(SPECIAL))], "f")
    wide = x.astype(np.float64)
    y, z = np.zeros_like(x), np.zeros_like(x)
    Machine(ROUND, target=BARE)("k", x, y, z)
    np.testing.assert_array_equal(y, np.copysign(np.floor(np.abs(wide) + 0.5), wide))
    np.testing.assert_array_equal(z, np.trunc(x))


def test_every_half_becomes_the_same_single():
    x = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    np.testing.assert_array_equal(run("graph.cast %x", x, "f16->f32"), x.astype(np.float32))


def test_singles_are_rounded_to_halves():
    halves = np.arange(0x7C00, dtype=np.uint16).view(np.float16).astype(np.float32)
    middles = (halves[1:] + halves[:-1]) / 2  # ties
    near = np.nextafter(middles[::7], np.float32(9e9))
    more = np.array([65504, 65519, 65520, 1e9, 1e-9, 1e-42, np.inf, np.nan, 0], np.float32)
    x = np.concatenate([halves, middles, near, more])
    x = np.concatenate([x, -x])
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(run("graph.cast %x", x, "f32->f16"), x.astype(np.float16))
