"""Operators of ai.onnx.ml on strings and on maps, which are dictionaries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
from onnx import TensorProto, numpy_helper

from nn_opt.frontends.onnx.node import Attributes
from nn_opt.frontends.onnx.signature import MAP, SEQUENCE, STRING, TENSOR
from nn_opt.frontends.onnx.tfidf import column_weights, grams_of
from nn_opt.staged.host.table import Array, Call, HostFault, Kinds, host, tensor


def _other(attrs: Attributes, kinds: Kinds) -> str:
    """Strings become numbers, numbers strings."""
    return TENSOR if kinds and kinds[0] == STRING else STRING


def _values_kind(attrs: Attributes, kinds: Kinds) -> str:
    """Return the kind of what stands in a table of labels."""
    if "classes_strings" in attrs:
        return _other(attrs, kinds)
    held = attrs.tensor("values_tensor")
    is_text = held is not None and held.data_type == TensorProto.STRING
    return STRING if is_text or attrs.texts("values_strings") else TENSOR


def _mapped(data: Array, table: Mapping[Any, Any], default: Any, dtype: Any) -> Array:
    values = [table.get(key, default) for key in data.reshape(-1).tolist()]
    return np.asarray(values, dtype).reshape(data.shape)


@host("LabelEncoder", kind=_values_kind, always=False)
def label_encoder(call: Call) -> Array:
    """A table from keys to values with a default; of equal keys the first counts.

    From version 4 on, NaN is a key like another one; before, it is none.
    """
    attrs, data = call.attrs, call.array(0)
    classes = attrs.texts("classes_strings")
    if classes:
        return _between(call, classes, range(len(classes)))
    keys, values = _side(attrs, "keys"), _side(attrs, "values")
    if len(keys) != len(values):
        raise HostFault(f"there are {len(keys)} keys and {len(values)} values")
    table = dict(zip(reversed(keys.tolist()), reversed(values.tolist()), strict=True))
    found = _mapped(data, table, _default(attrs, values), values.dtype)
    missing = keys != keys if keys.dtype.kind == "f" else np.zeros(0, bool)
    if call.version >= 4 and missing.any():
        found[np.isnan(data)] = values[missing.argmax()]
    return found


def _side(attrs: Attributes, side: str) -> Array:
    held = attrs.tensor(f"{side}_tensor")
    if held is not None:
        array = numpy_helper.to_array(held).reshape(-1)
        return _texts(array.tolist()) if held.data_type == TensorProto.STRING else array
    if texts := attrs.texts(f"{side}_strings"):
        return np.asarray(texts, object)
    if ints := attrs.ints(f"{side}_int64s"):
        return np.asarray(ints, np.int64)
    if floats := attrs.floats(f"{side}_floats"):
        return np.asarray(floats, np.float32)
    raise HostFault(f"the table has no {side}")


def _texts(items: list[Any]) -> Array:
    texts = [item.decode() if isinstance(item, bytes) else str(item) for item in items]
    return np.asarray(texts, object)


def _default(attrs: Attributes, values: Array) -> Any:
    held = attrs.tensor("default_tensor")
    if held is not None:
        array = numpy_helper.to_array(held)
        return (_texts(array.reshape(-1).tolist()) if array.dtype.kind in "OSU" else array).item()
    if values.dtype == object:
        return attrs.text("default_string", "_Unused")
    if values.dtype.kind in "iu":
        return attrs.int("default_int64", -1)
    return attrs.float("default_float", -0.0)


def _between(call: Call, names: list[str], numbers: Any) -> Array:
    """Return numbers for names, or names for numbers, as the input is."""
    data, attrs = call.array(0), call.attrs
    if data.dtype == object:
        table = dict(zip(names, numbers, strict=True))
        return _mapped(data, table, attrs.int("default_int64", -1), np.int64)
    table = dict(zip(numbers, names, strict=True))
    return _mapped(data, table, attrs.text("default_string", "_Unused"), object)


@host("CategoryMapper", kind=_other)
def category_mapper(call: Call) -> Array:
    names, numbers = call.attrs.texts("cats_strings") or [], call.attrs.ints("cats_int64s") or []
    if len(names) != len(numbers):
        raise HostFault(f"there are {len(names)} names for {len(numbers)} numbers")
    return _between(call, names, numbers)


@host("OneHotEncoder", kind=tensor, always=False)
def one_hot_encoder(call: Call) -> Array:
    """One of the categories each, nothing for what is none if `zeros` says so."""
    categories, data = call.attrs.texts("cats_strings") or [], call.array(0)
    places = {name: place for place, name in enumerate(categories)}
    found = _mapped(data, places, -1, np.int64)
    if (found < 0).any() and not call.attrs.flag("zeros", True):
        raise HostFault("a string is no category, and zeros = 0")
    return np.asarray(found[..., None] == np.arange(len(categories)), np.float32)


@host("ArrayFeatureExtractor", always=False)
def array_feature_extractor(call: Call) -> Array:
    data = call.array(0)
    data = data.reshape(1, -1) if data.ndim == 1 else data
    return data.take(call.array(1).reshape(-1), axis=-1)


@host("TfIdfVectorizer", kind=tensor, always=False)
def tf_idf_vectorizer(call: Call) -> Array:
    """Counts n-grams of strings, as compiled code does those of numbers."""
    data, attrs = call.array(0), call.attrs
    rows = data.reshape(1, -1) if data.ndim == 1 else data
    width = max(attrs.ints("ngram_indexes") or [0]) + 1
    counts = np.asarray([_row_counts(attrs, list(row), width) for row in rows], np.float32)
    counts = counts.reshape(len(rows), width)
    mode, weights = attrs.text("mode", "TF"), column_weights(attrs, width)
    if mode == "IDF":
        counts = np.asarray(counts > 0, np.float32)
    if mode != "TF" and weights is not None:
        counts = counts * weights
    return counts.reshape(width) if data.ndim == 1 else counts


def _row_counts(attrs: Attributes, row: list[str], width: int) -> Array:
    grams = grams_of(attrs, attrs.texts("pool_strings") or [])
    least, most = attrs.int("min_gram_length"), attrs.int("max_gram_length")
    counts = np.zeros(width)
    for gap in range(1, attrs.int("max_skip_count") + 2):
        for start in range(len(row)):
            state: int | None = 0
            for size, token in enumerate(row[start::gap][:most], 1):
                state = grams.edges.get((state, grams.tokens.get(token, -1)))
                if state is None:
                    break
                if size >= least and (size > 1 or gap == 1) and grams.columns[state] >= 0:
                    counts[grams.columns[state]] += 1
    return counts


def _maps(attrs: Attributes, kinds: Kinds) -> str:
    return SEQUENCE + MAP


@host("ZipMap", kind=_maps)
def zip_map(call: Call) -> list[dict[Any, Any]]:
    """A map from labels to scores for each row."""
    attrs, scores = call.attrs, call.array(0)
    labels = attrs.texts("classlabels_strings") or attrs.ints("classlabels_int64s") or []
    rows = scores.reshape(1, -1) if scores.ndim == 1 else scores
    if rows.ndim != 2 or rows.shape[1] != len(labels):
        raise HostFault(f"scores of shape {list(scores.shape)} for {len(labels)} labels")
    return [dict(zip(labels, row, strict=True)) for row in rows.tolist()]


def _map(call: Call) -> dict[Any, Any]:
    return cast("dict[Any, Any]", call.get(0))


@host("DictVectorizer", kind=tensor)
def dict_vectorizer(call: Call) -> Array:
    """The values of a map in the order of a vocabulary, zero for what is not there."""
    attrs, given = call.attrs, _map(call)
    keys = attrs.texts("string_vocabulary") or attrs.ints("int64_vocabulary") or []
    is_text = any(isinstance(value, str) for value in given.values())
    whole = all(isinstance(value, int | np.integer) for value in given.values())
    values = [given.get(key, "" if is_text else 0) for key in keys]
    dtype = object if is_text else np.int64 if whole and given else np.float32
    return np.asarray(values, dtype).reshape(1, -1)


def _cast_kind(attrs: Attributes, kinds: Kinds) -> str:
    return STRING if attrs.text("cast_to", "TO_FLOAT") == "TO_STRING" else TENSOR


def _integer(value: Any) -> int:
    return int(float(value))


CASTS: dict[str, tuple[Any, Any]] = {
    "TO_FLOAT": (float, np.float32),
    "TO_INT64": (_integer, np.int64),
    "TO_STRING": (str, object),
}


@host("CastMap", kind=_cast_kind)
def cast_map(call: Call) -> Array:
    """The values of a map by their keys: one after the other, or each at the place of its key."""
    attrs, given = call.attrs, _map(call)
    change, dtype = attrs.choice("cast_to", "TO_FLOAT", CASTS)
    if attrs.text("map_form", "DENSE") == "DENSE":
        return np.asarray([[change(given[key]) for key in sorted(given)]], dtype)
    size = attrs.int("max_map", 1)
    if any(not 0 <= key < size for key in given):
        raise HostFault(f"a key is beyond max_map = {size}")
    nothing = "" if dtype is object else 0
    return np.asarray([[change(given[k]) if k in given else nothing for k in range(size)]], dtype)
