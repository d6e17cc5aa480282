"""`nn_opt.parse` reads files and text, with weights beside it, or says what it was given."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

import nn_opt
from nn_opt.ir.resources import array_of

WITH_WEIGHTS = """func.func @main() -> tensor<40xf32> {
  %w = tensor.constant #graph.resource<"k"> to tensor<40xf32>
  func.return %w : tensor<40xf32>
}
"""


def test_a_file_and_its_text_are_the_same(tmp_path: Path):
    path = tmp_path / "in.mlir"
    path.write_text("func.func private @f()\n")
    texts = [nn_opt.print_module(nn_opt.parse(s)) for s in (path, str(path), path.read_text())]
    assert len(set(texts)) == 1


def test_weights_are_in_a_file_beside_it(tmp_path: Path):
    weights = tmp_path / "w.safetensors"
    save_file({"k": np.arange(40, dtype=np.float32)}, weights)
    module = nn_opt.parse(WITH_WEIGHTS, weights=weights)
    (constant,) = [op for op in module.walk() if op.name == "tensor.constant"]
    array = array_of(constant.properties["value"], constant.results[0].type)
    assert array.tolist() == list(range(40))


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("none.mlir", "none.mlir: error: No such file or directory"),
        ("func.func @f()", "hint: text has a line break at its end"),
        ("model.onnx", "hint: nn_opt.import_model reads it"),
        ("arith.frob\n", "<text>:1:1: error: unknown operation 'arith.frob'"),
    ],
)
def test_what_is_no_module_is_a_message(source: str, problem: str):
    with pytest.raises(nn_opt.DiagnosticError) as caught:
        nn_opt.parse(source)
    assert problem in str(caught.value)
