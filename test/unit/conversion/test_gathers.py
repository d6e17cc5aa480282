import numpy as np
import pytest
from machine import run

from nn_opt.passes.vectorize_loops import VectorizeLoopsPass

TEXT = """
func.func @gather(%x: memref<6x8xf32>, %r: memref<16xi32>, %y: memref<16xf32>) {{
  loop.for %l = 0 to 16 vector {{
    %i = loop.load %r[%l] : memref<16xi32>
    %k = arith.index_cast %i : i32 to index
    %a = loop.load %x[{place}]{default} : memref<6x8xf32>
    loop.store %a, %y[%l] : memref<16xf32>
  }}
  func.return
}}
"""
X = np.arange(48, dtype=np.float32).reshape(6, 8)
LANES = np.arange(16)


def gathered(place: str, rows: np.ndarray, default: str = "") -> np.ndarray:
    y = np.full(16, np.nan, np.float32)
    text = TEXT.format(place=place, default=default)
    run(text, "gather", X, rows.astype(np.int32), y, passes=[VectorizeLoopsPass()])
    return y


@pytest.mark.parametrize(
    ("place", "columns"),
    [
        ("%k, %l floordiv 2", LANES // 2),
        ("%k, (3 * %l + 1) mod 7", (3 * LANES + 1) % 7),
        ("%k, (%l - 9) floordiv 3 + 3", (LANES - 9) // 3 + 3),
        ("%k, (%l - 20) mod 5", (LANES - 20) % 5),
    ],
)
def test_rows_that_only_the_run_knows(place: str, columns: np.ndarray):
    rows = np.random.default_rng(1).integers(0, 6, 16)
    np.testing.assert_array_equal(gathered(place, rows), X[rows, columns])


def test_lanes_outside_take_the_default():
    rows = np.arange(16) - 5
    inside = (rows >= 0) & (rows < 6)
    wanted = np.where(inside, X[np.clip(rows, 0, 5), LANES % 8], -1.5)
    np.testing.assert_array_equal(gathered("%k, %l mod 8", rows, " or -1.5"), wanted)
