"""nn-opt as a user meets it: flags, files, messages, exit status."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest
from safetensors.numpy import load_file

from nn_opt import __version__
from nn_opt.driver import main

TWICE = """func.func @twice(%x: f32) -> (f32, f32) {
  %a = arith.mulf %x, %x : f32
  %b = arith.mulf %x, %x : f32
  func.return %a, %b : f32, f32
}
"""


@pytest.fixture
def twice(tmp_path: Path) -> str:
    path = tmp_path / "twice.mlir"
    path.write_text(TWICE)
    return str(path)


def refused(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    """Run a command that must fail; return its message."""
    assert main(argv) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "Traceback" not in err
    return err


def test_passes_run_in_the_order_given(twice: str, capsys: pytest.CaptureFixture[str]):
    assert main(["--print-ir-after-all", "--cse", "--dce", "--cse", twice]) == 0
    err = capsys.readouterr().err
    dumps = [line for line in err.split("\n") if "IR Dump" in line]
    assert [line.split()[5] for line in dumps] == ["cse", "dce", "cse"]


def test_a_pass_flag_does_not_swallow_the_file(twice: str, capsys: pytest.CaptureFixture[str]):
    assert main(["--canonicalize", "--cse", twice]) == 0
    assert capsys.readouterr().out.count("arith.mulf") == 1


def test_standard_input(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TWICE.encode())))
    assert main(["-", "--cse"]) == 0
    assert capsys.readouterr().out.count("arith.mulf") == 1


def test_output_file_is_written_whole_or_not(
    twice: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    output = tmp_path / "out.mlir"
    assert main([twice, "--cse", "-o", str(output)]) == 0
    text = output.read_text()
    assert text.count("arith.mulf") == 1
    broken = tmp_path / "broken.mlir"
    broken.write_text("func.func @f(")
    refused(capsys, str(broken), "-o", str(output))
    assert output.read_text() == text
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "broken.mlir",
        "out.mlir",
        "twice.mlir",
    ]


def test_unwritable_output_is_a_message(twice: str, capsys: pytest.CaptureFixture[str]):
    assert "No such file" in refused(capsys, twice, "-o", "/no/such/folder/out.mlir")


@pytest.mark.parametrize(
    ("flag", "hint"),
    [
        ("--csee", "did you mean --cse?"),
        ("--split-input-fil", "did you mean --split-input-file?"),
        ("--qwzx", "--list-passes"),
        ("--pass-pipeline=canonicalise", "did you mean canonicalize?"),
        ("--pass-pipeline=gpu.module(cse)", "did you mean builtin.module?"),
        ("--pass-pipeline=func.func(plan-memory)", "outside of func.func(...)"),
        ("--pass-pipeline-file=/no/such", "No such file"),
        ("--pass-pipelin=cse", "did you mean --pass-pipeline?"),
        ("--pass-pipeline", "expected one argument"),
        ("--cse{depth=3}", "it has none"),
        ("--compile{depth=3}", "no pass of --compile has an option 'depth'"),
        ("--pass-help=csee", "did you mean cse?"),
        ("--show-dialects=arit", "did you mean arith?"),
        ("--target=pentium", "x86-64-v4"),
        ("--check=often", "invalid float"),
        ("--dim", "expected one argument"),
    ],
)
def test_a_wrong_flag_gets_a_hint(
    flag: str, hint: str, twice: str, capsys: pytest.CaptureFixture[str]
):
    assert hint in refused(capsys, twice, flag)


def test_two_files_are_one_too_many(twice: str, capsys: pytest.CaptureFixture[str]):
    assert "more than one input file" in refused(capsys, twice, twice)


def test_missing_file(capsys: pytest.CaptureFixture[str]):
    assert refused(capsys, "none.mlir").startswith("none.mlir: error: No such file")


def test_split_file_reports_each_part_with_its_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path = tmp_path / "parts.mlir"
    path.write_text("foo\n// -----\nfunc.func private @f()\n// -----\n\nbar\n")
    err = refused(capsys, "--split-input-file", str(path))
    assert f"{path}:1:" in err
    assert f"{path}:6:" in err


def test_expected_errors_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "expect.mlir"
    path.write_text("// expected-error@+1 {{unknown operation}}\narith.frob\n")
    assert main(["--verify-diagnostics", str(path)]) == 0
    path.write_text("// expected-error {{unknown operation}}\nfunc.func private @f()\n")
    assert "was not produced" in refused(capsys, "--verify-diagnostics", str(path))
    path.write_text("\narith.frob\n")
    assert f"{path}:2:1: error: unexpected" in refused(capsys, "--verify-diagnostics", str(path))


def test_weights_go_out_and_come_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    numbers = ", ".join(str(float(n)) for n in range(40))
    whole = tmp_path / "whole.mlir"
    whole.write_text(
        "func.func @main() -> tensor<40xf32> {\n"
        f"  %w = tensor.constant dense<[{numbers}]> : tensor<40xf32> to tensor<40xf32>\n"
        "  func.return %w : tensor<40xf32>\n}\n"
    )
    assert main([str(whole)]) == 0
    inline = capsys.readouterr().out
    # Text with dense constants has no resource yet; a front-end or a pass makes them.
    keyed = _with_resource(tmp_path)
    weights = str(tmp_path / "weights.safetensors")
    assert main([keyed[0], "--weights", keyed[1], "--emit-weights", weights]) == 0
    text = capsys.readouterr().out
    assert "graph.resource" in text
    (array,) = load_file(weights).values()
    assert array.tolist() == [float(n) for n in range(40)]
    assert main([keyed[0], "--weights", keyed[1], "--inline-weights"]) == 0
    assert capsys.readouterr().out.split("dense")[1] == inline.split("dense")[1]
    assert main([keyed[0], "--weights", keyed[1], "--inline-weights", "--elide"]) == 0
    assert capsys.readouterr().out == text


def _with_resource(folder: Path) -> tuple[str, str]:
    """Write a module whose constant is a key, and its weights; return both paths."""
    import numpy as np
    from safetensors.numpy import save_file

    text, weights = folder / "keyed.mlir", folder / "in.safetensors"
    save_file({"k": np.arange(40, dtype=np.float32)}, weights)
    text.write_text(
        "func.func @main() -> tensor<40xf32> {\n"
        '  %w = tensor.constant #graph.resource<"k"> to tensor<40xf32>\n'
        "  func.return %w : tensor<40xf32>\n}\n"
    )
    return str(text), str(weights)


def test_target_is_an_attribute_of_the_module(twice: str, capsys: pytest.CaptureFixture[str]):
    assert main([twice, "--target=neon"]) == 0
    assert 'nn.target = "neon"' in capsys.readouterr().out


def test_version_and_help_stop_there(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as caught:
        main(["--help"])
    assert caught.value.code == 0
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.endswith(f"nn-opt {__version__}\n")


def test_closed_pipe_is_quiet(tmp_path: Path):
    path = tmp_path / "many.mlir"
    path.write_text("".join(f"func.func private @f{n}()\n" for n in range(5000)))
    command = f'"{sys.executable}" -m nn_opt.driver "{path}" | head -1'
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    assert done.stdout == "builtin.module {\n"
    assert done.stderr == ""


def test_start_up_imports_nothing_heavy(twice: str):
    code = (
        "import sys\nfrom nn_opt.driver import main\n"
        f"main([{twice!r}, '--cse'])\n"
        "late = {'onnx', 'llvmlite', 'rich', 'safetensors', 'difflib'} & set(sys.modules)\n"
        "print(late, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "set()"


@pytest.fixture
def relu_model(tmp_path: Path) -> str:
    """Write y = relu(x) for x of shape [batch, 3]."""
    import onnx
    from onnx import TensorProto, helper

    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"], name="only")],
        "relu",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 3])],
    )
    path = tmp_path / "relu.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return str(path)


def test_a_model_is_an_input(relu_model: str, capsys: pytest.CaptureFixture[str]):
    assert main([relu_model, "--dim", "batch=2", "--infer-shapes", "--check"]) == 0
    out, err = capsys.readouterr()
    assert "graph.relu" in out
    assert "tensor<2x3xf32>" in out
    assert err == ""


def test_a_broken_model_is_a_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "broken.onnx"
    path.write_bytes(b"this is no model")
    assert "broken.onnx" in refused(capsys, str(path))


def test_a_wrong_size_is_a_message(relu_model: str, capsys: pytest.CaptureFixture[str]):
    assert "expected NAME=SIZE" in refused(capsys, relu_model, "--dim", "batch")
