"""Inputs that are indices: one that names no element is refused, naming input, place and node."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
import tools
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from xdsl.utils.exceptions import PassFailedException

import nn_opt
from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.runtime.index_ranges import IndexRange, check_indices
from nn_opt.runtime.manifest import Manifest, ManifestError, TensorInfo, from_json, to_json

TABLE = np.arange(40, dtype=np.float32).reshape(10, 4)


def model_of(
    nodes: Sequence[NodeProto], inputs: Mapping[str, Sequence[object]], **weights: np.ndarray
) -> ModelProto:
    """Return a model from int64 inputs, and from "x" in f32, to "y"."""
    kinds = {name: TensorProto.FLOAT if name == "x" else TensorProto.INT64 for name in inputs}
    graph = helper.make_graph(
        nodes,
        "indices",
        [helper.make_tensor_value_info(n, kinds[n], s) for n, s in inputs.items()],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def lookup(shape: Sequence[object]) -> ModelProto:
    node = helper.make_node("Gather", ["table", "ids"], ["y"], name="embed")
    return model_of([node], {"ids": shape}, table=TABLE)


def test_an_input_out_of_range_is_refused_at_any_size(tmp_path):
    for _ in "compiled", "from the cache":
        model = nn_opt.compile(lookup(["N", "L"]), cache=tmp_path)
        for rows in (2, 5):  # the second by programs for the first
            ids = np.arange(3 * rows).reshape(rows, 3) % 20 - 10
            np.testing.assert_array_equal(model(ids), TABLE[ids])
            ids[1, 2] = 10
            said = "input 'ids' holds 10 at [1, 2], but node 'embed' takes indices from -10 to 9"
            with pytest.raises(ValueError, match=re.escape(said)):
                model(ids)
        with pytest.raises(ValueError, match="holds -11 at"):
            model.profile({"ids": np.full((2, 3), -11)})
        assert model(np.zeros((0, 3), np.int64)).shape == (0, 3, 4)


@tools.needs("node")
def test_other_engines_refuse_it_too():
    model = nn_opt.compile(lookup([3]), target="js", cache=False)
    with pytest.raises(ValueError, match=re.escape("holds 12 at [1], but node 'embed' takes")):
        model(np.int64([0, 12, 0]))


def test_a_stage_refuses_what_it_is_given():
    nodes = [
        helper.make_node("Gather", ["sizes", "place"], ["size"], name="pick"),
        helper.make_node("Reshape", ["x", "size"], ["wide"]),
        helper.make_node("Gather", ["wide", "ids"], ["y"], name="embed"),
    ]
    inputs = {"x": [6], "ids": [1], "place": [1]}
    model = nn_opt.compile(model_of(nodes, inputs, sizes=np.int64([6, -1, 6])), cache=False)
    x = np.arange(6, dtype=np.float32)
    feed = {"x": x, "ids": np.int64([5]), "place": np.int64([0])}
    assert model.run(feed)["y"].tolist() == [5]
    with pytest.raises(ValueError, match=re.escape("input 'ids' holds 6 at [0], but")):
        model.run(feed | {"ids": np.int64([6])})
    with pytest.raises(ValueError, match=re.escape("input 'place' holds 3 at [0], but")):
        model.run(feed | {"place": np.int64([3])})


def test_of_a_part_only_what_is_read_counts():
    nodes = [
        helper.make_node("Split", ["ids", "sizes"], ["a", "b"], axis=1),
        helper.make_node("Gather", ["table", "b"], ["y"], name="embed"),
    ]
    model = nn_opt.compile(
        model_of(nodes, {"ids": [2, 5]}, table=TABLE, sizes=np.int64([3, 2])), cache=False
    )
    ids = np.full((2, 5), 99)
    ids[:, 3:] = 1
    assert model(ids).shape == (2, 2, 4)
    ids[1, 4] = -11
    with pytest.raises(ValueError, match=re.escape("holds -11 at [1, 4]")):
        model(ids)


def test_columns_of_points_have_ranges_of_their_own():
    node = helper.make_node("GatherND", ["table", "ids"], ["y"])
    model = nn_opt.compile(model_of([node], {"ids": ["N", 2]}, table=TABLE), cache=False)
    assert model(np.int64([[9, 3], [-10, -4]])).tolist() == [39, 0]
    for point, range_ in (([3, 9], "-4 to 3"), ([10, 0], "-10 to 9")):
        with pytest.raises(ValueError, match=re.escape(f"takes indices from {range_}")):
            model(np.int64([[0, 0], point]))


@pytest.mark.parametrize("reduction", ["none", "add"])
@pytest.mark.parametrize("op", ["ScatterElements", "ScatterND"])
def test_of_computed_indices_of_scatters_those_out_of_range_name_none(op: str, reduction: str):
    halve = helper.make_node("Div", ["ids", "two"], ["half"])
    node = helper.make_node(op, ["x", "half", "updates"], ["y"], reduction=reduction)
    indices = [3, 1, -3, -4, 99, 1]
    updates = np.arange(1, 7, dtype=np.float32)
    updates = updates.reshape(6, 1) if op == "ScatterElements" else updates
    model = model_of([halve, node], {"x": [3, 1], "ids": [6, 1]}, two=2, updates=updates)
    if op == "ScatterND":
        model.graph.input[0].type.tensor_type.shape.dim.pop()
    model.opset_import[0].version = 18
    x = np.float32([10, 20, 30])
    expected = x.copy()
    for index, update in zip(indices, np.arange(1, 7), strict=True):
        if -3 <= index < 3:
            expected[index] = update + (expected[index] if reduction == "add" else 0)
    given = x.reshape(3, 1) if op == "ScatterElements" else x
    result = nn_opt.compile(model, cache=False)(given, np.int64(indices).reshape(6, 1) * 2)
    np.testing.assert_array_equal(result.reshape(-1), expected)


def test_computed_indices_name_the_nearest_element():
    nodes = [
        helper.make_node("Add", ["ids", "ids"], ["twice"]),
        helper.make_node("Gather", ["table", "twice"], ["y"]),
    ]
    model = nn_opt.compile(model_of(nodes, {"ids": [2]}, table=TABLE), cache=False)
    np.testing.assert_array_equal(model(np.int64([9, -9])), TABLE[[9, 0]])


@pytest.mark.parametrize("data", ["x", "table"])
def test_constants_out_of_range_are_refused_when_a_model_is_compiled(data: str):
    nodes = [
        helper.make_node("Add", ["ids", "ids"], ["twice"]),
        helper.make_node("Gather", [data, "twice"], ["rows"], name="embed"),
        helper.make_node("Add", ["rows", "x"], ["y"]),
    ]
    proto = model_of(nodes, {"x": [10, 4]}, table=TABLE, ids=np.int64(7))
    said = "node 'embed': error: graph.gather: index 14 is out of range, expected -10 to 9"
    with pytest.raises(PassFailedException, match=said):
        nn_opt.compile(proto, cache=False)


def test_a_size_that_needs_a_constant_out_of_range_names_both_nodes():
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Gather", ["shape", "ids"], ["size"], name="pick"),
        helper.make_node("Reshape", ["x", "size"], ["y"], name="flat"),
    ]
    said = "node 'flat': Reshape: it needs a value of node 'pick', where index 2 is out of bounds"
    with pytest.raises(DiagnosticError, match=said):
        nn_opt.compile(model_of(nodes, {"x": [2, 3]}, ids=np.int64([2])), cache=False)


def test_what_is_said_of_scalars_and_of_empty_axes():
    info = [TensorInfo("i", (), np.dtype(np.uint8))]
    with pytest.raises(ValueError, match="input 'i' holds 7, but it takes indices from -7 to 6"):
        check_indices([IndexRange(0, "it", 7)], info, [np.uint8(7).reshape(())])
    with pytest.raises(ValueError, match="but it takes places on an axis of size 0"):
        check_indices([IndexRange(0, "it", 0)], info, [np.uint8(7).reshape(())])


def test_a_cut_says_where_in_the_input_it_found_something():
    info = [TensorInfo("i", (2, 9), np.dtype(np.int64))]
    i = np.zeros((2, 9), np.int64)
    i[1, 7] = 5
    with pytest.raises(ValueError, match=re.escape("holds 5 at [1, 7]")):
        check_indices([IndexRange(0, "it", 5, ((1, 1, 8, 3),))], info, [i])
    check_indices([IndexRange(0, "it", 5, ((1, 0, 8, 3),))], info, [i])


def test_a_manifest_keeps_ranges_and_believes_no_other():
    inputs = (TensorInfo("ids", (2, 3), np.dtype(np.int64)),)
    known = IndexRange(0, "node 'embed'", 10, ((1, 0, 2, 1),))
    manifest = Manifest(inputs, (), index_ranges=(known,))
    assert from_json(to_json(manifest)) == manifest
    for wrong in ({"input": 1}, {"size": -1}, {"node": 3}, {"cuts": ((0, 0, 1, 0),)}):
        bad = replace(manifest, index_ranges=(replace(known, **wrong),))
        with pytest.raises(ManifestError, match="not the range of an index"):
            from_json(to_json(bad))
    for cuts in ([1], [[1, 2]], 3):
        text = to_json(manifest).replace(b"[[1, 0, 2, 1]]", str(cuts).encode())
        with pytest.raises(ManifestError, match="not a manifest"):
            from_json(text)
