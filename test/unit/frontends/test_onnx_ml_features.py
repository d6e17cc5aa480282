"""Operators of ai.onnx.ml on features, and TfIdfVectorizer, against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ml_models import Array, by_onnxruntime, ml_model, ml_node
from onnx import NodeProto, TensorProto, helper, numpy_helper

import nn_opt
from nn_opt.ir.diagnostics import DiagnosticError

FLOAT, INT = TensorProto.FLOAT, TensorProto.INT64
RANDOM = np.random.default_rng(0)
INPUTS: dict[str, Array] = {
    "x": np.asarray([[1.5, -2, 0], [0, 0, 0], [-3, np.nan, 1]], np.float32),
    "n": np.asarray([[1.5, -2, 0.25], [0, 0, 0], [-3, -4, -1]], np.float32),
    "d": RANDOM.uniform(-9, 9, (2, 3)),
    "i": np.asarray([[3, -1, 7], [0, 3, 1 << 60]], np.int64),
    "z": np.asarray(1),
    "v": np.asarray([4, 5, 6], np.float32),
    "p": np.asarray([[2, 0]], np.int64),
    "s": np.asarray(1, np.float32),
    "t": RANDOM.integers(0, 5, (3, 9)),
}


def table(**attrs: Any) -> dict[str, Any]:
    return attrs


def nodes() -> list[tuple[NodeProto, int]]:
    named = {
        "Scaler": (["n"], table(offset=[1.0, 2.0, 3.0], scale=[0.5, 2.0, 4.0]), FLOAT),
        "Scaler.d": (["d"], table(offset=[1.0], scale=[0.5]), FLOAT),
        "Scaler.i": (["i"], table(offset=[1.0], scale=[0.5]), FLOAT),
        "Normalizer": (["n"], table(norm="L1"), FLOAT),
        "Normalizer.l2": (["n"], table(norm="L2"), FLOAT),
        "Normalizer.max": (["n"], table(norm="MAX"), FLOAT),
        "Normalizer.i": (["i"], table(norm="L1"), FLOAT),
        "Binarizer": (["n"], table(threshold=0.5), FLOAT),
        "ArrayFeatureExtractor": (["n", "p"], table(), FLOAT),
        "ArrayFeatureExtractor.v": (["v", "p"], table(), FLOAT),
        "ArrayFeatureExtractor.i": (["i", "p"], table(), INT),
        "FeatureVectorizer": (["x", "n"], table(inputdimensions=[3, 3]), FLOAT),
        "Imputer": (
            ["x"],
            table(imputed_value_floats=[7.0, 8.0, 9.0], replaced_value_float=float("nan")),
            FLOAT,
        ),
        "Imputer.zero": (["x"], table(imputed_value_floats=[7.0], replaced_value_float=0.0), FLOAT),
        "Imputer.i": (["i"], table(imputed_value_int64s=[1 << 40], replaced_value_int64=3), INT),
        "OneHotEncoder": (["i"], table(cats_int64s=[7, 3, 0], zeros=1), FLOAT),
        "OneHotEncoder.x": (["n"], table(cats_int64s=[-3, 1], zeros=1), FLOAT),
        "LabelEncoder": (
            ["i"],
            table(keys_int64s=[7, 3, 7], values_floats=[0.5, 1.5, 2.5], default_float=9.0),
            FLOAT,
        ),
        "LabelEncoder.nan": (
            ["x"],
            table(keys_floats=[float("nan"), 0.0, 1.5], values_int64s=[4, 5, 6]),
            INT,
        ),
    }
    found: list[tuple[NodeProto, int]] = []
    for name, (inputs, attrs, kind) in named.items():
        found.append((ml_node(name.partition(".")[0], inputs, [name], **attrs), kind))
    return found + [(grams(k, **attrs), FLOAT) for k, attrs in enumerate(GRAMS)]


GRAMS: list[dict[str, Any]] = [
    {"mode": "TF", "min_gram_length": 1, "max_gram_length": 3, "max_skip_count": 2},
    {"mode": "IDF", "min_gram_length": 2, "max_gram_length": 3, "max_skip_count": 1},
    {"mode": "TFIDF", "min_gram_length": 1, "max_gram_length": 1, "max_skip_count": 3},
]


def grams(number: int, **attrs: Any) -> NodeProto:
    """Return a node that counts 1, 3, 4 and pairs and triples of these, in mixed columns."""
    return helper.make_node(
        "TfIdfVectorizer",
        ["t"],
        [f"grams{number}"],
        pool_int64s=[1, 3, 4, 1, 3, 3, 1, 4, 4, 1, 2, 3, 3, 3, 0],
        ngram_counts=[0, 3, 9],
        ngram_indexes=[3, 0, 5, 1, 2, 4, 6, 7],
        **({"weights": [0.5, 1, 2, 3, 4, 5, 6, 7]} if number else {}),
        **attrs,
    )


@pytest.mark.parametrize("version", [3, 4])
def test_features(version: int) -> None:
    made = nodes()
    kinds = {node.output[0]: kind for node, kind in made}
    model = ml_model([node for node, _ in made], INPUTS, kinds, version)
    got = nn_opt.compile(model).run(INPUTS)
    for (name, ours), theirs in zip(got.items(), by_onnxruntime(model, INPUTS), strict=True):
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype), name
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-7, err_msg=name)


def test_forms_that_onnxruntime_has_not() -> None:
    """Integers above a threshold, narrow columns cut and filled, and tables of other types."""
    keys, values = np.asarray([1.5, 0], np.float64), np.asarray([300, -5], np.int16)
    tensors = {
        "keys_tensor": numpy_helper.from_array(keys),
        "values_tensor": numpy_helper.from_array(values),
        "default_tensor": numpy_helper.from_array(np.asarray([7], np.int16)),
    }
    inputs = {"i": np.asarray([[-1, 0, 1, 2]]), "f": np.asarray([[1.5, 2], [0, -0.0]])}
    made = [
        ml_node("Binarizer", ["i"], ["b"], threshold=0.5),
        ml_node("FeatureVectorizer", ["i", "i"], ["w"], inputdimensions=[2, 5]),
        ml_node("LabelEncoder", ["f"], ["l"], **tensors),
    ]
    kinds = {"b": INT, "w": FLOAT, "l": TensorProto.INT16}
    b, w, found = nn_opt.compile(ml_model(made, inputs, kinds, 4)).run(inputs).values()
    assert b.tolist() == [[0, 0, 1, 1]]
    assert w.tolist() == [[-1, 0, -1, 0, 1, 2, 0]]
    assert (found.dtype, found.tolist()) == (np.int16, [[300, 7], [-5, -5]])


def refused(op_type: str, *, domain: str = "ai.onnx.ml", given: str = "n", **attrs: Any) -> str:
    node = helper.make_node(op_type, [given], ["y"], domain=domain, **attrs)
    model = ml_model([node], {given: INPUTS[given]}, {"y": FLOAT})
    with pytest.raises(DiagnosticError) as error:
        nn_opt.compile(model)
    return str(error.value)


def test_features_that_make_no_sense() -> None:
    assert "attribute 'offset' is missing or empty" in refused("Scaler", scale=[1.0])
    assert "offset has 2 entries, expected 1 or 3" in refused("Scaler", offset=[1.0, 2.0])
    assert "operand 0 is a scalar, expected features" in refused(
        "Scaler", given="s", offset=[1.0], scale=[1.0]
    )
    assert "operand 0 has shape [], expected rows of features" in refused("Normalizer", given="s")
    assert "an operand of shape [3, 3] has no rows of -1" in refused(
        "FeatureVectorizer", inputdimensions=[-1]
    )
    assert "norm is 'L3', expected one of MAX, L1, L2" in refused("Normalizer", norm="L3")
    assert "inputdimensions has 2 entries, expected 1" in refused(
        "FeatureVectorizer", inputdimensions=[1, 2]
    )
    assert "attribute 'imputed_value_floats' is missing or empty" in refused("Imputer")
    assert "cats_int64s is missing or empty" in refused("OneHotEncoder")
    assert "there are 1 keys and 2 values" in refused(
        "LabelEncoder", keys_int64s=[1], values_int64s=[1, 2]
    )
    assert "the table has no keys that are numbers" in refused("LabelEncoder", values_int64s=[1])


def n_grams(**changes: Any) -> str:
    attrs = {"mode": "TF", "min_gram_length": 1, "max_gram_length": 2, "max_skip_count": 0}
    attrs |= {"pool_int64s": [1, 2, 3], "ngram_counts": [0, 1], "ngram_indexes": [0, 1]}
    given = changes.pop("given", "t")
    attrs = {name: value for name, value in (attrs | changes).items() if value is not None}
    return refused("TfIdfVectorizer", domain="", given=given, **attrs)


def test_n_grams_that_make_no_sense() -> None:
    assert "pool_int64s is missing or empty" in n_grams(pool_int64s=None)
    assert "operand 0 has shape [], expected one row or several" in n_grams(given="z")
    assert "do not fit ngram_counts" in n_grams(max_gram_length=3)
    assert "ngram_counts is [0, 2], for a pool of 3 entries" in n_grams(ngram_counts=[0, 2])
    assert "ngram_indexes has 1 entries, fewer than n-grams" in n_grams(ngram_indexes=[0])
    assert "weights has 1 entries, expected 2" in n_grams(mode="IDF", weights=[1.0])
    assert "mode is 'DF', expected one of TF, IDF, TFIDF" in n_grams(mode="DF")
