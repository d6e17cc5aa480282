"""bench.int8: files in the forms it names, and the error it reports."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from bench.int8 import FORMS, Accuracy, measure, model_named, quantize
from nn_opt.compiler import compile


@pytest.mark.parametrize("form", FORMS)
def test_a_quantised_model_multiplies_integers(form: str, tmp_path: Path):
    path = quantize(model_named("mlp_small"), tmp_path / "q.onnx", FORMS[form], calibration=2)
    kinds = {node.op_type for node in onnx.load(path).graph.node}
    assert ("DynamicQuantizeLinear" if form == "dynamic" else "QuantizeLinear") in kinds
    factors = [kernel.factors for kernel in compile(path, cache=False).kernels if kernel.factors]
    assert factors == ["int8"] * 3


def test_accuracy_by_hand():
    wanted = [np.array([[3.0, 4.0]]), np.array([[0.0, 0.0]])]
    got = [np.array([[3.0, 3.0]]), np.array([[0.0, 1.0]])]
    accuracy = Accuracy.of(got, wanted)
    assert accuracy.relative == pytest.approx(2**0.5 / 5)
    assert accuracy.agreement == 0.0


def test_a_line_for_each_subject(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    measure("mlp_small", "u8s8", tmp_path, seconds=0.01, seeds=2)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:3] == ["mlp_small", "u8s8", "nn-opt"]
    assert lines[0].split()[5] == "1.00"
    assert any("onnxruntime f32" in line for line in lines)
