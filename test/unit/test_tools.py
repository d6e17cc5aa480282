"""A missing tool is named with what brings it: as a skip, or as a failure where it is asked for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import tools

ROOT = Path(__file__).resolve().parents[2]
GONE = tools.Tool(lambda: None, "make a-tool")


@pytest.fixture(autouse=True)
def planted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(tools.TOOLS, "a-tool", GONE)
    monkeypatch.delenv(tools.SWITCH, raising=False)


def test_a_missing_tool_is_a_skip_that_says_what_brings_it():
    with pytest.raises(pytest.skip.Exception, match=r"^needs a-tool: run `make a-tool`$"):
        tools.need("a-tool")


def test_a_missing_tool_fails_where_it_is_asked_for(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(tools.SWITCH, "1")
    with pytest.raises(pytest.fail.Exception, match=r"^needs a-tool: run `make a-tool`$"):
        tools.need("a-tool")


def test_a_tool_is_given_by_its_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    place = tmp_path / "a-program"
    place.write_text("#!/bin/sh\n")
    place.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert tools.program("another", "a-program") == str(place)
    assert tools.package("pytest") == pytest.__file__
    assert tools.package("no_such_package") is None


def test_a_mark_names_known_tools():
    assert tools.needs("cc", "node").args == ("cc", "node")
    with pytest.raises(AssertionError, match="has no \\['c-c'\\]"):
        tools.needs("c-c")


def run_lit(folder: Path, **environment: str) -> str:
    """Return what lit says of a test that needs a tool, where no program is on the path."""
    text = (ROOT / "test/lit/lit.cfg.py").read_text()
    support = f'Path("{ROOT / "test/unit/support"}")'
    (folder / "lit.cfg.py").write_text(text.replace('here.parent / "unit" / "support"', support))
    (folder / "one.mlir").write_text("// REQUIRES: oclgrind\n// RUN: true\n")
    command = [sys.executable, "-c", "from lit.main import main; main()", "-v", str(folder)]
    kept = {name: value for name, value in os.environ.items() if name != tools.SWITCH}
    environment = {**kept, "PATH": str(folder), **environment}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    return done.stdout + done.stderr


def test_lit_tests_name_tools_too(tmp_path: Path):
    assert "UNSUPPORTED: nn-opt :: one.mlir" in run_lit(tmp_path)


def test_lit_fails_where_tools_are_asked_for(tmp_path: Path):
    said = run_lit(tmp_path, **{tools.SWITCH: "1"})
    assert "PASS" not in said
    assert "needs oclgrind: run `make system-tools`" in said
