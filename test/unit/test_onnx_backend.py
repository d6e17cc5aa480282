"""ONNX's backend interface: what it takes, what it returns, what it refuses."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, helper, parser
from onnx.backend.base import Backend, BackendRep

from nn_opt import DiagnosticError, onnx_backend

HEAD = '<ir_version: 8, opset_import: ["": 17]>'
OPTIONS: dict[str, Any] = {"cache": False, "threads": 1}


def model(body: str) -> ModelProto:
    return parser.parse_model(f"{HEAD} agraph {body}")


SUM = "(float[2] x, float[2] y) => (float[2] s, float[2] d) { s = Add(x, y) d = Sub(x, y) }"


def test_outputs_have_the_names_of_the_model():
    one, two = np.float32([1, 2]), np.float32([10, 20])
    prepared = onnx_backend.prepare(model(SUM), "CPU", **OPTIONS)
    assert isinstance(prepared, BackendRep)
    in_order: Any = prepared.run([two, one])
    assert in_order.s.tolist() == [11, 22]
    assert in_order["d"].tolist() == in_order[1].tolist() == [9, 18]
    assert prepared.run({"y": one, "x": two})[1].tolist() == [9, 18]


def test_one_array_is_the_only_input():
    relu = model("(float[N] x) => (float[N] y) { y = Relu(x) }")
    for count in (2, 3):
        x = np.arange(-1, count - 1, dtype=np.float32)
        assert onnx_backend.run_model(relu, x, **OPTIONS)[0].tolist() == np.maximum(x, 0).tolist()


def test_wrong_number_of_inputs():
    prepared = onnx_backend.prepare(model(SUM), **OPTIONS)
    with pytest.raises(ValueError, match="1 inputs given, the model takes 2: 'x', 'y'"):
        prepared.run([np.float32([1, 2])])


def test_device():
    assert onnx_backend.supports_device("CPU")
    assert not onnx_backend.supports_device("CUDA:1")
    with pytest.raises(ValueError, match="device 'CUDA' is none of CPU"):
        onnx_backend.prepare(model(SUM), "CUDA")


def test_unsupported_model_is_not_compatible():
    foreign = model("(float[2] x) => (float[2] y) { y = not.here.Relu(x) }")
    foreign.graph.node[0].domain = "not.here"
    foreign.graph.node[0].op_type = "Relu"
    foreign.opset_import.append(helper.make_opsetid("not.here", 1))
    assert not onnx_backend.is_compatible(foreign)
    assert onnx_backend.is_compatible(model(SUM), **OPTIONS)
    with pytest.raises(DiagnosticError, match="Relu"):
        onnx_backend.prepare(foreign)


def test_one_node():
    x = np.float32([[1, -2], [3, 4]])
    softmax = helper.make_node("Softmax", ["x"], ["y"], axis=0)
    (got,) = onnx_backend.run_node(softmax, [x], **OPTIONS)
    assert np.allclose(got, np.exp(x) / np.exp(x).sum(0), rtol=1e-6)
    matrix = onnx_backend.run_node(softmax, [x], opset_version=11, **OPTIONS)
    assert np.allclose(matrix[0], np.exp(x) / np.exp(x).sum(), rtol=1e-6)
    clip = helper.make_node("Clip", ["x", "", "high"], ["y"])
    named = {"x": x, "high": np.float32(2)}
    info = [(x.dtype, x.shape)]
    (got,) = onnx_backend.run_node(clip, named, outputs_info=info, **OPTIONS)
    assert got.tolist() == [[1, -2], [2, 2]]


def test_the_class_is_a_backend():
    assert issubclass(onnx_backend.NnOptBackend, Backend)


def test_plain_use_does_not_import_it():
    program = "import sys, nn_opt; nn_opt.compile; sys.exit('nn_opt.onnx_backend' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
