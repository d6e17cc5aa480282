"""Structural faults that no text can have: only code that builds IR by hand makes them."""

import numpy as np
import pytest
from xdsl.dialects import arith, cf
from xdsl.dialects.builtin import ModuleOp, i32
from xdsl.ir import Block
from xdsl.utils.exceptions import VerifyException

from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.ir.parsing import make_context, parse_module
from nn_opt.ir.verify import verify
from nn_opt.reference import run


def test_erased_values_are_refused():
    module = ModuleOp([one := arith.ConstantOp.from_int_and_width(1, i32)])
    module.body.block.add_op(arith.AddiOp(one, one))
    one.detach()
    one.erase(safe_erase=False)
    with pytest.raises(VerifyException, match="uses a value whose definition was erased"):
        verify(module)


def test_branches_have_to_be_in_a_block():
    with pytest.raises(VerifyException, match="has successors, but is in no block"):
        verify(cf.BranchOp(Block()))


def test_arguments_of_detached_blocks_are_named():
    block = Block(arg_types=[i32])
    module = ModuleOp([arith.AddiOp(block.args[0], block.args[0])])
    with pytest.raises(VerifyException, match="a value is a block argument of nothing"):
        verify(module)


def test_inputs_of_another_shape_are_refused():
    text = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { func.return %x : tensor<4xf32> }"
    module = parse_module(make_context(), text, "m.mlir")
    with pytest.raises(DiagnosticError, match=r"input has the shape \[5\], expected tensor<4xf32>"):
        run(module, [np.zeros(5, np.float32)])
