"""What passes change is coloured for people, and plain for programs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from nn_opt.driver import main

TWICE = """func.func @twice(%x: f32) -> (f32, f32) {
  %a = arith.mulf %x, %x : f32
  %b = arith.mulf %x, %x : f32
  func.return %a, %b : f32, f32
}
"""


@pytest.mark.parametrize(("terminal", "no_color"), [(True, False), (True, True), (False, False)])
def test_a_diff_is_coloured_on_a_terminal_only(
    terminal: bool,
    no_color: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    path = tmp_path / "twice.mlir"
    path.write_text(TWICE)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    monkeypatch.delenv("NO_COLOR", raising=False)
    if no_color:
        monkeypatch.setenv("NO_COLOR", "1")
    assert main(["--print-ir-change", "--cse", str(path)]) == 0
    err = capsys.readouterr().err
    removed = "-    %b = arith.mulf %x, %x : f32"
    coloured = terminal and not no_color
    assert ("\x1b" in err) == coloured
    assert (f"\x1b[31m{removed}\x1b[0m\n" if coloured else f"\n{removed}\n") in err


@pytest.mark.parametrize(("when", "coloured"), [("always", True), ("never", False)])
def test_colours_can_be_asked_for(
    when: str,
    coloured: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    path = tmp_path / "twice.mlir"
    path.write_text(TWICE)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: not coloured)
    assert main(["--print-ir-change", f"--color={when}", "--cse", str(path)]) == 0
    assert ("\x1b" in capsys.readouterr().err) == coloured


def test_a_folder_holds_one_run(tmp_path: Path):
    path, tree = tmp_path / "twice.mlir", tmp_path / "tree"
    path.write_text(TWICE)
    tree.mkdir()
    (tree / "notes.txt").write_text("")
    for passes in (["--canonicalize", "--cse", "--dce"], ["--dce"]):
        assert main([f"--print-ir-tree-dir={tree}", *passes, str(path), "-o", str(path)]) == 0
    names = sorted(file.name for file in tree.iterdir())
    assert names == ["0000-input.mlir", "0001-dce.mlir", "notes.txt"]


def test_a_link_stays_a_link(tmp_path: Path):
    path, link = tmp_path / "twice.mlir", tmp_path / "link.mlir"
    path.write_text(TWICE)
    link.symlink_to(path)
    assert main(["--cse", str(link), "-o", str(link)]) == 0
    assert link.is_symlink()
    assert path.read_text().count("mulf") == 1
