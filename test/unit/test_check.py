"""The differential checker names a wrong pass, the element and the operation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import Rewriter

from bench import models
from nn_opt import registry
from nn_opt.check import difference, seeded_inputs
from nn_opt.driver import main
from nn_opt.ir.parsing import make_context, parse_module
from nn_opt.ir.rewriting import convert
from nn_opt.ir.target import host

TOLERANCE = 1e-4  # float32 sums in other orders, over dozens of layers; Winograd

SCALARS = """func.func @main(%x: f32, %y: f32) -> (f32, f32) {
  %a = arith.addf %x, %y : f32
  %b = arith.mulf %a, %y : f32
  func.return %x, %b : f32, f32
}
"""
TENSORS = """func.func @main(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %a = graph.add %x, %y : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %b = graph.relu %a : tensor<2x3xf32>
  func.return %b : tensor<2x3xf32>
}
"""


def wrong_add(op: arith.AddfOp, rewriter: PatternRewriter) -> None:
    rewriter.replace(op, arith.SubfOp(op.lhs, op.rhs))


class WrongPass(ModulePass):
    """A planted mistake: sums become differences, at both levels."""

    name = "wrong"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        from nn_opt.dialects import graph

        def wrong_graph_add(op: graph.AddOp, rewriter: PatternRewriter) -> None:
            rewriter.replace(op, graph.SubOp(*op.operands))

        convert(op, {arith.AddfOp: wrong_add, graph.AddOp: wrong_graph_add})


@pytest.fixture(autouse=True)
def planted(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(registry.PASSES, "wrong", f"{__name__}:WrongPass")


def check(text: str, folder: Path, *flags: str) -> int:
    path = folder / "in.mlir"
    path.write_text(text)
    return main([*flags, "--check", str(path)])


@pytest.mark.parametrize("text", [SCALARS, TENSORS], ids=["scalars", "tensors"])
def test_right_passes_pass(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert check(text, tmp_path, "--cse", "--dce") == 0
    assert capsys.readouterr().err == ""


def test_wrong_pass_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert check(SCALARS, tmp_path, "--cse", "--wrong", "--dce") == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "in.mlir:3:8: error: arith.mulf: --wrong changed result #1" in err
    assert "first operation that differs is arith.subf at" in err
    assert "in.mlir:2:8" in err.split("note:")[1]


def test_wrong_element_of_a_tensor_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert check(TENSORS, tmp_path, "--wrong") == 1
    err = capsys.readouterr().err
    assert "in.mlir:3:8: error: graph.relu: --wrong changed result #0" in err
    assert "at element [0, " in err
    assert "first operation that differs is graph.sub at" in err


def test_every_level_is_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert check(TENSORS, tmp_path, "--optimize-graph", "--lower-to-loops", "--lower-blocks") == 0
    out, err = capsys.readouterr()
    assert "loop.for" in out
    assert err == ""  # no pass was left out


def test_wrong_pass_over_loops_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert check(TENSORS, tmp_path, "--fuse-ops", "--lower-to-loops", "--wrong") == 1
    err = capsys.readouterr().err
    assert "error: func.call: --wrong changed result #0" in err
    assert "at element [0, " in err


def test_inputs_are_the_same_each_time():
    module = parse_module(make_context(), TENSORS, "m.mlir")
    first, second = seeded_inputs(module), seeded_inputs(module)
    assert [array.shape for array in first] == [(2, 3), (2, 3)]
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(first[0], first[1])


def test_unknown_sizes_are_a_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert check(TENSORS.replace("2x3", "?x3"), tmp_path, "--cse") == 1
    assert "hint: give the inputs fixed sizes" in capsys.readouterr().err


def test_first_wrong_element():
    before = np.zeros((2, 3), np.float32)
    before[0, 0] = 100
    after = before.copy()
    after[1, 2] = 0.01
    after[1, 1] = 0.0001  # below 1e-5 of the largest
    found = difference(before, after, 1e-5)
    assert found is not None
    assert (found.element, found.count, found.size) == ((1, 2), 1, 6)


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        (np.float32([np.nan, 1]), np.float32([np.nan, 1]), True),
        (np.float32([np.nan, 1]), np.float32([0, 1]), False),
        (np.float32([np.inf, 1]), np.float32([np.inf, 1]), True),
        (np.float32([np.inf, 1]), np.float32([-np.inf, 1]), False),
        (np.int32([1, 2]), np.int32([1, 3]), False),
        (np.uint8([200]), np.int8([-56]), True),
        (np.float16([1]), np.float16([1.001]), True),
        (np.zeros(3, np.float32), np.zeros((1, 3), np.float32), False),
        (np.zeros(3, np.float32), np.full(3, 1e-30, np.float32), False),
        (np.zeros((0, 2), np.float32), np.zeros((0, 2), np.float32), True),
    ],
)
def test_what_counts_as_equal(before: np.ndarray, after: np.ndarray, same: bool):
    assert (difference(before, after, 1e-5) is None) == same


class WrongCode(ModulePass):
    """A planted mistake below the interpreter: sums become differences."""

    name = "wrong-code"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        from xdsl.dialects import llvm

        for add in [inner for inner in op.walk() if isinstance(inner, llvm.FAddOp)]:
            Rewriter.replace_op(add, llvm.FSubOp(add.lhs, add.rhs))


@pytest.mark.parametrize(("flags", "wrong"), [([], False), (["--wrong-code"], True)])
def test_machine_code_is_compared(
    flags: list[str],
    wrong: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.setitem(registry.PASSES, "wrong-code", f"{__name__}:WrongCode")
    assert check(TENSORS, tmp_path, "--compile", "--target=host", *flags) == int(wrong)
    err = capsys.readouterr().err
    assert err == "" if not wrong else "--wrong-code changed result #0: " in err


def test_code_for_another_machine_is_not_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    other = "x86-64-v2" if host().name == "neon" else "neon"
    assert check(TENSORS, tmp_path, "--compile", f"--target={other}") == 0
    assert f"(code for '{other}' cannot run on this " in capsys.readouterr().err


FEW_BITS = """func.func @main(%x: tensor<6xf8E4M3FN>, %n: tensor<4xi4>)
    -> (tensor<6xf8E5M2>, tensor<4xui2>) {
  %a = graph.cast %x : (tensor<6xf8E4M3FN>) -> tensor<6xf8E5M2>
  %b = graph.cast %n : (tensor<4xi4>) -> tensor<4xui2>
  func.return %a, %b : tensor<6xf8E5M2>, tensor<4xui2>
}
"""


def test_numbers_of_few_bits_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert check(FEW_BITS, tmp_path, "--compile", "--target=host") == 0
    assert "differ" not in capsys.readouterr().err


@pytest.mark.parametrize("name", models.SMALL)
def test_no_pass_changes_a_small_model(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path = tmp_path / "model.onnx"
    path.write_bytes(models.build_small(name).SerializeToString())
    flags = ["--compile", "--target=host", f"--check={TOLERANCE}", "-o", str(tmp_path / "out")]
    assert main([*flags, str(path)]) == 0
    assert capsys.readouterr().err == ""  # all passes were compared
