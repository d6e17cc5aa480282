"""Mistakes of ours are said in one line, and the reproducer holds what the pass was given."""

from __future__ import annotations

from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from nn_opt.driver import main
from nn_opt.passes.cse import CsePass

TEXT = """func.func @f(%x: f32) -> f32 {
  %a = arith.mulf %x, %x : f32
  func.return %a : f32
}
"""


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return a file, and let --cse have a bug that damages the module before it raises."""

    def apply(self: CsePass, ctx: Context, op: ModuleOp) -> None:
        next(iter(op.ops)).attributes.clear()
        next(iter(op.ops)).detach()
        raise KeyError("no such thing\nat all")

    monkeypatch.setattr(CsePass, "apply", apply)
    path = tmp_path / "in.mlir"
    path.write_text(TEXT)
    return str(path)


def test_an_internal_error_is_one_line(broken: str, capsys: pytest.CaptureFixture[str]):
    assert main(["--canonicalize", "--cse", broken]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"{broken}: error: internal error in --cse: KeyError: ")
    assert err.count("\n") == 2
    assert "hint: --debug" in err
    assert "--crash-reproducer=FILE" in err


def test_debug_shows_the_traceback(broken: str):
    with pytest.raises(KeyError):
        main(["--debug", "--cse", broken])


def test_an_internal_error_is_replayed(
    broken: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    file = tmp_path / "repro.mlir"
    assert main(["--canonicalize", "--cse", "--dce", f"--crash-reproducer={file}", broken]) == 1
    said = capsys.readouterr().err
    assert "hint: --debug shows the traceback\n" in said
    text = file.read_text()
    assert "It ended in: KeyError: 'no such thing" in text
    assert "builtin.module(cse,dce)" in text
    assert "arith.mulf" in text
    assert main(["--run-reproducer", str(file)]) == 1
    replayed = capsys.readouterr().err
    assert replayed.split("error: ")[1].split("\n")[0] == said.split("error: ")[1].split("\n")[0]


def test_flags_and_counters_are_kept(
    broken: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    file = tmp_path / "repro.mlir"
    flags = ["--no-verify-each", "--allow-unregistered-dialect", "--debug-counter=canonicalize=7"]
    assert main([*flags, "--canonicalize", "--cse", f"--crash-reproducer={file}", broken]) == 1
    assert all(flag in file.read_text() for flag in flags)


def test_a_reproducer_that_cannot_be_written_hides_nothing(
    broken: str, capsys: pytest.CaptureFixture[str]
):
    assert main(["--cse", "--crash-reproducer=/no/such/folder/file", broken]) == 1
    err = capsys.readouterr().err
    assert "internal error in --cse" in err
    assert "note: no reproducer was written: /no/such/folder/file" in err
