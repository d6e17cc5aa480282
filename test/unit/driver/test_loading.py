"""A loaded file adds to the tool; what is wrong with it is one line with its place."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from registered import kept

from nn_opt.driver import main

PASS = '''
import nn_opt
from nn_opt.dialects import graph


@nn_opt.rewrite("mine")
def mine(op: graph.ReluOp, rewriter):
    """Drop a relu."""
    rewriter.replace(op, [], [op.x])
'''
RELU = """func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = graph.relu %x : tensor<2xf32>
  func.return %y : tensor<2xf32>
}
"""


@pytest.fixture(autouse=True)
def tables(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Leave no pass, module or path behind."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    with kept():
        yield
    for name in ("my_passes", "with_dashes", "helper"):
        sys.modules.pop(name, None)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.mlir").write_text(RELU)
    (tmp_path / "my_passes.py").write_text(PASS)
    return tmp_path


def refused(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    """Run a command that must fail; return its message."""
    assert main(argv) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "Traceback" not in err
    return err


@pytest.mark.parametrize(
    "flags",
    [
        ["--load=my_passes.py"],
        ["--load", "my_passes.py"],
        ["--load", "./my_passes.py"],
        ["--load=my_passes"],
        ["--load=my_passes.py", "--load=my_passes.py"],
    ],
    ids=" ".join,
)
@pytest.mark.usefixtures("folder")
def test_a_file_or_module_is_loaded(flags: list[str], capsys: pytest.CaptureFixture[str]):
    assert main([*flags, "--mine", "in.mlir"]) == 0
    assert "graph.relu" not in capsys.readouterr().out


def test_a_loaded_file_imports_those_beside_it(folder: Path, capsys: pytest.CaptureFixture[str]):
    (folder / "sub").mkdir()
    (folder / "sub" / "helper.py").write_text("NAME = 'helped'\n")
    text = PASS.replace('"mine"', "helper.NAME").replace(
        "import nn_opt\n", "import nn_opt, helper\n"
    )
    (folder / "sub" / "with-dashes.py").write_text(text)
    assert main(["--load=sub/with-dashes.py", "--helped", "in.mlir"]) == 0
    assert "graph.relu" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("", "\n(", "my_passes.py:11:1: error: '(' was never closed\n"),
        ("graph.Relu", "graph.Rel", "my_passes.py:7: error: AttributeError: module"),
        ('"mine"', '"cse"', "my_passes.py:6: error: there is a pass --cse already, of nn-opt\n"),
        ('"mine"', '"Mine"', "my_passes.py:6: error: 'Mine' is no name of a pass\n  hint: small"),
        ("op: graph.ReluOp", "op", "my_passes.py:6: error: TypeError: mine: annotate 'op'"),
        ("import nn_opt", "import nn_op", "my_passes.py:2: error: ModuleNotFoundError: No module"),
        ('"mine"', '"timing"', "error: the pass 'timing' has the name of an option of nn-opt\n"),
    ],
)
def test_a_mistake_in_the_file_has_its_line(
    old: str, new: str, message: str, folder: Path, capsys: pytest.CaptureFixture[str]
):
    path = folder / "my_passes.py"
    path.write_text(PASS.replace(old, new, 1) if old else PASS + new)
    err = refused(capsys, "--load=my_passes.py", "--mine", "in.mlir")
    assert err.startswith(message)
    assert err.count("\n") <= 2


def test_a_mistake_in_a_pattern_has_its_line(folder: Path, capsys: pytest.CaptureFixture[str]):
    (folder / "my_passes.py").write_text(PASS.replace("[op.x]", "[op.y]"))
    err = refused(capsys, "--load=my_passes.py", "--mine", "in.mlir")
    assert err.startswith("my_passes.py:9: error: AttributeError: 'ReluOp' object")
    assert "in --mine" in err.split("\n")[0]
    with pytest.raises(AttributeError):
        main(["--debug", "--load=my_passes.py", "--mine", "in.mlir"])


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("none.py", "none.py: error: No such file\n"),
        ("none", "error: --load: there is no module 'none'\n  hint: a file ends in .py"),
        ("in.mlir", "error: --load: there is no module 'in.mlir'\n  hint: a file ends in .py"),
        ("none.inner", "error: --load: there is no module 'none.inner'\n"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_what_is_not_there_is_a_message(
    source: str, message: str, capsys: pytest.CaptureFixture[str]
):
    assert refused(capsys, f"--load={source}", "in.mlir").startswith(message)


@pytest.mark.usefixtures("folder")
def test_a_flag_without_a_file_is_a_message(capsys: pytest.CaptureFixture[str]):
    assert "--load: expected one argument" in refused(capsys, "in.mlir", "--load")


def test_a_reproducer_loads_the_file_again(folder: Path, capsys: pytest.CaptureFixture[str]):
    (folder / "my_passes.py").write_text(PASS.replace("[op.x]", "[op.y]"))
    flags = ["--load=my_passes.py", "--crash-reproducer=crash.mlir", "--disable-pass=cse"]
    err = refused(capsys, *flags, "--cse", "--mine", "in.mlir")
    assert "note: nn-opt --run-reproducer crash.mlir replays this" in err
    head = (folder / "crash.mlir").read_text().split("\n")[1]
    assert f"--load={folder / 'my_passes.py'}" in head
    assert "--disable-pass=cse" in head
    again = refused(capsys, "--run-reproducer", "crash.mlir")
    assert again.startswith("my_passes.py:9: error: AttributeError")


@pytest.mark.parametrize("mistake", ["op.no_such_name", "raise VerifyException('not so')"])
def test_a_rewrite_that_fails_says_on_which_op(
    folder: Path, capsys: pytest.CaptureFixture[str], mistake: str
):
    imports = "from xdsl.utils.exceptions import VerifyException\n"
    body = f'    """Drop a relu."""\n    {mistake}\n'
    text = PASS.replace('    """Drop a relu."""\n', body)
    (folder / "my_passes.py").write_text(imports + text)
    said = refused(capsys, "--load=my_passes.py", "--mine", "in.mlir")
    assert "in.mlir:2:8: note: graph.relu: mine was tried here\n  %y = graph.relu" in said


def test_a_rewrite_that_has_no_end_is_named(folder: Path, capsys: pytest.CaptureFixture[str]):
    text = PASS.replace("op, [], [op.x]", "op, graph.ReluOp(op.x)")
    (folder / "my_passes.py").write_text(text)
    said = refused(capsys, "--load=my_passes.py", "--mine", "in.mlir")
    assert said.startswith("in.mlir:2:8: error: graph.relu: mine goes on after ")


def test_a_file_that_ends_the_process_does_not(folder: Path, capsys: pytest.CaptureFixture[str]):
    (folder / "my_passes.py").write_text("import sys\nsys.exit(3)\n")
    err = refused(capsys, "--load=my_passes.py", "in.mlir")
    assert err == "my_passes.py:2: error: SystemExit: 3\n"
