"""Element types of 8, 6, 4 and 2 bits in ONNX models: packed weights, inputs, results, files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx_text import parse

from nn_opt.compiler import compile
from nn_opt.frontends.onnx.packed import BITS
from nn_opt.frontends.onnx.weights import ELEMENT_DTYPES
from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.ir.small_types import SMALL
from nn_opt.runtime.manifest import Manifest, TensorInfo, from_json, to_json

Array = NDArray[Any]
SMALL_KINDS = [kind for kind, dtype in ELEMENT_DTYPES.items() if dtype.name in SMALL]


def named(kind: int) -> str:
    return TensorProto.DataType.Name(kind)


def codes(kind: int, count: int) -> Array:
    """Return numbers of every bit pattern of a type, one after the other."""
    bits = BITS.get(kind, 8)
    return ((np.arange(count) * 5 + 1) % (1 << bits)).astype(np.uint8).view(ELEMENT_DTYPES[kind])


def model_of(tensor: TensorProto) -> onnx.ModelProto:
    """Return a model whose result is a weight, and one that is moved at run time."""
    kind, size = tensor.data_type, list(tensor.dims)
    nodes = [
        helper.make_node("Identity", ["w"], ["y"]),
        helper.make_node("Transpose", ["x"], ["t"], perm=[1, 0]),
    ]
    inputs = [helper.make_tensor_value_info("x", kind, [3, 5])]
    outputs = [
        helper.make_tensor_value_info("y", kind, size),
        helper.make_tensor_value_info("t", kind, [5, 3]),
    ]
    graph = helper.make_graph(nodes, "g", inputs, outputs, [tensor])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)])


def tensor_of(array: Array, kind: int, packing: str) -> TensorProto:
    """Return a tensor with its elements in bytes or in a list of integers."""
    if packing == "raw":
        tensor = numpy_helper.from_array(array, "w")
        assert tensor.data_type == kind
        return tensor
    return helper.make_tensor("w", kind, array.shape, array.astype(np.float32))


@pytest.mark.parametrize("kind", SMALL_KINDS, ids=named)
def test_types_go_in_and_out(kind: int, tmp_path: Path):
    """Of a file of its own, of bytes in the model, of a list of integers in it."""
    array, x = codes(kind, 21).reshape(3, 7), codes(kind, 15).reshape(3, 5)
    model = model_of(tensor_of(array, kind, "raw"))
    found = compile(model, cache=False, threads=1).run({"x": x})
    assert found["y"].dtype == found["t"].dtype == array.dtype
    np.testing.assert_array_equal(found["y"].view(np.uint8), array.view(np.uint8))
    np.testing.assert_array_equal(found["t"].view(np.uint8), x.T.view(np.uint8))
    onnx.save(model, tmp_path / "m.onnx", save_as_external_data=True, size_threshold=0)
    finite = np.where(np.isfinite(array.astype(np.float32)), array, array[0, 0])
    for source, expected in (
        (tmp_path / "m.onnx", array),
        (model_of(tensor_of(finite, kind, "list")), finite),
    ):
        y = compile(source, cache=False, threads=1).run({"x": x})["y"]
        np.testing.assert_array_equal(y.view(np.uint8), expected.view(np.uint8))


@pytest.mark.parametrize("kind", sorted(BITS), ids=named)
def test_packed_weights_of_another_size(kind: int):
    array = codes(kind, 21)
    tensor = tensor_of(array, kind, "raw")
    tensor.raw_data += b"\0"
    size = len(tensor.raw_data)
    expected = f"tensor 'w' of shape [21]: it holds {size} bytes, expected {size - 1}"
    with pytest.raises(DiagnosticError, match=expected.replace("[", r"\[")):
        compile(model_of(tensor), cache=False)
    tensor = tensor_of(array, kind, "list")
    tensor.int32_data.append(0)
    with pytest.raises(DiagnosticError, match="its list of values has another length"):
        compile(model_of(tensor), cache=False)


@pytest.mark.parametrize("name", SMALL)
def test_manifest_knows_types(name: str):
    info = TensorInfo("x", (2,), np.dtype(getattr(ml_dtypes, name)))
    assert from_json(to_json(Manifest((info,), ()))).inputs == (info,)


QUANTISED = [kind for kind in SMALL_KINDS if kind != TensorProto.FLOAT8E8M0]
QUANTISED += [TensorProto.UINT8, TensorProto.INT8, TensorProto.UINT16, TensorProto.INT16]
FLOATS = ("float", "float16", "bfloat16")
CASES = [(kind, FLOATS[number % 3]) for number, kind in enumerate(QUANTISED)]
CASES += [(kind, FLOATS[(number + 1) % 3]) for number, kind in enumerate(QUANTISED)]


@pytest.mark.parametrize(("kind", "real"), CASES)
def test_quantised_as_onnx_evaluates(kind: int, real: str):
    """By channels and by blocks, ties included; back again, too."""
    word, random = named(kind).lower(), np.random.default_rng(kind)
    dtype = ELEMENT_DTYPES[getattr(TensorProto, real.upper())]
    x = (random.integers(-40, 40, (4, 6)) / 4).astype(dtype)
    x[0, :2] = 1e4, -1e4
    integer = "int" in word
    zero = (random.integers(0, 2, 6) if integer else np.zeros(6)).astype(ELEMENT_DTYPES[kind])
    known = {
        "s": np.array([0.5, 1, 2, 0.25, 0.3, 0.7]).astype(dtype),
        "z": zero,
        "t": random.uniform(0.2, 2, (4, 3)).astype(dtype),
    }
    text = f"""g ({real}[4,6] x) => ({word}[4,6] q, {real}[4,6] d, {word}[4,6] b, {real}[4,6] e) {{
      q = QuantizeLinear<axis = 1>(x, s, z)
      d = DequantizeLinear<axis = 1>(q, s, z)
      b = QuantizeLinear<axis = 1, block_size = 2, output_dtype = {kind}>(x, t)
      e = DequantizeLinear<axis = 1, block_size = 2>(b, t)
    }}"""
    model = parse(text, 25, known)
    expected = ReferenceEvaluator(model).run(None, {"x": x})
    found = compile(model, cache=False, threads=1).run({"x": x})
    for name, want in zip(found, expected, strict=True):
        got = found[name]
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got.astype(np.float64), want.astype(np.float64), name)


def test_types_of_a_zero_point_and_a_wish():
    text = f"""g (float[2] x) => (uint8[2] y) {{
      y = QuantizeLinear<output_dtype = {TensorProto.INT8}>(x, s, z)
    }}"""
    known = {"s": np.float32(1), "z": np.uint8(3)}
    model = parse(text, 21, {name: np.asarray(array) for name, array in known.items()})
    with pytest.raises(DiagnosticError) as error:
        compile(model, cache=False)
    assert "output_dtype is int8, but the zero point is uint8" in str(error.value)


def test_scales_that_are_powers_and_precision():
    """A scale of f8E8M0FNU divides in the type of x, `precision` in the one it says."""
    x = np.array([1.0, 3.0, 5.0, 7.1], np.float32)
    known = {
        "s": np.array(2.0).astype(ml_dtypes.float8_e8m0fnu),
        "t": np.array(0.3, np.float32),
    }
    text = f"""g (float[4] x) => (uint8[4] p, float[4] d, int8[4] h) {{
      p = QuantizeLinear(x, s)
      d = DequantizeLinear<output_dtype = 1>(p, s)
      h = QuantizeLinear<precision = {TensorProto.FLOAT16}, output_dtype = {TensorProto.INT8}>(x, t)
    }}"""
    found = compile(parse(text, 25, known), cache=False, threads=1).run({"x": x})
    assert found["p"].tolist() == [0, 2, 2, 4]
    assert found["d"].tolist() == [0, 4, 4, 8]
    half = x.astype(np.float16) / np.float16(0.3)
    assert found["h"].tolist() == np.rint(half).tolist()


def test_casts_of_the_first_opset_name_their_type():
    model = parse('g (float[2] x) => (int32[2] y) { y = Cast<to = "INT32">(x) }', 1)
    model.ir_version = 3
    found = compile(model, cache=False, threads=1)(np.array([1.5, -2.5], np.float32))
    assert found.tolist() == [1, -2]
