"""nn-run --per-node and --minimize: a wrong converter is found, and a wrong kernel of several."""

from __future__ import annotations

from dataclasses import replace

import ml_dtypes
import numpy as np
import onnx
import onnx.parser
import pytest

from nn_opt.dialects import graph
from nn_opt.driver import per_node
from nn_opt.driver.peers import load_peer
from nn_opt.driver.run import main as nn_run
from nn_opt.frontends.onnx.table import CONVERTERS
from nn_opt.ir.diagnostics import DiagnosticError

WEIGHTS = ", ".join(f"{value:.3f}" for value in np.random.default_rng(3).standard_normal(32))
TEXT = f"""<ir_version: 8, opset_import: ["" : 17]>
g (float[N, 8] x) => (float[N, 4] y) <float[8, 4] w = {{{WEIGHTS}}}> {{
    [mix] a = MatMul(x, w)
    [bend] b = Tanh(a)
    [more] y = Add(b, a)
}}"""


@pytest.fixture
def model(tmp_path, monkeypatch) -> str:
    monkeypatch.setenv("NN_OPT_CACHE", str(tmp_path / "cache"))
    onnx.save(onnx.parser.parse_model(TEXT), tmp_path / "model.onnx")
    return str(tmp_path / "model.onnx")


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = nn_run([*arguments, "--no-cache", "--dim", "N=3", "--threads", "1"])
    out, err = capsys.readouterr()
    return status, " ".join(out.split()), err


def test_a_wrong_node_is_named_and_cut_out(model, tmp_path, monkeypatch, capsys):
    right = CONVERTERS["", "Tanh"]
    wrong = replace(right, convert=lambda node: graph.SigmoidOp(node[0]).result)
    monkeypatch.setitem(CONVERTERS, ("", "Tanh"), wrong)
    small = tmp_path / "small.onnx"
    options = ["--compare", "onnxruntime", "--per-node", "--minimize", str(small)]
    status, out, _ = run(capsys, model, *options)
    assert status == 0
    assert "First to differ: node 'bend' (Tanh), value 'b':" in out
    assert f"{small}: 1 node(s) that differ" in out
    cut = onnx.load(small)
    assert [node.op_type for node in cut.graph.node] == ["Tanh"]
    assert [dim.dim_value for dim in cut.graph.input[0].type.tensor_type.shape.dim] == [1, 1]
    status, out, err = run(capsys, model, "--compare", "reference", "--per-node")
    assert (status, err) == (0, "")
    assert "First to differ: node 'bend' (Tanh), value 'b':" in out
    monkeypatch.setitem(CONVERTERS, ("", "Tanh"), right)
    _, out, _ = run(capsys, model, "--compare", "reference", "--per-node")
    assert "No value differs by more than 0.001" in out


def test_a_kernel_that_is_wrong_only_as_a_whole(model, tmp_path, monkeypatch, capsys):
    """What goes wrong once nodes are fused is no node's fault: all of the model is cut down."""
    real = per_node.compile

    def wrong(proto, **options):
        compiled = real(proto, **options)
        nodes = [node.op_type for node in proto.graph.node]
        if len(proto.graph.output) == 1 and nodes[-2:] == ["Tanh", "Add"]:
            run = compiled.run
            compiled.run = lambda inputs: {k: v + 1 for k, v in run(inputs).items()}
        return compiled

    monkeypatch.setattr(per_node, "compile", wrong)
    small = tmp_path / "small.onnx"
    options = ["--compare", "onnxruntime", "--minimize", str(small)]
    _, out, _ = run(capsys, model, *options)
    assert "Output 'y' differs by more than 0.001, no value before it does once" in out
    assert [node.op_type for node in onnx.load(small).graph.node] == ["Tanh", "Add"]


def test_rounding_that_adds_up(model, capsys):
    options = ["--compare", "reference", "--per-node", "--tolerance"]
    _, out, _ = run(capsys, model, *options, "0")
    assert "First to differ" in out or "no node does so by itself: rounding adds up" in out


def test_models_that_cannot_be_loaded_whole(model, tmp_path, monkeypatch):
    with pytest.raises(DiagnosticError, match="reference evaluator cannot load the model"):
        load_peer("reference", b"no model")
    monkeypatch.setattr(per_node, "MOST_BYTES", 8)
    with pytest.raises(DiagnosticError, match="takes models below 2 GiB, this has"):
        per_node.load_whole(model)
    proto = onnx.load(model)
    weight = proto.graph.initializer[0]
    weight.raw_data = b""
    onnx.external_data_helper.set_external_data(weight, "w.bin")
    (tmp_path / "model.onnx").write_bytes(proto.SerializeToString())
    with pytest.raises(
        DiagnosticError, match=r"model.onnx: error: cannot read its weights: .*w.bin"
    ):
        per_node.load_whole(model)


def test_mistakes(model, tmp_path, capsys):
    status, _, err = run(capsys, model, "--per-node")
    assert status == 1
    assert "error: --per-node and --minimize need another runtime" in err
    small = str(tmp_path / "small.onnx")
    status, _, err = run(capsys, model, "--compare", "reference", "--minimize", small)
    assert status == 1
    assert "error: --minimize: no output differs by more than 0.001 from reference" in err


def test_values_given_for_always_are_given_to_the_other_runtime(tmp_path, capsys):
    text = """<ir_version: 8, opset_import: ["" : 17]>
    g (float[N] x, int64[1] k) => (float[n] y) { [few] y = Tile(x, k) }"""
    onnx.save(onnx.parser.parse_model(text), path := str(tmp_path / "model.onnx"))
    for more in (["--per-node"], ["--repeat", "1"]):
        options = ["--value", "k=2", "--compare", "onnxruntime", *more]
        status, out, err = run(capsys, path, *options)
        assert (status, err) == (0, ""), err
        assert "No value differs" in out or "error against onnxruntime: 0.00e+00" in out


def test_what_the_evaluator_cannot_run():
    """It casts no integers of 4 bits to others of 2."""
    text = """<ir_version: 11, opset_import: ["" : 25]>
    g (int4[2] x) => (uint2[2] y) { y = Cast<to = 25>(x) }"""
    run = load_peer("reference", onnx.parser.parse_model(text).SerializeToString())
    with pytest.raises(DiagnosticError, match="reference evaluator cannot run the model"):
        run(["y"], {"x": np.zeros(2, ml_dtypes.int4)})
