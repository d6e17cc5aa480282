"""Regions of graph ops in the interpreter, and ops that it does not know."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from against_onnx import F32, normal
from xdsl.builder import ImplicitBuilder
from xdsl.dialects import builtin, func
from xdsl.dialects.test import TestOp
from xdsl.interpreter import Interpreter
from xdsl.interpreters.func import FuncFunctions
from xdsl.ir import Block, Region

from nn_opt.dialects import graph
from nn_opt.ir.types import mlir_type, tensor_type
from nn_opt.reference.graph import FUNCTIONS, evaluate


def test_evaluate_has_no_meaning_for_foreign_ops():
    op = TestOp(result_types=[tensor_type((1,), mlir_type(np.dtype(F32)))])
    with pytest.raises(KeyError):
        evaluate(op, [])


def interpret(block: Block, results: list[Any], *inputs: np.ndarray) -> tuple[Any, ...]:
    block.add_op(func.ReturnOp(*results))
    types = [value.type for value in results]
    function = func.FuncOp("main", ([a.type for a in block.args], types), Region(block))
    module = builtin.ModuleOp([function])
    module.verify()
    interpreter = Interpreter(module)
    for functions in (FuncFunctions, *FUNCTIONS):
        interpreter.register_implementations(functions())
    return interpreter.call_op("main", inputs)


def test_fused_runs_its_body():
    type_ = tensor_type((4,), mlir_type(np.dtype(F32)))
    block, body = Block(arg_types=[type_]), Block(arg_types=[type_])
    with ImplicitBuilder(body) as (a,):
        graph.YieldOp(graph.AddOp(graph.ReluOp(a).result, a).result)
    with ImplicitBuilder(block) as (x,):
        fused = graph.FusedOp([x], [type_], Region(body))
    (result,) = interpret(block, [fused.results[0]], np.array([-1, 2, -3, 4], F32))
    np.testing.assert_array_equal(result, np.array([-1, 4, -3, 8], F32))


@pytest.mark.parametrize("reverse", [False, True])
def test_scan_carries_states_and_stacks_outputs(reverse: bool):
    f32 = mlir_type(np.dtype(F32))
    row, rows = tensor_type((2,), f32), tensor_type((3, 2), f32)
    block, body = Block(arg_types=[row, rows, row]), Block(arg_types=[row, row])
    init, xs, scale = block.args
    with ImplicitBuilder(body) as (state, x):
        following = graph.AddOp(graph.MulOp(state, scale).result, x).result
        graph.YieldOp(following, following)
    with ImplicitBuilder(block):
        scan = graph.ScanOp([init], [xs], Region(body), reverse)
    arrays = normal(2), normal(3, 2, seed=1), normal(2, seed=2)
    last, stacked = interpret(block, list(scan.results), *arrays)
    state, expected = arrays[0], np.zeros((3, 2), F32)
    for step in reversed(range(3)) if reverse else range(3):
        state = state * arrays[2] + arrays[1][step]
        expected[step] = state
    np.testing.assert_array_equal(last, state)
    np.testing.assert_array_equal(stacked, expected)
