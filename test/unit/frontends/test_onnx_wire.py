"""Large weights are read where they lie in the file."""

from __future__ import annotations

import os
import threading

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from bench.models import build_small
from nn_opt.frontends.onnx import import_model, read_model
from nn_opt.frontends.onnx.wire import LARGE, Malformed, Weights, cut_weights
from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.ir.printing import print_module

LARGE_ARRAY = np.arange(2 * LARGE, dtype=np.float32)
SMALL_ARRAY = np.arange(8, dtype=np.float32)


def adding(*weights: np.ndarray) -> onnx.ModelProto:
    """Return a model that adds weights, broadcast, to its input."""
    names = [f"w{k}" for k in range(len(weights))]
    sums = ["x", *(f"s{k}" for k in range(len(weights)))]
    nodes = [helper.make_node("Add", [sums[k], names[k]], [sums[k + 1]]) for k in range(len(names))]
    shape = list(np.broadcast_shapes(*(weight.shape for weight in weights)))
    value = [
        helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n in (sums[0], sums[-1])
    ]
    tensors = [numpy_helper.from_array(w, n) for w, n in zip(weights, names, strict=True)]
    return helper.make_model(helper.make_graph(nodes, "adding", value[:1], value[1:], tensors))


@pytest.mark.parametrize("name", ["resnet18", "bert_tiny", "lstm"])
def test_a_file_says_what_its_message_says(name, tmp_path):
    proto = build_small(name)
    path = tmp_path / "model.onnx"
    path.write_bytes(proto.SerializeToString())
    assert print_module(import_model(path)) == print_module(import_model(proto))


def test_only_large_weights_are_cut_out():
    proto = adding(LARGE_ARRAY, SMALL_ARRAY[:1])
    weights = Weights()
    short = cut_weights(memoryview(proto.SerializeToString()), weights)
    assert len(short) < LARGE
    parsed = onnx.ModelProto()
    parsed.ParseFromString(short)
    large, small = parsed.graph.initializer
    assert weights.find(large.raw_data) == LARGE_ARRAY.tobytes()
    assert weights.find(small.raw_data) == small.raw_data == SMALL_ARRAY[:1].tobytes()
    large.raw_data = LARGE_ARRAY.tobytes()
    assert parsed == proto


def test_the_mark_of_another_model_is_no_mark():
    mark = Weights().keep(memoryview(b"secret"))
    assert Weights().find(mark) == mark


def test_a_weight_of_another_size_is_refused_by_name(tmp_path):
    proto = adding(LARGE_ARRAY)
    proto.graph.initializer[0].raw_data += b"\0\0\0\0"
    (tmp_path / "model.onnx").write_bytes(proto.SerializeToString())
    with pytest.raises(DiagnosticError, match=r"'w0'.*holds 32772 bytes, expected 32768"):
        import_model(tmp_path / "model.onnx")


@pytest.mark.parametrize("cut", [1, 100, 5000, 30_000])
def test_truncated_files_are_refused(cut, tmp_path):
    data = adding(LARGE_ARRAY).SerializeToString()
    (tmp_path / "model.onnx").write_bytes(data[:-cut])
    with pytest.raises(DiagnosticError, match="truncated"):
        read_model(tmp_path / "model.onnx")


@pytest.mark.parametrize("data", [b"\x80" * 11, b"\x0b", b"\x3a\xff\xff\xff\xff\x7f", b"\x09\0"])
def test_what_is_no_message_is_malformed(data):
    with pytest.raises(Malformed):
        cut_weights(memoryview(data), Weights())


def test_an_empty_file_is_refused(tmp_path):
    (tmp_path / "model.onnx").write_bytes(b"")
    with pytest.raises(DiagnosticError, match="not an ONNX model: it is empty"):
        read_model(tmp_path / "model.onnx")


def test_a_pipe_is_read(tmp_path):
    data = adding(LARGE_ARRAY).SerializeToString()
    os.mkfifo(tmp_path / "pipe.onnx")
    writer = threading.Thread(target=(tmp_path / "pipe.onnx").write_bytes, args=[data])
    writer.start()
    model = read_model(tmp_path / "pipe.onnx")
    writer.join()
    assert len(model.proto.graph.node) == 1
