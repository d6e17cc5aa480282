"""Pipes, interrupts, and input that is no text: one quiet line, the right exit status."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nn_opt.driver import main

GOOD = "func.func private @f()\n"
PRINTED = "builtin.module {\n  func.func private @f() -> ()\n}\n"


def run(command: str) -> subprocess.CompletedProcess[str]:
    """Run a shell command in which $NN is nn-opt."""
    environment = {**os.environ, "NN": f"{sys.executable} -m nn_opt.driver"}
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )


@pytest.fixture
def good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("good.mlir").write_text(GOOD)
    return "good.mlir"


def printed(capsys: pytest.CaptureFixture[str], content: bytes) -> str:
    Path("in.mlir").write_bytes(content)
    assert main(["in.mlir"]) == 0
    return capsys.readouterr().out


def refused(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    assert main(argv) == 1
    out, err = capsys.readouterr()
    assert out == ""
    return err


def test_text_of_other_systems(good: str, capsys: pytest.CaptureFixture[str]):
    assert printed(capsys, b"\xef\xbb\xbf" + GOOD.encode()) == PRINTED
    assert printed(capsys, GOOD.replace("\n", "\r\n").encode()) == PRINTED
    assert printed(capsys, GOOD.rstrip().encode()) == PRINTED
    assert printed(capsys, b"") == printed(capsys, b"// nothing") == "builtin.module {\n}\n"


def test_lines_that_end_as_on_windows(good: str, capsys: pytest.CaptureFixture[str]):
    Path("in.mlir").write_bytes(b"func.func @f() {\r\n  foo.bar\r\n}\r\n")
    lines = refused(capsys, "in.mlir").split("\n")
    assert lines[0].startswith("in.mlir:2:3: error: unknown operation 'foo.bar'")
    assert lines[1:3] == ["  foo.bar", "  ^"]
    Path("in.mlir").write_bytes(
        b"// expected-error@+1 {{unknown operation}}\r\nfoo.bar\r\n// -----\r\n" + GOOD.encode()
    )
    assert main(["in.mlir", "--verify-diagnostics", "--split-input-file"]) == 0


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("func\n".encode("utf-16"), "in.mlir:1:1: error: this is no UTF-8 text\n  hint: iconv"),
        ("func\n".encode("utf-16-le"), "in.mlir:1:2: error: this is no text: it has a NUL"),
        (
            b"func\n  \xff\xfe",
            "in.mlir:2:3: error: this is no UTF-8 text\n"
            "  hint: a model is read from a file whose name ends in .onnx",
        ),
        (b"\x7fELF\x02\x01\x01\x00\x00", "in.mlir:1:8: error: this is no text: it has a NUL"),
        (b"\x01\x02\n", "in.mlir:1:1: error: Unexpected character"),
    ],
)
def test_no_text(content: bytes, said: str, good: str, capsys: pytest.CaptureFixture[str]):
    Path("in.mlir").write_bytes(content)
    assert refused(capsys, "in.mlir").startswith(said)


def test_folders_are_no_files(good: str, capsys: pytest.CaptureFixture[str]):
    Path("folder.onnx").mkdir()
    Path("folder").mkdir()
    assert refused(capsys, "folder") == "folder: error: Is a directory\n"
    assert "folder.onnx: error: not an ONNX model: it is a folder" in refused(capsys, "folder.onnx")
    assert refused(capsys, good, "-o", "folder") == "folder: error: Is a directory\n"
    assert sorted(os.listdir()) == ["folder", "folder.onnx", "good.mlir"]


def test_a_reader_that_has_seen_enough(good: str):
    Path("many.mlir").write_text("".join(f"func.func private @f{k}()\n" for k in range(5000)))
    for flags in ("", "--print-ir-after-all --cse"):
        done = run(f"$NN many.mlir {flags} 2>err | head -1")
        assert done.stdout.strip() == "builtin.module {"
        assert "Traceback" not in Path("err").read_text()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_a_full_disk(good: str):
    done = run(f"$NN {good} > /dev/full")
    assert (done.returncode, done.stderr) == (1, "<stdout>: error: No space left on device\n")


def test_closed_streams(good: str):
    done = run("$NN <&-")
    assert (done.returncode, done.stderr) == (1, "<stdin>: error: standard input is closed\n")
    done = run(f"$NN {good} >&-")
    assert (done.returncode, done.stderr) == (1, "<stdout>: error: standard output is closed\n")


def test_standard_input_is_a_file_like_others(good: str):
    assert run(f"$NN < {good}").stdout == PRINTED
    assert run("printf 'func.func private @f()' | $NN -").stdout == PRINTED
    done = run("echo foo.bar | $NN")
    assert done.returncode == 1
    assert done.stderr.startswith("<stdin>:1:1: error: unknown operation 'foo.bar'\nfoo.bar\n^\n")


def test_an_interrupt_is_quiet(
    good: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def interrupted(content: bytes, filename: str) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("nn_opt.driver.sources.decode", interrupted)
    assert main([good, "-o", "out.mlir"]) == 130
    assert capsys.readouterr() == ("", "")
    assert not Path("out.mlir").exists()


def test_a_name_that_is_empty_is_no_folder(capsys: pytest.CaptureFixture[str]):
    assert main([""]) == 1
    assert capsys.readouterr().err == "error: the name of a file to read is empty\n"


def test_weights_of_a_model_are_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    model = tmp_path / "m.onnx"
    model.write_bytes(b"")
    assert main(["--weights=w.safetensors", str(model)]) == 1
    assert "error: --weights is for IR, and this is a model\n" in capsys.readouterr().err
