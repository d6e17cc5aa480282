"""What an imported module looks like: arguments, names, locations, constants, functions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto
from onnx_text import at_graph_level, parse
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, NameLoc, StringAttr
from xdsl.dialects.func import FuncOp

from nn_opt.dialects import graph
from nn_opt.frontends.onnx import (
    InputSpec,
    describe_inputs,
    describe_outputs,
    import_model,
)
from nn_opt.ir.types import shape_of

X = np.float32([1, -2])


def main_of(module: ModuleOp) -> FuncOp:
    (function,) = module.ops
    assert isinstance(function, FuncOp)
    return function


def names(function: FuncOp, attribute: str) -> list[str]:
    value = function.attributes[attribute]
    assert isinstance(value, ArrayAttr)
    return [entry.data for entry in value if isinstance(entry, StringAttr)]


def test_arguments_and_results_keep_their_names() -> None:
    text = "g (float[2] x, float[3] unused) => (float[2] y, float[2] z) { y = Relu(x) z = Neg(y) }"
    function = main_of(import_model(parse(text)))
    assert names(function, "arg_names") == ["x", "unused"]
    assert names(function, "result_names") == ["y", "z"]
    assert [shape_of(type_) for type_ in function.function_type.inputs] == [(2,), (3,)]


def test_a_scalar_has_its_sizes() -> None:
    model = parse("g (float[1] x, float[2] z) => (float[2] y) { y = Add(x, z) }")
    shape = model.graph.input[0].type.tensor_type.shape
    shape.Clear()
    shape.SetInParent()
    assert [spec.shape for spec in describe_inputs(model)] == [(), (2,)]
    function = main_of(import_model(model))
    assert [shape_of(type_) for type_ in function.function_type.inputs] == [(), (2,)]


def test_an_input_may_be_an_output() -> None:
    text = "g (float[2] x) => (float[2] x, float[2] y) { y = Relu(x) }"
    got = at_graph_level(parse(text), {"x": X})
    np.testing.assert_array_equal(got, [X, np.maximum(X, 0)])


def test_a_weight_may_be_an_output() -> None:
    text = "g (float[2] x) => (float[2] w) { y = Relu(x) }"
    (got,) = at_graph_level(parse(text, weights={"w": X + 1}), {"x": X})
    np.testing.assert_array_equal(got, X + 1)


def test_weights_that_are_inputs_too_are_constants() -> None:
    text = "g (float[2] x, float[2] w) => (float[2] y) { y = Add(x, w) }"
    model = parse(text, weights={"w": X})
    assert [spec.name for spec in describe_inputs(model)] == ["x"]
    np.testing.assert_array_equal(at_graph_level(model, {"x": X}), [2 * X])


def test_ops_are_located_at_their_node() -> None:
    text = "g (float[2] x) => (float[2] y) { t = Relu(x) y = HardSigmoid(t) }"
    model = parse(text)
    model.graph.node[0].name = "größe/a b"
    relu, sigmoid, _ = main_of(import_model(model)).body.block.ops
    places = [op.location.desc.data for op in (relu, sigmoid) if isinstance(op.location, NameLoc)]
    assert places == ["größe/a b", "HardSigmoid_1"]


def test_shape_arithmetic_leaves_no_trace() -> None:
    text = """
    g (float[n,3] x) => (float[] y) {
      s = Shape(x)
      n = Gather(s, zero)
      u = Unsqueeze(n, axis)
      t = Concat<axis = 0>(u, rest)
      y = Reshape(x, t)
      dead = Exp(x)
    }"""
    weights = {"zero": np.int64(0), "axis": np.int64([0]), "rest": np.int64([3, 1])}
    module = import_model(parse(text, weights=weights), dims={"n": 4})
    reshape, _ = main_of(module).body.block.ops
    assert isinstance(reshape, graph.ReshapeOp)
    assert shape_of(reshape.result) == (4, 3, 1)


def test_equal_names_of_sizes_are_bound_together() -> None:
    text = "g (float[n,2] x, float[n] y) => (float[] z) { z = Relu(x) }"
    function = main_of(import_model(parse(text), dims={"n": 5}))
    assert [shape_of(type_) for type_ in function.function_type.inputs] == [(5, 2), (5,)]


def test_inputs_are_described_before_they_are_bound() -> None:
    model = parse("g (float[n,3,?] a, int64[] b) => (float16[2] y) { y = Cast<to = 10>(a) }")
    float32, int64, float16 = (np.dtype(name) for name in ("float32", "int64", "float16"))
    first, second = describe_inputs(model)
    assert first == InputSpec("a", float32, ("n", 3, None))
    assert second == InputSpec("b", int64, None)
    assert describe_outputs(model) == [InputSpec("y", float16, (2,))]
    assert not first.is_static
    assert describe_outputs(model)[0].is_static


def test_local_functions_are_inlined() -> None:
    text = """
    g (float[2] x) => (float[2] y) { [call] y = local.scaled<by = 3.0>(x) }
    <domain: "local", opset_import: ["" : 17]>
    scaled <by> (a) => (b) { c = Constant<value_float: float = @by>() b = Mul(a, c) }"""
    model = parse(text, domains={"local": 1})
    np.testing.assert_array_equal(at_graph_level(model, {"x": X}), [3 * X])


def test_external_weights_are_mapped_not_copied(tmp_path: Path) -> None:
    model = parse(
        "g (float[64] x) => (float[64] y) { y = Add(x, w) }",
        weights={"w": np.arange(64, dtype=np.float32)},
    )
    path = tmp_path / "model.onnx"
    onnx.save(model, path, save_as_external_data=True, location="w.bin", size_threshold=0)
    constant = next(op for op in import_model(path).walk() if isinstance(op, graph.ConstantOp))
    array = constant.array()
    assert not array.flags.owndata
    assert not array.flags.writeable
    np.testing.assert_array_equal(array, np.arange(64))


def test_external_weights_at_an_odd_offset_are_aligned(tmp_path: Path) -> None:
    model = parse("g (float[2] x) => (float[2] y) { y = Add(x, w) }")
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2])
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in (("location", "w.bin"), ("offset", "3")):
        tensor.external_data.add(key=key, value=value)
    model.graph.initializer.append(tensor)
    onnx.save(model, tmp_path / "model.onnx")
    (tmp_path / "w.bin").write_bytes(b"odd" + X.tobytes())
    module = import_model(tmp_path / "model.onnx")
    constant = next(op for op in module.walk() if isinstance(op, graph.ConstantOp))
    assert constant.array().flags.aligned
    np.testing.assert_array_equal(constant.array(), X)


def test_recurrent_nodes_multiply_inputs_before_the_scan() -> None:
    weights = {"w": np.ones((1, 8, 3), np.float32), "r": np.ones((1, 8, 2), np.float32)}
    text = "g (float[5,1,3] x) => (float[] y) { y = LSTM<hidden_size = 2>(x, w, r) }"
    ops = list(main_of(import_model(parse(text, weights=weights))).body.block.ops)
    (scan,) = (op for op in ops if isinstance(op, graph.ScanOp))
    outer = [op for op in ops if isinstance(op, graph.MatmulOp)]
    inner = [op for op in scan.body.block.ops if isinstance(op, graph.MatmulOp)]
    assert [shape_of(op.result) for op in outer] == [(5, 8)]
    assert [shape_of(op.result) for op in inner] == [(1, 8)]
