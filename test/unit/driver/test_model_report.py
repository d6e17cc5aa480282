"""nn-opt --report: counts, arithmetic, places and targets of small models."""

from __future__ import annotations

from pathlib import Path

import onnx
import onnx.parser
import pytest

from nn_opt.driver.run import main as nn_run
from nn_opt.driver.tool import run_tool

HEAD = '<ir_version: 8, opset_import: ["" : 17, "local" : 1]>\n'
DENSE = "g (float[N, 4] x) => (float[N, 2] y) { [mix] h = MatMul(x, w) [cut] y = Relu(h) }"
DOUBLE = "g (double[8] x) => (double[8] y) { y = Add(x, x) }"
MIXED = """g (float[2] x, float[2] z) => (int64 n, float[2] y) {
    [gather] s = SequenceConstruct(x, z)
    [count] n = SequenceLength(s)
    [own] y = local.Mystery(x)
}"""


def report(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, *flags: str) -> str:
    model = onnx.parser.parse_model(HEAD + text)
    if "w" in model.graph.node[0].input:
        weight = onnx.helper.make_tensor("w", onnx.TensorProto.FLOAT, [4, 2], range(8))
        model.graph.initializer.append(weight)
    path = str(tmp_path / "net.onnx")
    onnx.save(model, path)
    assert run_tool([path, "--report", *flags]) == 0
    return capsys.readouterr().out


def row(out: str, operator: str) -> list[str]:
    """Return the cells of an operator's row."""
    (line,) = (line for line in out.splitlines() if f" {operator} " in line and "\u2502" in line)
    return [cell.strip() for cell in line.strip("\u2502").split("\u2502")]


def test_sizes_and_arithmetic(tmp_path, capsys):
    out = report(tmp_path, capsys, DENSE, "--dim", "N=1000")
    assert "2 nodes of 2 operators, opset ai.onnx 17" in out
    assert "input x: float32 ['N', 4]" in out
    assert "parameters: 8 float (32 bytes in memory)" in out
    assert "18,000 floating-point operations a run" in out  # 1000 * 2 * (2 * 4) + 1000 * 2
    assert row(out, "MatMul") == ["MatMul", "1", "float", "0.016", "compiled"]
    assert row(out, "Relu") == ["Relu", "1", "float", "0.002", "compiled"]
    assert "metal: all element types" in out


def test_sizes_that_are_not_known(tmp_path, capsys):
    out = report(tmp_path, capsys, DENSE)
    assert "operations are not known before it runs: the sizes of 1 input(s) are unknown" in out
    assert row(out, "MatMul")[3:] == ["-", "compiled"]


def test_element_types_that_a_language_lacks(tmp_path, capsys):
    out = report(tmp_path, capsys, DOUBLE)
    assert "cpu and other targets through LLVM: all element types (f64)" in out
    assert "metal: refused: no type for f64" in out
    assert "wgsl: refused: no type for f64" in out
    assert "C99: all element types" in out


def test_nodes_on_the_host_and_nowhere(tmp_path, capsys):
    out = report(tmp_path, capsys, MIXED)
    assert row(out, "SequenceConstruct")[-1] == "host"
    assert row(out, "SequenceLength")[-1] == "host"
    assert row(out, "local.Mystery")[-1] == "unsupported"
    assert "unsupported: node 'own': local.Mystery: operator is not supported" in out


def test_sequences_are_called_so(tmp_path, capsys):
    text = "g (seq(float[n]) s) => (int64 n) { n = SequenceLength(s) }"
    out = report(tmp_path, capsys, text)
    assert "input s: sequence of tensor of float32" in out
    words = "known before it runs: 1 unsupported node(s): node 'SequenceLength_0'"
    assert words in " ".join(out.split())
    assert nn_run([str(tmp_path / "net.onnx")]) == 1
    words = "error: input s: sequence of tensor of float32: there are no random ones"
    assert words in capsys.readouterr().err


def test_ir_has_no_report(tmp_path, capsys):
    (tmp_path / "a.mlir").write_text("")
    assert run_tool([str(tmp_path / "a.mlir"), "--report"]) == 1
    assert "error: --report takes a model, expected FILE.onnx" in capsys.readouterr().err
