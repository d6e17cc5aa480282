"""Operators of ai.onnx.ml on strings and maps, between compiled ones, against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, TypeProto, helper, numpy_helper

import nn_opt
from nn_opt.ir.diagnostics import DiagnosticError

ML = "ai.onnx.ml"
FLOAT, INT, TEXT = TensorProto.FLOAT, TensorProto.INT64, TensorProto.STRING


def tensor(kind: int) -> TypeProto:
    return helper.make_tensor_type_proto(kind, None)


def mapping(key: int, value: int) -> TypeProto:
    return helper.make_map_type_proto(key, tensor(value))


def run(
    nodes: list[Any], inputs: dict[str, tuple[TypeProto, Any]], outputs: dict[str, TypeProto]
) -> tuple[list[Any], list[Any]]:
    """Return what we and what onnxruntime make of a graph."""
    import onnxruntime

    values = [helper.make_value_info(name, kind) for name, (kind, _) in inputs.items()]
    results = [helper.make_value_info(name, kind) for name, kind in outputs.items()]
    graph = helper.make_graph(nodes, "g", values, results)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(ML, 2)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    given = {name: value for name, (_, value) in inputs.items()}
    runtime: Any = onnxruntime
    session = runtime.InferenceSession(model.SerializeToString())
    theirs = session.run(None, given)
    return list(nn_opt.compile(model).run(given).values()), theirs


def plain(values: list[Any]) -> list[Any]:
    return [value.tolist() if isinstance(value, np.ndarray) else value for value in values]


def node(op_type: str, inputs: list[str], outputs: list[str], **attrs: Any) -> Any:
    return helper.make_node(op_type, inputs, outputs, domain=ML, **attrs)


def test_strings_become_numbers_and_back() -> None:
    names = np.asarray([["b", "x"], ["é", "b"]], object)
    tables = {"keys_strings": ["b", "é", "b"], "values_int64s": [4, 5, 6]}
    nodes = [
        node("LabelEncoder", ["s"], ["k"], **tables, default_int64=9),
        helper.make_node("Add", ["k", "k"], ["twice"]),
        node("LabelEncoder", ["twice"], ["back"], keys_int64s=[8, 10], values_strings=["B", "E"]),
        node("LabelEncoder", ["s"], ["f"], keys_strings=["x"], values_floats=[0.5]),
        node("LabelEncoder", ["s"], ["t"], keys_strings=["x"], values_strings=["ex"]),
        node("CategoryMapper", ["s"], ["c"], cats_strings=["b", "x"], cats_int64s=[3, 7]),
        node("CategoryMapper", ["k"], ["d"], cats_strings=["b", "x"], cats_int64s=[4, 7]),
        node("OneHotEncoder", ["s"], ["h"], cats_strings=["x", "b"], zeros=1),
    ]
    kinds = {"twice": INT, "back": TEXT, "f": FLOAT, "t": TEXT, "c": INT, "d": TEXT, "h": FLOAT}
    outputs = {name: tensor(kind) for name, kind in kinds.items()}
    ours, theirs = run(nodes, {"s": (tensor(TEXT), names)}, outputs)
    assert plain(ours) == plain(theirs)


def test_scores_become_maps() -> None:
    x = np.asarray([[1, 2], [3, -1]], np.float32)
    nodes = [
        node(
            "LinearClassifier",
            ["x"],
            ["label", "scores"],
            coefficients=[1.0, 0.0, 0.0, 1.0],
            intercepts=[0.0, 0.0],
            classlabels_strings=["left", "right"],
            post_transform="SOFTMAX",
        ),
        node("ZipMap", ["scores"], ["maps"], classlabels_strings=["left", "right"]),
        node("ZipMap", ["scores"], ["numbered"], classlabels_int64s=[5, 3]),
    ]
    outputs = {
        "label": tensor(TEXT),
        "maps": helper.make_sequence_type_proto(mapping(TEXT, FLOAT)),
        "numbered": helper.make_sequence_type_proto(mapping(INT, FLOAT)),
    }
    ours, theirs = run(nodes, {"x": (tensor(FLOAT), x)}, outputs)
    assert ours[0].tolist() == theirs[0].tolist() == ["right", "left"]
    for got, want in zip([*ours[1], *ours[2]], [*theirs[1], *theirs[2]], strict=True):
        assert got == pytest.approx(want)


def test_maps_become_rows() -> None:
    nodes = [
        node("DictVectorizer", ["m"], ["y"], string_vocabulary=["a", "b", "c"]),
        node("DictVectorizer", ["n"], ["z"], int64_vocabulary=[3, 1]),
        node("CastMap", ["n"], ["w"], cast_to="TO_FLOAT", map_form="SPARSE", max_map=5),
        node("CastMap", ["n"], ["v"], cast_to="TO_INT64"),
        helper.make_node("Neg", ["y"], ["minus"]),
    ]
    inputs: dict[str, tuple[TypeProto, Any]] = {
        "m": (mapping(TEXT, FLOAT), {"c": 1.5, "a": 2.0, "other": 9.0}),
        "n": (mapping(INT, FLOAT), {1: 7.0, 4: 2.0}),
    }
    outputs = {"minus": FLOAT, "z": FLOAT, "w": FLOAT, "v": INT}
    ours, theirs = run(nodes, inputs, {name: tensor(kind) for name, kind in outputs.items()})
    assert plain(ours) == plain(theirs)


def test_n_grams_of_strings() -> None:
    words = np.asarray([["a", "b", "c", "a", "b"], ["b", "b", "x", "b", "a"]], object)
    counted = helper.make_node(
        "TfIdfVectorizer",
        ["s"],
        ["y"],
        mode="TFIDF",
        min_gram_length=1,
        max_gram_length=2,
        max_skip_count=2,
        pool_strings=["a", "b", "a", "b", "b", "b"],
        ngram_counts=[0, 2],
        ngram_indexes=[3, 1, 0, 2],
        weights=[0.5, 1.0, 2.0, 3.0],
    )
    ours, theirs = run([counted], {"s": (tensor(TEXT), words)}, {"y": tensor(FLOAT)})
    assert plain(ours) == plain(theirs)


def refused(one: Any, kind: TypeProto, value: Any, result: TypeProto) -> str:
    values = [helper.make_value_info("x", kind)]
    graph = helper.make_graph([one], "g", values, [helper.make_value_info("y", result)])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(ML, 2)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    with pytest.raises((DiagnosticError, TypeError)) as error:
        nn_opt.compile(model).run({"x": value})
    return str(error.value)


def test_what_does_not_fit() -> None:
    text, words = tensor(TEXT), np.asarray(["a"], object)
    encoder = node("LabelEncoder", ["x"], ["y"], keys_strings=["a"], values_int64s=[1, 2])
    assert "there are 1 keys and 2 values" in refused(encoder, text, words, tensor(INT))
    bare = node("LabelEncoder", ["x"], ["y"], values_int64s=[1])
    assert "the table has no keys" in refused(bare, text, words, tensor(INT))
    mapper = node("CategoryMapper", ["x"], ["y"], cats_strings=["a"], cats_int64s=[1, 2])
    assert "there are 1 names for 2 numbers" in refused(mapper, text, words, tensor(INT))
    hot = node("OneHotEncoder", ["x"], ["y"], cats_strings=["b"], zeros=0)
    assert "a string is no category, and zeros = 0" in refused(hot, text, words, tensor(FLOAT))
    scores = np.zeros((2, 3), np.float32)
    zipped = node("ZipMap", ["x"], ["y"], classlabels_int64s=[5, 3])
    maps = helper.make_sequence_type_proto(mapping(INT, FLOAT))
    assert "scores of shape [2, 3] for 2 labels" in refused(zipped, tensor(FLOAT), scores, maps)
    numbered = mapping(INT, FLOAT)
    vector = node("DictVectorizer", ["x"], ["y"], int64_vocabulary=[3])
    assert "is a ndarray, expected a dictionary" in refused(vector, numbered, scores, tensor(FLOAT))
    cast = node("CastMap", ["x"], ["y"], map_form="SPARSE", max_map=2)
    assert "a key is beyond max_map = 2" in refused(cast, numbered, {7: 1.0}, tensor(FLOAT))


def test_tables_may_be_tensors_of_strings() -> None:
    """A newer form of the operator; onnxruntime takes it as well, but not this default."""
    keys = numpy_helper.from_array(np.asarray(["a", "b"], object))
    values = numpy_helper.from_array(np.asarray([0.5, 2], np.float64))
    default = numpy_helper.from_array(np.asarray([-1], np.float64))
    encoder = node(
        "LabelEncoder",
        ["x"],
        ["y"],
        keys_tensor=keys,
        values_tensor=values,
        default_tensor=default,
    )
    info = helper.make_value_info("x", tensor(TEXT))
    result = helper.make_value_info("y", tensor(TensorProto.DOUBLE))
    graph = helper.make_graph([encoder], "g", [info], [result])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid(ML, 4)], ir_version=9)
    (y,) = nn_opt.compile(model).run({"x": np.asarray(["b", "z"], object)}).values()
    assert (y.dtype, y.tolist()) == (np.float64, [2.0, -1.0])


@pytest.mark.parametrize("version", [2, 4])
def test_keys_that_are_nan(version: int) -> None:
    """Source: LabelEncoder-4, and onnxruntime of both; before, NaN is no key."""
    texts = {"keys_floats": [1.0, np.nan, 3.0], "values_strings": ["u", "v", "w"]}
    encoder = node("LabelEncoder", ["x"], ["y"], **texts)
    info = helper.make_value_info("x", tensor(FLOAT))
    graph = helper.make_graph([encoder], "g", [info], [helper.make_value_info("y", tensor(TEXT))])
    opsets = [helper.make_opsetid(ML, version)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    x = np.array([[np.nan, 1], [3, -1]], np.float32)
    (y,) = nn_opt.compile(model).run({"x": x}).values()
    assert y.tolist() == [["v" if version == 4 else "_Unused", "u"], ["w", "_Unused"]]
