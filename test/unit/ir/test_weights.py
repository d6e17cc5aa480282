"""Weights beside the text come back bit by bit, from a file or inline."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp
from xdsl.ir import Attribute

from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.ir.dtypes import DTYPES
from nn_opt.ir.parsing import make_context, parse_module
from nn_opt.ir.printing import print_module
from nn_opt.ir.resources import Array, ResourceAttr, array_of, dense_of, resource_of
from nn_opt.ir.weights import WeightsFile, inline_weights, save_weights

ALL_DTYPES = sorted(set(DTYPES.values()), key=str)


def sample(dtype: np.dtype[Any], size: int) -> Array:
    """Return numbers that are hard to print: NaN, infinity, -0.0, the extremes."""
    generator = np.random.default_rng(0)
    if dtype.kind == "b":
        return generator.integers(0, 2, size).astype(bool)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        array = generator.integers(limits.min, limits.max, size, dtype, endpoint=True)
        array[:2] = limits.min, limits.max
        return array
    array = generator.standard_normal(size).astype(dtype)
    array[:3] = np.array([np.nan, -np.inf, -0.0]).astype(dtype)
    return array


def module_with(value: Attribute) -> ModuleOp:
    module = ModuleOp([])
    module.attributes["weights"] = value
    return module


@pytest.mark.parametrize("size", [7, 300])
@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=str)
def test_dense_text_is_exact(dtype: np.dtype[Any], size: int):
    array = sample(dtype, size)
    value = dense_of(array)
    module = parse_module(make_context(), print_module(module_with(value)), "m.mlir")
    again = array_of(module.attributes["weights"], value.type)
    assert again.dtype == dtype
    assert again.tobytes() == array.tobytes()


@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=str)
def test_file_is_exact(dtype: np.dtype[Any], tmp_path: Path):
    array = sample(dtype, 300).reshape(3, 100)
    module = module_with(resource_of(array))
    path = tmp_path / "weights.safetensors"
    save_weights(module, path)
    text = print_module(module)
    assert len(text) < 200
    again = parse_module(make_context(), text, "m.mlir", WeightsFile(path))
    value = again.attributes["weights"]
    assert isinstance(value, ResourceAttr)
    assert value.data.array is not None
    assert value.data.array.tobytes() == array.tobytes()
    assert (value.data.array.shape, value.data.array.dtype) == ((3, 100), dtype)


def test_file_is_what_the_format_says(tmp_path: Path):
    array = np.arange(20, dtype=np.float32)
    module = module_with(resource_of(array))
    save_weights(module, tmp_path / "ours")
    (stored,) = load_file(tmp_path / "ours").values()
    np.testing.assert_array_equal(stored, array)
    save_file({"theirs": array}, tmp_path / "theirs")
    np.testing.assert_array_equal(WeightsFile(tmp_path / "theirs")["theirs"], array)


def test_inline_weights_leave_no_key():
    array = np.arange(40, dtype=np.float32).reshape(5, 8)
    module = module_with(resource_of(array))
    inline_weights(module)
    text = print_module(module)
    assert "graph.resource" not in text
    value = parse_module(make_context(), text, "m.mlir").attributes["weights"]
    np.testing.assert_array_equal(array_of(value, dense_of(array).type), array)


def test_weights_in_lists_and_dictionaries(tmp_path: Path):
    """As in `nn.weights` of a module at llvm level."""
    arrays = [np.full(40, k, np.float32) for k in range(3)]
    one, two, three = (resource_of(array) for array in arrays)
    module = ModuleOp([], {"nn.weights": ArrayAttr([one, DictionaryAttr({"a": two}), three])})
    save_weights(module, tmp_path / "all")
    assert sorted(array[0] for array in load_file(tmp_path / "all").values()) == [0, 1, 2]
    text = print_module(module)
    again = parse_module(make_context(), text, "m.mlir", WeightsFile(tmp_path / "all"))
    inline_weights(again)
    assert print_module(again) == (
        "builtin.module attributes {nn.weights = [dense<0.000000e+00> : tensor<40xf32>,"
        " {a = dense<1.000000e+00> : tensor<40xf32>}, dense<2.000000e+00> : tensor<40xf32>]} {\n}\n"
    )


def test_text_without_its_weights_says_so():
    text = print_module(module_with(resource_of(np.zeros(99, ml_dtypes.bfloat16))))
    module = parse_module(make_context(), text, "m.mlir")
    assert print_module(module) == text
    with pytest.raises(DiagnosticError, match="--weights=FILE"):
        inline_weights(module)


@pytest.mark.parametrize("content", [b"", b"no weights at all", b"\xff" * 64])
def test_bad_file_is_a_message(content: bytes, tmp_path: Path):
    path = tmp_path / "bad"
    path.write_bytes(content)
    with pytest.raises(DiagnosticError, match="no safetensors file"):
        WeightsFile(path)


def test_cut_file_is_a_message(tmp_path: Path):
    path = tmp_path / "cut"
    save_file({"a": np.zeros(100, np.float32)}, path)
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(DiagnosticError, match="bad size"):
        WeightsFile(path)["a"]


def test_missing_file_is_a_message(tmp_path: Path):
    with pytest.raises(DiagnosticError, match="No such file"):
        WeightsFile(tmp_path / "none")


def test_zeros_of_both_signs_stay():
    array = np.array([0.0, -0.0, -0.0, 0.0], np.float32)
    module = parse_module(make_context(), print_module(module_with(dense_of(array))), "m.mlir")
    again = array_of(module.attributes["weights"], dense_of(array).type)
    assert again.tobytes() == array.tobytes()
