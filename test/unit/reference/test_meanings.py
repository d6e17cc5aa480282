"""Meanings that a program registers for ops of its own."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp, TensorType, f16
from xdsl.ir import Dialect
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, var_result_def

import nn_opt
from nn_opt.ir.contexts import REGISTERED as DIALECTS
from nn_opt.reference.meanings import REGISTERED
from nn_opt.reference.running import can_run, run


@irdl_op_definition
class PartsOp(IRDLOperation):
    """x / 2 and x % 2"""

    name = "own.parts"
    x = operand_def(TensorType.constr(f16))
    parts = var_result_def(TensorType.constr(f16))


TEXT = """
func.func @main(%x: tensor<3xf16>) -> (tensor<3xf16>, tensor<3xf16>) {
  %a = graph.neg %x : tensor<3xf16>
  %p, %q = "own.parts"(%a) : (tensor<3xf16>) -> (tensor<3xf16>, tensor<3xf16>)
  func.return %p, %q : tensor<3xf16>, tensor<3xf16>
}
"""


@pytest.fixture
def module() -> Iterator[ModuleOp]:
    nn_opt.register_dialect(Dialect("own", [PartsOp]))
    yield nn_opt.parse(TEXT)
    REGISTERED.pop(PartsOp, None)
    del DIALECTS["own"]


def test_an_op_without_meaning_cannot_run(module: ModuleOp):
    assert not can_run(module)


def test_results_have_the_types_that_the_op_declares(module: ModuleOp):
    @nn_opt.meaning(PartsOp)
    def parts(op: PartsOp, x: np.ndarray):  # pyright: ignore[reportUnusedFunction]
        return x.astype(np.float64) / 2, x % 2

    assert can_run(module)
    halves, rests = run(module, [np.float16([1, 2, 5])])
    assert (halves.dtype, rests.dtype) == (np.float16, np.float16)
    assert halves.tolist() == [-0.5, -1, -2.5]
    assert rests.tolist() == [1, 0, 1]


def test_another_shape_than_declared_is_a_mistake_of_the_meaning(module: ModuleOp):
    nn_opt.meaning(PartsOp)(lambda op, x: (x[:2], x))
    with pytest.raises(AssertionError, match=r"own.parts computed the shape \[2\], declared"):
        run(module, [np.float16([1, 2, 5])])


def test_another_number_of_results_is_a_mistake_of_the_meaning(module: ModuleOp):
    nn_opt.meaning(PartsOp)(lambda op, x: x)
    with pytest.raises(ValueError, match="shorter"):
        run(module, [np.float16([1, 2, 5])])
