"""Transposed vectors: squares of rows are loaded whole and turned by shuffles."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from nn_opt.backends.llvm import print_module
from nn_opt.compiler import compile
from nn_opt.ir.parsing import make_context, parse_module
from nn_opt.ir.target import set_target
from nn_opt.pipelines import expand, run_passes

TURN = """
func.func @main(%x: tensor<{r}x{c}x{type}>) -> tensor<{c}x{r}x{type}> {{
  %y = graph.transpose %x perm [1, 0] : (tensor<{r}x{c}x{type}>) -> tensor<{c}x{r}x{type}>
  func.return %y : tensor<{c}x{r}x{type}>
}}"""
DTYPES = {
    "f32": np.float32,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f64": np.float64,
    "i8": np.int8,
    "i64": np.int64,
    "i1": np.bool_,
}


def turn(rows: int, columns: int, type_: str) -> ModuleOp:
    text = TURN.format(r=rows, c=columns, type=type_)
    return parse_module(make_context(), text, "turn")


@pytest.mark.parametrize("type_", DTYPES)
@pytest.mark.parametrize(("rows", "columns"), [(32, 48), (29, 28), (20, 37)])
def test_rows_become_columns(rows: int, columns: int, type_: str):
    x = np.random.default_rng(0).integers(-99, 99, (rows, columns)).astype(DTYPES[type_])
    got = compile(turn(rows, columns, type_), cache=False)(x)
    np.testing.assert_array_equal(got, x.T)


@pytest.mark.parametrize(
    ("target", "columns", "loads"),
    [
        ("x86-64-v4", 48, "load <16 x float>"),
        ("x86-64-v3", 48, "load <8 x float>"),
        ("neon", 48, "load <4 x float>"),
        ("x86-64-v4", 24, "load <8 x float>"),
    ],
)
def test_squares_are_as_wide_as_vectors_and_loops_let(target: str, columns: int, loads: str):
    module = turn(64, columns, "f32")
    set_target(module, target)
    run_passes(make_context(), module, expand("compile"))
    text = print_module(module)
    assert loads in text
    assert "insertelement" not in text
