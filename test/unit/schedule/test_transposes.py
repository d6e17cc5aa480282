"""What is read one way and written another: the numbers on every target, lanes where they can be."""
# ruff: noqa: E501  (lines of IR)

from __future__ import annotations

import numpy as np
import pytest
from kernels import random_inputs
from lowering import lowered

from nn_opt.dialects.loop import ForKind
from nn_opt.ir.target import TARGETS
from nn_opt.reference import run
from nn_opt.schedule.nest import blocks_in, loops_around

TRANSPOSE = """
func.func @transpose(%x: tensor<21x37x{element}>) -> tensor<37x21x{element}> attributes {{kernel}} {{
  %y = tensor.compute "transpose" (%i: 37, %j: 21) : tensor<37x21x{element}> {{
    %a = tensor.read %x[%j, %i] : tensor<21x37x{element}>
    tensor.yield %a : {element}
  }}
  func.return %y : tensor<37x21x{element}>
}}
"""
BLOCK = """
func.func @block(%x: tensor<24x35xf32>) -> tensor<2x35x16xf32> attributes {kernel} {
  %y = tensor.compute "layout" (%o: 2, %p: 35, %i: 16) : tensor<2x35x16xf32> {
    %a = tensor.read %x[16 * %o + %i, %p] or 0.0 : tensor<24x35xf32>
    tensor.yield %a : f32
  }
  func.return %y : tensor<2x35x16xf32>
}
"""


@pytest.mark.parametrize("until", ["apply-schedule", "vectorize-loops"])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("element", ["f32", "f64"])
def test_a_transpose_keeps_the_numbers(element: str, target: str, until: str):
    text = TRANSPOSE.format(element=element)
    inputs = random_inputs(text)
    (result,) = run(lowered(text, target, until), inputs)
    np.testing.assert_array_equal(result, inputs[0].T)


@pytest.mark.parametrize("target", TARGETS)
def test_blocks_are_filled_up_with_zeros(target: str):
    inputs = random_inputs(BLOCK)
    (result,) = run(lowered(BLOCK, target, "vectorize-loops"), inputs)
    filled = np.pad(inputs[0], ((0, 8), (0, 0))).reshape(2, 16, 35)
    np.testing.assert_array_equal(result, filled.transpose(0, 2, 1))


@pytest.mark.parametrize(("element", "lanes"), [("f32", 16), ("f16", 16), ("f64", 8)])
def test_numbers_are_stored_side_by_side(element: str, lanes: int):
    module = lowered(TRANSPOSE.format(element=element), "x86-64-v4", "apply-schedule")
    (block,) = blocks_in(module)
    *_, line, lane = loops_around(block)
    assert (line.how, line.trips) == (ForKind.UNROLL, 16)
    assert (lane.how, lane.trips) == (ForKind.VECTOR, lanes)
