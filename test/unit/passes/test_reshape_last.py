"""Reshapes that move behind slices: those of nothing stay."""

from __future__ import annotations

import numpy as np

import nn_opt


def test_a_slice_of_nothing_that_is_split() -> None:
    module = nn_opt.parse("""
      func.func @main(%x: tensor<2x5xf32>, %y: tensor<2x1x0xf32>) -> tensor<2x1x0xf32> {
        %s = graph.slice %x starts [0, 5] sizes [2, 0] steps [1, 1]
          : (tensor<2x5xf32>) -> tensor<2x0xf32>
        %r = graph.reshape %s : (tensor<2x0xf32>) -> tensor<2x1x0xf32>
        %z = graph.add %r, %y : (tensor<2x1x0xf32>, tensor<2x1x0xf32>) -> tensor<2x1x0xf32>
        func.return %z : tensor<2x1x0xf32>
      }""")
    model = nn_opt.compile(module, cache=False, threads=1)
    empty = np.zeros((2, 1, 0), np.float32)
    assert model(np.zeros((2, 5), np.float32), empty).shape == (2, 1, 0)
