"""Print one convolution with ReLU at every level, from whole tensors down to machine code.

Run: python examples/ir_levels.py [level ...]
"""

from __future__ import annotations

import sys

import numpy as np

import nn_opt

TEXT = """
func.func @main(%x: tensor<1x8x10x10xf32>, %w: tensor<16x8x3x3xf32>) -> tensor<1x16x8x8xf32> {
  %y = graph.conv %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 1
       : (tensor<1x8x10x10xf32>, tensor<16x8x3x3xf32>) -> tensor<1x16x8x8xf32>
  %z = graph.relu %y : tensor<1x16x8x8xf32>
  func.return %z : tensor<1x16x8x8xf32>
}
"""
LEVELS = ("source", "graph", "tensor", "loop", "llvm", "llvm-ir", "asm")
LINES = 40  # the lower levels are long


def main() -> None:
    model = nn_opt.compile(nn_opt.parse(TEXT))
    for level in sys.argv[1:] or LEVELS:
        lines = model.ir(level).splitlines()
        print(f"=== {level}: {len(lines)} lines")
        print("\n".join(lines[:LINES]), end="\n\n")
    x = np.ones((1, 8, 10, 10), np.float32)
    w = np.full((16, 8, 3, 3), 0.5, np.float32)
    print("8 * 3 * 3 products of 1 and 0.5:", model(x, w)[0, 0, 0, 0])


if __name__ == "__main__":
    main()
