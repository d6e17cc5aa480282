"""Sparse initializers: both forms of indices, in inner graphs, in files, and wrong ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import ModelProto, SparseTensorProto, TensorProto, helper, numpy_helper
from onnx_text import parse

import nn_opt
from nn_opt.ir.diagnostics import DiagnosticError

X = np.arange(6, dtype=np.float32).reshape(2, 3)
DENSE = np.asarray([[0, 2, 0], [0, 0, -3]], np.float32)
FLAT, BY_AXES = [1, 5], [[0, 1], [1, 2]]


def sparse(
    values: Any = (2, -3), indices: Any = FLAT, dims: Any = (2, 3), dtype: Any = np.float32
) -> SparseTensorProto:
    elements = numpy_helper.from_array(np.asarray(values, dtype), "w")
    places = numpy_helper.from_array(np.asarray(indices, np.int64), "places")
    return helper.make_sparse_tensor(elements, places, list(dims))


def model_with(tensor: SparseTensorProto, text: str = "y = Add(x, w)") -> ModelProto:
    model = parse(f"g (float[2,3] x) => (float[2,3] y) {{ {text} }}", 17)
    model.graph.sparse_initializer.append(tensor)
    return model


@pytest.mark.parametrize("indices", [FLAT, BY_AXES])
def test_both_forms(indices: Any, tmp_path: Path) -> None:
    model = model_with(sparse(indices=indices))
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    session: Any = onnxruntime.InferenceSession(model.SerializeToString())
    (expected,) = session.run(None, {"x": X})
    assert expected.tolist() == (X + DENSE).tolist()
    for source in (model, model.SerializeToString(), tmp_path / "model.onnx"):
        assert nn_opt.compile(source, cache=False)(X).tolist() == expected.tolist()
    assert len(model.graph.sparse_initializer) == 1


def test_one_that_a_run_may_take_as_a_size() -> None:
    model = model_with(sparse([3, 2], [0, 1], [2], np.int64), "y = Reshape(x, w)")
    model.graph.output[0].type.tensor_type.ClearField("shape")
    assert nn_opt.compile(model, cache=False)(X).tolist() == X.reshape(3, 2).tolist()


def test_of_four_bits() -> None:
    model = parse("g (float[2,3] x) => (float[2,3] y) { f = Cast<to=1>(w) y = Add(x, f) }", 21)
    tensor = sparse([1, 2], dtype=np.uint8)
    tensor.values.CopyFrom(helper.make_tensor("w", TensorProto.INT4, [2], [2, -3]))
    model.graph.sparse_initializer.append(tensor)
    assert nn_opt.compile(model, cache=False)(X).tolist() == (X + DENSE).tolist()


def test_of_a_branch() -> None:
    text = """
      zero = Constant<value_float=0.0>()
      sum = ReduceSum<keepdims=0>(x)
      positive = Greater(sum, zero)
      y = If (positive) <
        then_branch = a () => (float[2,3] o) { o = Add(x, w) },
        else_branch = b () => (float[2,3] p) { p = Neg(x) }>"""
    model = parse(f"g (float[2,3] x) => (float[2,3] y) {{ {text} }}", 17)
    branch = next(a.g for a in model.graph.node[-1].attribute if a.name == "then_branch")
    branch.sparse_initializer.append(sparse())
    compiled = nn_opt.compile(model, cache=False)
    assert compiled(X).tolist() == (X + DENSE).tolist()
    assert compiled(-X).tolist() == X.tolist()


def test_beside_the_model(tmp_path: Path) -> None:
    tensor = sparse()
    tensor.values.ClearField("raw_data")
    tensor.values.data_location = TensorProto.EXTERNAL
    tensor.values.external_data.add(key="location", value="w.bin")
    (tmp_path / "model.onnx").write_bytes(model_with(tensor).SerializeToString())
    for factor in (1, 2):  # a changed file is another model, also for the cache
        np.asarray([2 * factor, -3], np.float32).tofile(tmp_path / "w.bin")
        y = nn_opt.compile(tmp_path / "model.onnx", cache=tmp_path / "cache")(X)
        assert y.tolist() == (X + DENSE * np.asarray([[1, factor, 1], [1, 1, 1]])).tolist()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"indices": [1, 6]}, "an index lies outside of the shape [2, 3]"),
        ({"indices": [-1, 5]}, "an index lies outside of the shape [2, 3]"),
        ({"indices": [5, 1]}, "expected indices in ascending order, each of them once"),
        ({"indices": [5, 5]}, "expected indices in ascending order, each of them once"),
        ({"indices": [[1, 2], [0, 1]]}, "expected indices in ascending order, each of them once"),
        ({"indices": [1]}, "values of shape [2] at indices of shape [1]"),
        ({"indices": [[0], [1]]}, "values of shape [2] at indices of shape [2, 1]"),
        ({"values": [[2], [-3]]}, "values of shape [2, 1], expected one axis"),
        ({"dims": [2, -3]}, "shape [2, -3], expected positive sizes"),
        ({"dims": [2**40, 2**20]}, f"a constant of {2**60} elements is absurd"),
    ],
)
def test_what_does_not_fit(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(DiagnosticError) as error:
        nn_opt.compile(model_with(sparse(**changes)), cache=False)
    assert str(error.value) == f"g: error: sparse initializer 'w': {words}"


def test_indices_of_another_type() -> None:
    tensor = sparse()
    tensor.indices.CopyFrom(numpy_helper.from_array(np.asarray(FLAT, np.int32), "places"))
    with pytest.raises(DiagnosticError, match="'w': expected indices of int64"):
        nn_opt.compile(model_with(tensor), cache=False)


def test_strings() -> None:
    tensor = sparse()
    tensor.values.CopyFrom(numpy_helper.from_array(np.asarray(["a", "b"], object), "w"))
    with pytest.raises(DiagnosticError, match="tensor 'w' has elements of string"):
        nn_opt.compile(model_with(tensor), cache=False)
