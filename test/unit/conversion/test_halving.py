"""Sums and products of lanes: by halves in one order, to the bit, on every machine."""

from __future__ import annotations

import numpy as np
import pytest
from machine import llvm_text, run

OPERATIONS = {"add": np.add, "mul": np.multiply}


def kernel(kind: str, lanes: int, accumulator: bool) -> str:
    more = ", %old" if accumulator else ""
    return f"""
    func.func @k(%x: memref<{lanes}xf32>, %y: memref<1xf32>) {{
      %v = loop.load %x[0] : memref<{lanes}xf32>, vector<{lanes}xf32>
      %old = loop.load %y[0] : memref<1xf32>
      %s = vector.reduction <{kind}>, %v{more} fastmath<reassoc> : vector<{lanes}xf32> into f32
      loop.store %s, %y[0] : memref<1xf32>
      func.return
    }}"""


@pytest.mark.parametrize("lanes", [2, 3, 4, 6, 8, 16, 24, 64])
@pytest.mark.parametrize("kind", OPERATIONS)
@pytest.mark.parametrize("accumulator", [False, True])
def test_lanes_are_combined_by_halves(kind: str, lanes: int, accumulator: bool):
    combine = OPERATIONS[kind]
    x = np.random.default_rng(lanes).standard_normal(lanes).astype(np.float32)
    y = np.array([1.5], np.float32)
    halves = x
    while len(halves) > 2 and len(halves) % 2 == 0:
        halves = combine(*np.split(halves, 2))
    wanted = halves[0]
    for item in halves[1:]:
        wanted = combine(wanted, item)
    if accumulator:
        wanted = combine(y[0], wanted)
    run(kernel(kind, lanes, accumulator), "k", x, y)
    assert y[0] == wanted


def test_no_instruction_may_round_as_it_likes():
    text = llvm_text(kernel("add", 16, True))
    assert not any(word in text for word in ("reassoc", "contract", "fast ", "vector.reduce"))
