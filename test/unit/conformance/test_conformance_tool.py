"""The tool that runs ONNX's suite: children that die, groups, records, weights that are drawn."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from conformance import isolated, page, record
from conformance.cases import dtypes_of, operators_of
from conformance.groups import GROUPS, Facts
from conformance.judge import compare
from conformance.networks import with_random_weights


def work(name: str) -> dict[str, Any]:
    if name == "crash":
        os.kill(os.getpid(), signal.SIGKILL)
    if name == "end":
        os._exit(3)
    if name == "hang":
        time.sleep(60)
    return {"status": "pass", "name": name}


def test_children_may_die():
    names = ["crash", "hang", "end", "fine", "well"]
    found = dict(isolated.run_all(names, work, jobs=2, limit=1.0))
    assert found == {
        "crash": {"status": "crash", "message": "signal 9"},
        "end": {"status": "crash", "message": "the process ended"},
        "hang": {"status": "hang", "message": "not done after 1 s"},
        "fine": {"status": "pass", "name": "fine"},
        "well": {"status": "pass", "name": "well"},
    }


@pytest.mark.parametrize(
    ("facts", "groups"),
    [
        (Facts("node/test_add", ("Add",), ("FLOAT",)), {"CORE", "REAL-OPS"}),
        (Facts("node/test_abs", ("Abs",), ("FLOAT",)), {"CORE"}),
        (Facts("node/test_add_uint8", ("Add",), ("UINT8",)), set()),
        (Facts("node/test_if", ("If",), ("FLOAT",)), set()),
        (Facts("node/test_elu_expanded", ("Add",), ("FLOAT",)), set()),
        (Facts("node/test_adam", ("ai.onnx.preview.training.Adam",), ("FLOAT",)), set()),
    ],
)
def test_what_is_core(facts: Facts, groups: set[str]):
    assert {name for name in ("CORE", "REAL-OPS") if GROUPS[name](facts)} == groups


def test_operators_and_types_of_a_model():
    sequence = helper.make_tensor_sequence_value_info("s", TensorProto.INT64, None)
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])
    inner = helper.make_graph([helper.make_node("Abs", ["x"], ["y"])], "inner", [], [x])
    nodes = [
        helper.make_node("If", ["c"], ["x"], then_branch=inner, else_branch=inner),
        helper.make_node("Scaler", ["x"], ["z"], domain="ai.onnx.ml"),
    ]
    model = helper.make_model(helper.make_graph(nodes, "g", [x, sequence], []))
    assert operators_of(model) == ["Abs", "If", "ai.onnx.ml.Scaler"]
    assert dtypes_of(model) == ["FLOAT", "seq(INT64)"]


def test_record_and_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    results: dict[str, record.Result] = {
        "node/test_add": {"status": "pass", "operators": ["Add"], "dtypes": ["FLOAT"]},
        "node/test_add_uint8": {
            "status": "unsupported",
            "message": "m: error: node 'Add_0': unsupported Add: no |\n  hint: another",
            "operators": ["Add"],
            "dtypes": ["UINT8"],
        },
        "node/test_at": {
            "status": "pass",
            "host": ["SequenceAt"],
            "operators": ["SequenceAt"],
            "dtypes": ["seq(FLOAT)"],
        },
    }
    path = tmp_path / "conformance.json"
    record.write(results, {"onnx": "1.0"}, path)
    assert len(path.read_text().splitlines()) == 6
    read = record.read(path)
    assert read == (results, {"onnx": "1.0"})
    monkeypatch.setattr(page, "read", lambda: read)
    text = page.page()
    assert "| all | 2 / 3 | 1 | 0 | 0 | 0 | 0 |" in text
    assert "| Add | FLOAT 1 / 1, UINT8 0 / 1 |" in text
    assert "SequenceAt (1 tests)" in text
    reason = "**unsupported** node 'Add_0': unsupported Add: no \\|: `node/test_add_uint8`"
    assert reason in text


def test_sequences_are_compared_whole():
    right = [np.float32(2), [np.array(0.0), np.arange(2.0)], []]
    compare(right, [np.float32(2), [np.array(0.0), np.arange(2.0)], []], 1e-3, 1e-7)
    wrong: list[tuple[list[Any], str]] = [
        ([np.float32(2), [np.array(0.0)], []], "1 values, expected 2"),
        ([np.float32(2), [np.array(0.0), np.arange(3.0)], []], "shape"),
        ([np.float32(2), [np.array(0.0), np.ones(2)], []], "tolerance"),
        ([[np.float32(2)], [], []], "a sequence, expected 2"),
    ]
    for values, message in wrong:
        with pytest.raises(AssertionError, match=message):
            compare(right, values, 1e-3, 1e-7)


def test_weights_are_drawn_up_to_the_softmax():
    model = onnx.parser.parse_model("""
    <ir_version: 8, opset_import: ["": 9]>
    agraph (float[1,3] x) => (float[1,4] y) <int64[2] shape = {4, 3}, int64[1] size = {4}> {
      w = ConstantOfShape(shape)
      b = ConstantOfShape(size)
      z = Gemm<transB = 1>(x, w, b)
      y = Softmax(z)
    }""")
    made = with_random_weights(model)
    assert [node.op_type for node in made.graph.node] == ["Gemm"]
    assert made.graph.output[0].name == "z"
    weights = {tensor.name: numpy_helper.to_array(tensor) for tensor in made.graph.initializer}
    assert weights["w"].shape == (4, 3)
    assert np.std(weights["w"]) > 0.3
    assert len(model.graph.node) == 4
