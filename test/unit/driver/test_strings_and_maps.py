"""nn-run and nn-opt --report of models whose results are strings and maps."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from nn_opt.driver.run import main as nn_run
from nn_opt.driver.tool import run_tool

ML = "ai.onnx.ml"
NAMES = ["left", "right"]


@pytest.fixture
def classifier(tmp_path: Path) -> str:
    nodes = [
        helper.make_node(
            "LinearClassifier",
            ["x"],
            ["label", "scores"],
            domain=ML,
            coefficients=[1.0, 0.0, 0.0, 1.0],
            classlabels_strings=NAMES,
        ),
        helper.make_node("ZipMap", ["scores"], ["maps"], domain=ML, classlabels_strings=NAMES),
    ]
    scores = helper.make_tensor_type_proto(TensorProto.FLOAT, None)
    maps = helper.make_sequence_type_proto(helper.make_map_type_proto(TensorProto.STRING, scores))
    outputs = [
        helper.make_tensor_value_info("label", TensorProto.STRING, [3]),
        helper.make_value_info("maps", maps),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, 2])
    graph = helper.make_graph(nodes, "g", [x], outputs)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(ML, 3)]
    path = tmp_path / "classifier.onnx"
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    return str(path)


def test_run_counts_them(classifier: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert nn_run([classifier, "--repeat", "1"]) == 0
    out = capsys.readouterr().out
    lines = [line.replace("│", " ").split() for line in out.splitlines()]
    assert ["label", "object", "3", "-", "-", "-"] in lines
    assert ["maps", "list", "3", "-", "-", "-"] in lines


def test_report_says_where_nodes_run(classifier: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_tool([classifier, "--report"]) == 0
    lines = [line.replace("│", " ").split() for line in capsys.readouterr().out.splitlines()]
    places = {line[0]: line[-1] for line in lines if line and line[0].startswith(ML)}
    assert places == {f"{ML}.LinearClassifier": "compiled", f"{ML}.ZipMap": "host"}
