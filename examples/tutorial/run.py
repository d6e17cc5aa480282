"""Compile a module with an op of one's own, run it, and compare it with NumPy.

Run: python examples/tutorial/run.py
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import nn_opt

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import rms_norm  # noqa: E402 (lies beside this file)

# [module]
TEXT = """
func.func @main(%x: tensor<64x512xf32>, %s: tensor<512xf32>, %t: tensor<512xf32>)
    -> tensor<64x512xf32> {
  %y = norm.rms %x, %s epsilon 1.0e-5 : tensor<64x512xf32>, tensor<512xf32>
  %z = graph.mul %y, %t : (tensor<64x512xf32>, tensor<512xf32>) -> tensor<64x512xf32>
  func.return %z : tensor<64x512xf32>
}
"""
# [/module]


# [numpy]
def by_numpy(x, s, t):
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + np.float32(1e-5)) * s * t


# [/numpy]


def microseconds(call: Callable[[], object], repeat: int = 200) -> float:
    """Return the least time of some calls."""
    best = float("inf")
    for _ in range(repeat):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best * 1e6


def main() -> None:
    # [run]
    pipeline = nn_opt.Pipeline(
        "fold-norm-scale",
        "norm-into-kernel",
        rms_norm.ConvertNormToTensorPass(),
    )
    model = nn_opt.compile(pipeline.run(nn_opt.parse(TEXT)), threads=1)

    rng = np.random.default_rng(0)
    x, s, t = (rng.normal(size=shape).astype("f") for shape in ((64, 512), 512, 512))
    error = np.abs(model(x, s, t) - by_numpy(x, s, t)).max()
    assert error < 1e-5
    # [/run]
    print(f"largest difference from NumPy: {error:.1e}")
    print(f"nn-opt {microseconds(lambda: model(x, s, t)):.1f} us")
    print(f"NumPy  {microseconds(lambda: by_numpy(x, s, t)):.1f} us")


if __name__ == "__main__":
    main()
