"""Random splits, orders, tails and kinds of one nest: every way to write it computes the same."""

from __future__ import annotations

import numpy as np
import pytest
from tensor_kernels import apply, parse

from nn_opt.passes.lower_blocks import LowerBlocksPass
from nn_opt.passes.vectorize_loops import VectorizeLoopsPass
from nn_opt.reference.running import make_interpreter

ROWS, COLUMNS, TERMS = 6, 10, 5


class Axis:
    """One axis, split in two loops with a guarded tail, split evenly, or whole."""

    def __init__(self, rng: np.random.Generator, name: str, size: int):
        self.name, self.size = name, size
        inner = int(rng.integers(1, size + 1))
        if rng.random() < 0.6:
            inner = int(rng.choice([n for n in range(1, size + 1) if size % n == 0]))
        outer = -(-size // inner)
        self.loops = [(f"{name}o", outer), (f"{name}i", inner)]
        self.binding = f"{inner} * %{name}o + %{name}i"
        self.condition = f"{size - 1} - {inner} * %{name}o - %{name}i >= 0"
        self.guarded = inner * outer != size
        if rng.random() < 0.3:
            self.loops, self.binding, self.guarded = [(name, size)], f"%{name}", False
        elif rng.random() < 0.3:
            total = outer * inner
            self.loops = [(name, total)]
            self.binding = f"{inner} * (%{name} floordiv {inner}) + %{name} mod {inner}"
            self.condition = f"{size - 1} - %{name} >= 0"


def nest(rng: np.random.Generator) -> str:
    """Return text of y[i, j] = sum of x[i + k - 1, j] * w[k, j] over k, and 1 outside of x."""
    axes = [Axis(rng, *axis) for axis in (("i", ROWS), ("j", COLUMNS), ("k", TERMS))]
    loops = [loop for axis in axes[:2] for loop in axis.loops]
    rng.shuffle(loops)
    tail = axes[2].loops + (loops[-1:] if rng.random() < 0.5 else [])
    loops = [one for one in loops if one not in tail] + tail  # sums in order, lanes may be inside
    guards = [axis.condition for axis in axes if axis.guarded]
    vector = rng.random() < 0.7 and not guards
    heads: list[str] = []
    for position, (name, trips) in enumerate(loops):
        kind = rng.choice(["", " unroll", " parallel"]) if name[0] != "k" else ""
        if vector and position == len(loops) - 1:
            kind = " vector"
        heads.append(f"loop.for %{name} = 0 to {trips}{kind} {{")
    kinds = ("par", "par", "reduce")
    bound = ", ".join(
        f"%b{axis.name} = {axis.binding} : {kind} {axis.size}"
        for axis, kind in zip(axes, kinds, strict=True)
    )
    where = f" where ({', '.join(guards)})" if guards else ""
    newline = "\n"
    return f"""
    func.func @main(%x: memref<6x10xf32>, %w: memref<5x10xf32>, %y: memref<6x10xf32>) {{
      {newline.join(heads)}
      loop.block "sum" ({bound}){where} {{
        %a = loop.load %x[%bi + %bk - 1, %bj] or 1.0 : memref<6x10xf32>
        %b = loop.load %w[%bk, %bj] : memref<5x10xf32>
        %o = loop.load %y[%bi, %bj] : memref<6x10xf32>
        %n = math.fma %a, %b, %o : f32
        loop.store %n, %y[%bi, %bj] : memref<6x10xf32>
      }} init {{
        %z = arith.constant 0.0 : f32
        loop.store %z, %y[%bi, %bj] : memref<6x10xf32>
      }}
      {"}" * len(heads)}
      func.return
    }}"""


def wanted(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    padded = np.pad(x.astype(np.float64), ((1, TERMS), (0, 0)), constant_values=1)
    return sum(padded[k : k + ROWS] * w[k] for k in range(TERMS))


@pytest.mark.parametrize("seed", range(60))
def test_every_way_computes_the_same(seed: int):
    rng = np.random.default_rng(seed)
    module = parse(nest(rng))
    x = rng.standard_normal((ROWS, COLUMNS)).astype(np.float32)
    w = rng.standard_normal((TERMS, COLUMNS)).astype(np.float32)
    for step in (None, LowerBlocksPass(), VectorizeLoopsPass()):
        apply(module, *([step] if step else []))
        y = np.full((ROWS, COLUMNS), np.nan, np.float32)
        make_interpreter(module).call_op("main", (x, w, y))
        np.testing.assert_allclose(y, wanted(x, w), rtol=1e-5, atol=1e-5)
