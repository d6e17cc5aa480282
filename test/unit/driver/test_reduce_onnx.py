"""A model on which a command succeeds is shrunk to the node that matters."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import numpy as np
import onnx
import onnx.helper
import pytest

from bench import models
from nn_opt.driver import main

# Stands for a compiler that goes wrong where a 3x3 convolution of stride 2 is followed by a batch
# normalization.
PLANTED = """import sys, onnx
graph = onnx.load(sys.argv[1]).graph
norms = {node.input[0] for node in graph.node if node.op_type == "BatchNormalization"}
found = [
    node
    for node in graph.node
    if node.op_type == "Conv" and node.output[0] in norms
    for attribute in node.attribute
    if attribute.name == "strides" and list(attribute.ints) == [2, 2]
]
sys.exit(not found)
"""


def save(model: onnx.ModelProto, folder: Path) -> str:
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return str(path)


def command(folder: Path, text: str) -> str:
    script = folder / "check.py"
    script.write_text(text)
    return shlex.join([sys.executable, str(script)])


def test_a_network_ends_as_two_nodes(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    source = save(models.build_small("resnet18"), tmp_path)
    target = tmp_path / "small.onnx"
    check = command(tmp_path, PLANTED)
    assert main([f"--reduce={check}", source, "-o", str(target)]) == 0
    assert "reduce: ends: " in capsys.readouterr().err
    small = onnx.load(target)
    onnx.checker.check_model(small, full_check=True)
    assert [node.op_type for node in small.graph.node] == ["Conv", "BatchNormalization"]
    assert not small.graph.initializer
    assert [attribute.name for attribute in small.graph.node[0].attribute] == ["strides"]
    assert target.stat().st_size < 500


def test_weights_that_matter_stay(tmp_path: Path):
    shape = [2, 3]
    weight = onnx.helper.make_tensor("w", 1, shape, np.arange(6, dtype=np.float32))
    nodes = [
        onnx.helper.make_node("Neg", ["x"], ["a"]),
        onnx.helper.make_node("Mul", ["a", "w"], ["b"]),
        onnx.helper.make_node("Exp", ["b"], ["y"]),
    ]
    values = [onnx.helper.make_tensor_value_info(name, 1, shape) for name in ("x", "y")]
    graph = onnx.helper.make_graph(nodes, "g", values[:1], values[1:], [weight])
    source = save(onnx.helper.make_model(graph), tmp_path)
    check = command(
        tmp_path,
        "import sys, onnx\nfrom onnx.numpy_helper import to_array\n"
        "weights = onnx.load(sys.argv[1]).graph.initializer\n"
        "sys.exit(not any(to_array(tensor).sum() == 15 for tensor in weights))\n",
    )
    target = tmp_path / "small.onnx"
    assert main([f"--reduce={check}", source, "-o", str(target)]) == 0
    small = onnx.load(target)
    assert [node.op_type for node in small.graph.node] == ["Mul"]
    assert [tensor.name for tensor in small.graph.initializer] == ["w"]


def test_a_command_that_fails_at_once_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    source = save(models.build_small("mlp"), tmp_path)
    assert main(["--reduce=false", source, "-o", str(tmp_path / "small.onnx")]) == 1
    assert "the command fails on the input already" in capsys.readouterr().err
    assert not (tmp_path / "small.onnx").exists()


@pytest.mark.parametrize(
    ("name", "content", "flags", "message"),
    [
        ("in.mlir", b"", [], "needs one, expected FILE.onnx"),
        ("in.onnx", b"\x08", [], "not an ONNX model"),
        ("in.onnx", b"", ["--cse"], "error: --reduce to an ONNX model runs no passes"),
    ],
)
def test_what_is_no_model_is_refused(
    name: str,
    content: bytes,
    flags: list[str],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
):
    (tmp_path / name).write_bytes(content)
    target = tmp_path / "small.onnx"
    assert main(["--reduce=true", *flags, str(tmp_path / name), "-o", str(target)]) == 1
    assert message in capsys.readouterr().err
    assert not target.exists()


def test_an_invalid_model_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    model = models.build_small("mlp")
    model.graph.node[0].input[0] = "nobody"
    source = save(model, tmp_path)
    assert main(["--reduce=true", source, "-o", str(tmp_path / "small.onnx")]) == 1
    assert "model.onnx: error: the model is not valid" in capsys.readouterr().err
