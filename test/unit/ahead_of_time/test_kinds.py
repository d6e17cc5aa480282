"""What can be written for which target; mistakes leave nothing behind."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import onnx.parser
import pytest
from samples import Sample

from nn_opt.ahead_of_time import request, targets
from nn_opt.ahead_of_time.kinds import KINDS
from nn_opt.driver.compile import main
from nn_opt.ir.diagnostics import DiagnosticError

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["-o", "net.exe"],
            "error: -o is net.exe\n  hint: its suffix says what to write: .ll (LLVM",
        ),
        (
            ["-o", "net.so", "--target", "opencl"],
            "error: net.so cannot be for target 'opencl'\n  hint: for it there are: ",
        ),
        (
            ["-o", "net.so", "--target", "cortex-m4"],
            "error: net.so cannot be for target 'cortex-m4'\n"
            "  hint: for it there are: .ll, .s, .o, .c, a folder",
        ),
        (["-o", "net.mjs", "--target", "cuda"], "error: net.mjs cannot be for target 'cuda'"),
        (
            ["-o", "net", "--target", "scalar"],
            "error: no folder can be for target 'scalar'\n  hint: for it there are: .c, .mjs",
        ),
        (
            ["-o", "net.so", "--target", "x86-64,cuda"],
            "error: one file cannot be for both x86-64 and cuda",
        ),
        (
            ["-o", "net.o", "--target", "x86-64,neon"],
            "error: one library cannot be for aarch64 and x86_64",
        ),
        (
            ["-o", "net.s", "--target", "x86-64,x86-64-v3"],
            "error: a .s file is for one target, not 2\n  hint: .so, .o and folders take several",
        ),
        (["-o", "net.so", "--target", "z80"], "error: unknown target 'z80'"),
        (
            ["-o", "net.so", "--target", ""],
            "error: unknown target ''\n  hint: the targets are host, ",
        ),
        (
            ["-o", "net", "--target", "oepncl"],
            "error: unknown target 'oepncl'\n  hint: did you mean opencl? the targets are host, ",
        ),
        (
            ["-o", "net", "--target", "OpenCL"],
            "error: unknown target 'OpenCL'\n  hint: did you mean opencl? the targets are host, ",
        ),
        (
            ["-o", "net.o", "--target", "llvm -mtriple=x86_64-pc-windows-msvc"],
            "error: an object for 'llvm -mtriple=x86_64-pc-windows-msvc' would be COFF, expected",
        ),
        (
            ["-o", "net", "--target", "llvm -mtriple=arm64-apple-darwin"],
            "error: an object for 'llvm -mtriple=arm64-apple-darwin' would be Mach-O, expected ELF",
        ),
        (["-o", "a model.onnx/net.so"], "error: there is no folder a model.onnx"),
        (["-o", "net.so", "--threads", "0"], "error: threads is 0, expected 1 to 256"),
        (["-o", "net.c", "--labels", "x"], "error: --labels is for .html files, and net.c is none"),
        (
            ["-o", "net", "--embed-weights"],
            "error: --embed-weights is for .c files, and net/libnet",
        ),
        (["-o", "file"], "error: -o is file, which is no folder\n  hint: its suffix says what"),
        (
            ["-o", "net.o", "--target", "llvm -mtriple=x86_64-linux-gnu -mcpu=atom"],
            "error: what processor 'atom' has is not known, so code cannot check for it\n  hint: ",
        ),
    ],
)
def test_mistakes(
    arguments: list[str],
    message: str,
    mlp: Sample,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    assert main([str(mlp.path), *arguments]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(message)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("suffix", ["ll", "s", "o"])
@pytest.mark.parametrize("architecture", ["aarch64", "x86_64"])
def test_features_that_llvm_does_not_know(
    architecture: str, suffix: str, mlp: Sample, tmp_path: Path, capfd: pytest.CaptureFixture[str]
):
    target = f"llvm -mtriple={architecture}-linux-gnu -mattr=+nonsense"
    output = tmp_path / f"net.{suffix}"
    assert main([str(mlp.path), "-o", str(output), "--target", target]) == 1
    message = f"error: target {target!r}: LLVM knows no feature '+nonsense' of {architecture}\n"
    assert capfd.readouterr().err.startswith(f"{message}  hint: those of LLVM's own tools count: ")
    assert list(tmp_path.iterdir()) == []


def test_all_targets_are_named(mlp: Sample, capsys: pytest.CaptureFixture[str]):
    assert main([str(mlp.path), "-o", "net", "--target", "z80"]) == 1
    known = capsys.readouterr().err.partition("the targets are ")[2].partition(";")[0].split(", ")
    assert {"cpu", "zen4", "wasm", "js", "opencl", "webgpu", "c", "web", "portable"} <= set(known)


def test_targets_are_written_out(mlp: Sample, tmp_path: Path):
    target = "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a76 -mattr=+dotprod,+lse"
    assert main([str(mlp.path), "--target", target, "-o", str(tmp_path / "net.o")]) == 0
    assert (tmp_path / "net.o").read_bytes()[18:20] == (183).to_bytes(2, "little")  # EM_AARCH64
    (said,) = json.loads((tmp_path / "net.json").read_text())["targets"]
    assert (said["name"], said["cpu"]) == (target, "cortex-a76")
    assert "dotprod" in said["features"]


def test_nothing_is_half_written(tmp_path: Path):
    made = request.Made({"net.so": b"1", "net.h": b"2"})
    (tmp_path / "net.h").mkdir()
    with pytest.raises(DiagnosticError, match="error: this is a folder, where a file is to be"):
        request.write_all(made, tmp_path)
    assert not (tmp_path / "net.so").exists()
    with pytest.raises(DiagnosticError, match="nowhere: error: No such file or directory"):
        request.write_all(made, tmp_path / "nowhere")
    (tmp_path / "net.h").rmdir()
    request.write_all(made, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["net.h", "net.so"]


def test_kinds_do_not_overwrite_each_other_s_files(network: Sample, tmp_path: Path):
    kinds = [("net.cl", "opencl"), ("net.cu", "cuda"), ("net.mjs", "js"), ("net.c", "c")]
    made: dict[str, bytes] = {}
    for name, target in kinds:
        output = str(tmp_path / name)
        assert main([str(network.path), "--target", target, "-o", output]) == 0
        assert {file: (tmp_path / file).read_bytes() for file in made} == made
        made = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert {"net.cl.weights", "net.cu.weights", "net.mjs.weights", "net.c.json"} <= set(made)


def test_headers_of_another_kind_are_kept(
    mlp: Sample, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    def make(output: str, target: str) -> int:
        words = [str(mlp.path), "--target", target, "--name", "net", "-o", str(tmp_path / output)]
        return main(words)

    assert make("net.o", "cortex-m4") == make("net.o", "x86-64") == make("a", "opencl") == 0
    files = {path: path.read_bytes() for path in tmp_path.rglob("*.*")}
    capsys.readouterr()
    for output, target, before, after in (
        ("net.c", "c", "a library", "C99"),
        ("a", "cuda", "kernels on OpenCL devices", "kernels on NVIDIA's GPUs"),
        ("a/net.c", "c", "kernels on OpenCL devices", "C99"),
    ):
        assert make(output, target) == 1
        said = f"net.h: error: this header is that of {before}, and {after} would overwrite it\n"
        assert said in capsys.readouterr().err
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.*")} == files
    (tmp_path / "net.h").write_text("/* My own. */")
    assert make("net.c", "c") == 0


def test_a_machine_without_portable_code(monkeypatch: pytest.MonkeyPatch):
    class Machine:
        machine = "m68k"

    monkeypatch.setattr(targets.os, "uname", Machine)
    with pytest.raises(DiagnosticError, match="no portable code for m68k, only x86_64, aarch64"):
        targets.targets_of(targets.PORTABLE)


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 bytes"), (9_999, "9,999 bytes"), (10_000, "10 kB"), (14_200_000, "14.2 MB")],
)
def test_sizes_are_for_people(size: int, text: str):
    assert request.size_text(size) == text


def test_every_kind_has_a_maker():
    for kind in KINDS.values():
        module, name = kind.maker.split(":")
        imported = __import__(f"nn_opt.ahead_of_time.{module}", fromlist=[name])
        assert callable(getattr(imported, name))


def test_every_kind_is_documented():
    page = (ROOT / "docs" / "ahead-of-time.md").read_text()
    assert [suffix for suffix in KINDS if f"`{suffix}`" not in page] == []


NO_SHAPES = """<ir_version: 9, opset_import: ["": 20]>
g (float[2,6] x) => (float[a,b] y, float[c] z) {
  y = Relu(x)
  k = Constant<value_ints=[12]>()
  z = Reshape(y, k)
}"""


@pytest.mark.parametrize("suffix", ["mjs", "html", "c", "cl"])
def test_undeclared_sizes_of_outputs(suffix: str, tmp_path: Path):
    model = onnx.parser.parse_model(NO_SHAPES)
    model.graph.output[0].type.tensor_type.ClearField("shape")
    onnx.save(model, tmp_path / "m.onnx")
    assert main([str(tmp_path / "m.onnx"), "-o", str(tmp_path / f"m.{suffix}")]) == 0
    if suffix == "mjs":
        text = (tmp_path / "m.mjs").read_text()
        assert '"shape": [2, 6]' in text.partition("outputs")[2]
        assert '"shape": [12]' in text


HOSTED = """<ir_version: 9, opset_import: ["": 20]>
g (float[6] x, int64[2] sizes) => (float[m] y) {
  s = SplitToSequence(x, sizes)
  k = Constant<value_int=-1>()
  y = SequenceAt(s, k)
}"""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (HOSTED, "'SequenceAt_2': ai.onnx.SequenceAt (opset 20): runs as a step of the host"),
        (HOSTED, "hint: nn_opt.compile and nn-run run it, with steps of the host"),
        (
            HOSTED.partition("{")[0].replace("float[6]", "string[6]") + "{ y = Abs(x) }",
            "'x' has elements of string, which is not supported\n  hint: nn_opt.compile and nn-run",
        ),
    ],
)
def test_models_for_the_host(
    text: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    assert main([str(tmp_path / "m.onnx"), "-o", str(tmp_path / "m.so")]) == 1
    assert words in capsys.readouterr().err
