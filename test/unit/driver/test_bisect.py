"""How often --bisect runs the command, and rewrites that make sense only together."""

from __future__ import annotations

from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp, f32, i32
from xdsl.pattern_rewriter import PatternRewriter

from nn_opt.driver import main
from nn_opt.ir.rewriting import convert
from nn_opt.passes.dce import DcePass

TEXT = """func.func @f(%x: f32) -> f32 {
  %a = arith.constant 1.0 : f32
  %b = arith.constant 1.0 : f32
  %c = arith.addf %a, %b : f32
  func.return %c : f32
}
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "in.mlir"
    path.write_text(TEXT)
    return str(path)


def logged(tmp_path: Path, condition: str) -> tuple[str, Path]:
    """Return a command that also notes that it ran."""
    log = tmp_path / "log"
    return f"sh -c 'echo >>{log}; {condition}'", log


def test_the_command_runs_a_logarithmic_number_of_times(file: str, tmp_path: Path):
    command, log = logged(tmp_path, "test $(grep -c constant {}) -ge 2")
    flags = ["--dce"] * 100 + ["--cse"] + ["--dce"] * 155
    output = tmp_path / "out"
    assert main([f"--bisect={command}", *flags, file, "-o", str(output)]) == 0
    report = output.read_text()
    assert report.startswith("--cse (pass 101 of 256)")
    assert log.read_text().count("\n") <= 2 + 8
    assert f"{log.read_text().count(chr(10))} runs" in report


def test_rewrites_that_are_no_valid_ir_in_part(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def narrow(op: arith.ConstantOp, rewriter: PatternRewriter) -> None:
        rewriter.replace(op, arith.ConstantOp.from_int_and_width(1, i32))

    def add(op: arith.AddfOp, rewriter: PatternRewriter) -> None:
        total = arith.AddiOp(*op.operands)
        rewriter.replace(op, [total, arith.SIToFPOp(total.result, f32)])

    def apply(self: DcePass, ctx: Context, op: ModuleOp) -> None:
        convert(op, {arith.ConstantOp: narrow, arith.AddfOp: add})

    monkeypatch.setattr(DcePass, "apply", apply)
    output = tmp_path / "out"
    assert main(["--bisect=grep -q addf", "--dce", file, "-o", str(output)]) == 0
    assert "needed all together" in output.read_text()


def test_counters_and_bisection_exclude_each_other(file: str, capsys: pytest.CaptureFixture[str]):
    assert main(["--bisect=true", "--debug-counter=cse=1", "--cse", file]) == 1
    assert "leave out --debug-counter" in capsys.readouterr().err


def test_a_pass_that_fails_on_the_way_is_named(
    file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def apply(self: DcePass, ctx: Context, op: ModuleOp) -> None:
        raise KeyError("x")

    monkeypatch.setattr(DcePass, "apply", apply)
    assert main(["--bisect=true", "--cse", "--dce", file]) == 1
    assert "error: internal error in --dce: KeyError: 'x'\n" in capsys.readouterr().err
