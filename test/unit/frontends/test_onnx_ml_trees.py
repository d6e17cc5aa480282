"""Tree ensembles of ai.onnx.ml against onnxruntime."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from ml_models import MODES, Array, by_onnxruntime, forest, halves, ml_model, ml_node
from onnx import ModelProto, TensorProto, helper

import nn_opt
from nn_opt.ir.diagnostics import DiagnosticError

TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


def agree(model: ModelProto, inputs: dict[str, Array]) -> None:
    got = nn_opt.compile(model).run(inputs)
    for (name, ours), theirs in zip(got.items(), by_onnxruntime(model, inputs), strict=True):
        assert (ours.shape, ours.dtype.kind) == (theirs.shape, theirs.dtype.kind), name
        if ours.dtype.kind == "f":
            np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=2e-6, err_msg=name)
        else:
            np.testing.assert_array_equal(ours, theirs, err_msg=name)


def regressors(dtype: Any) -> list[tuple[str, dict[str, Any]]]:
    found: list[tuple[str, dict[str, Any]]] = []
    for k, how in enumerate(("SUM", "AVERAGE", "MIN", "MAX")):
        one = forest(k, targets=1, modes=[MODES[k]], missing=k % 2 == 1)
        found.append((f"{how}1", {"n_targets": 1, "aggregate_function": how, **one}))
        more = forest(k, modes=MODES, missing=k % 2 == 0, every=k % 2 == 1)
        base = {"base_values": [0.5, -1.0, 2.0]} if k % 2 else {}
        found.append((how, {"n_targets": 3, "aggregate_function": how, **more, **base}))
    return found


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_regressors(dtype: Any) -> None:
    x = halves(0, 40, dtype=dtype)
    nodes = [
        ml_node("TreeEnsembleRegressor", ["x"], [name], **attrs)
        for name, attrs in regressors(dtype)
    ]
    outputs = {node.output[0]: TensorProto.FLOAT for node in nodes}
    agree(ml_model(nodes, {"x": x}, outputs), {"x": x})


def test_transforms_after_regressors() -> None:
    x = halves(1, 30)
    nodes = [
        ml_node(
            "TreeEnsembleRegressor",
            ["x"],
            [f"{name}{targets}"],
            n_targets=targets,
            post_transform=name,
            base_values=[0.25] * targets,
            aggregate_function="AVERAGE",
            **forest(3, targets=targets, lowest=0.1),
        )
        for name in TRANSFORMS
        for targets in (1, 3)
    ]
    outputs = {node.output[0]: TensorProto.FLOAT for node in nodes}
    agree(ml_model(nodes, {"x": x}, outputs), {"x": x})


CLASSES: dict[str, dict[str, Any]] = {
    "many": {"ids": [0, 1, 2], "labels": [7, 3, 5]},
    "many_some": {"ids": [0, 1, 2], "labels": [7, 3, 5], "every": False},
    "many_base": {"ids": [0, 1, 2], "labels": [7, 3, 5], "base_values": [0.5, 0.25, -0.5]},
    "two": {"ids": [0, 1], "labels": [0, 1]},
    "two_base": {"ids": [0, 1], "labels": [0, 1], "base_values": [0.5, 0.25]},
    "first": {"ids": [0], "labels": [4, 9]},
    "first_positive": {"ids": [0], "labels": [4, 9], "lowest": 0.0, "trees": 1},
    "first_base": {"ids": [0], "labels": [4, 9], "base_values": [0.25]},
    "second": {"ids": [1], "labels": [4, 9]},
    "second_positive": {"ids": [1], "labels": [4, 9], "lowest": 0.0, "trees": 1},
}


def classifier(name: str, transform: str = "NONE", **more: Any) -> tuple[list[str], dict[str, Any]]:
    case = dict(CLASSES[name])
    labels = case.pop("labels")
    base = {k: case.pop(k) for k in ("base_values",) if k in case}
    attrs = forest(5, of="class", targets=len(labels), **case)
    outputs = [f"label_{name}_{transform}", f"scores_{name}_{transform}"]
    return outputs, {
        "classlabels_int64s": labels,
        "post_transform": transform,
        **attrs,
        **base,
        **more,
    }


@pytest.mark.parametrize("transform", TRANSFORMS[:4])
def test_classifiers(transform: str) -> None:
    x = halves(2, 30)
    nodes: list[Any] = []
    kinds: dict[str, Any] = {}
    for name in CLASSES:
        outputs, attrs = classifier(name, transform)
        nodes.append(ml_node("TreeEnsembleClassifier", ["x"], outputs, **attrs))
        kinds |= {outputs[0]: TensorProto.INT64, outputs[1]: TensorProto.FLOAT}
    agree(ml_model(nodes, {"x": x}, kinds), {"x": x})


def test_labels_may_be_strings_and_features_integers() -> None:
    x = halves(4, 20, dtype=np.int64)
    outputs, attrs = classifier("many")
    attrs.pop("classlabels_int64s")
    node = ml_node(
        "TreeEnsembleClassifier", ["x"], outputs, **attrs, classlabels_strings=["a", "b", "é"]
    )
    kinds = {outputs[0]: TensorProto.STRING, outputs[1]: TensorProto.FLOAT}
    model = ml_model([node], {"x": x}, kinds)
    labels, scores = nn_opt.compile(model).run({"x": x}).values()
    wanted = by_onnxruntime(model, {"x": x})
    assert labels.tolist() == wanted[0].tolist()
    np.testing.assert_allclose(scores, wanted[1], rtol=1e-5, atol=1e-6)


def ensemble(**changes: Any) -> dict[str, Any]:
    """Return attributes of two trees: a < 1 ? (b in {1, -0.5} ? 5 : 7) : 2, and b != 0 ? 3 : 4."""
    names = ("featureids", "truenodeids", "falsenodeids", "trueleafs", "falseleafs")
    lists = ([0, 1, 1], [1, 0, 3], [2, 1, 4], [0, 1, 1], [1, 1, 1])
    attrs: dict[str, Any] = {f"nodes_{n}": v for n, v in zip(names, lists, strict=True)}
    attrs |= {
        "tree_roots": [0, 2],
        "n_targets": 2,
        "leaf_targetids": [0, 1, 1, 0, 1],
        "nodes_modes": _tensor(np.asarray([1, 6, 5], np.uint8)),
        "nodes_splits": _tensor(np.asarray([1, np.nan, 0], np.float32)),
        "leaf_weights": _tensor(np.asarray([5, 7, 2, 3, 4], np.float32)),
        "membership_values": _tensor(np.asarray([1, -0.5, np.nan], np.float32)),
    }
    return attrs | changes


def _tensor(array: Array) -> TensorProto:
    return helper.make_tensor(
        "t", helper.np_dtype_to_tensor_dtype(array.dtype), [array.size], array
    )


def _half(values: list[float]) -> float:
    return sum(values) / 2


def test_trees_with_leaves_apart() -> None:
    x = np.asarray([[0, 1], [0, -0.5], [0, 2], [1, 1], [3, 0], [0, np.nan]], np.float32)
    nodes = [
        ml_node("TreeEnsemble", ["x"], [f"y{k}"], **ensemble(aggregate_function=k))
        for k in range(4)
    ]
    model = ml_model(nodes, {"x": x}, {f"y{k}": TensorProto.FLOAT for k in range(4)}, version=5)
    rows = [(5.0, 3), (5, 3), (7, 3), (2, 3), (2, 4), (7, 3)]  # of a tree each, with its target
    where = [(0, 0), (0, 0), (1, 0), (1, 0), (1, 1), (1, 0)]
    got = list(nn_opt.compile(model).run({"x": x}).values())
    joined: list[Callable[[list[float]], float]] = [_half, sum, min, max]
    for y, join in zip(got, joined, strict=True):
        for row, values, targets in zip(y, rows, where, strict=True):
            for target in range(2):
                given = [v for v, t in zip(values, targets, strict=True) if t == target]
                assert row[target] == (join(given) if given else 0)


def refused(**changes: Any) -> str:
    x = halves(0, 2)
    node = ml_node("TreeEnsemble", ["x"], ["y"], **ensemble(**changes))
    with pytest.raises(DiagnosticError) as error:
        nn_opt.compile(ml_model([node], {"x": x}, {"y": TensorProto.FLOAT}, version=5))
    return str(error.value)


def test_trees_that_make_no_sense() -> None:
    assert "is a cycle, expected a leaf at its end" in refused(
        nodes_truenodeids=[0, 0, 3], nodes_trueleafs=[0, 1, 1]
    )
    assert "a branch reads feature 9 of 5" in refused(nodes_featureids=[9, 1, 1])
    assert "leads to a node or a leaf that there is not" in refused(nodes_falsenodeids=[2, 1, 9])
    assert "tree_roots is [7], expected nodes from 0 to 2" in refused(tree_roots=[7])
    assert "0 sets that end in NaN, expected 1" in refused(
        membership_values=_tensor(np.asarray([1], np.float32))
    )
    assert "leaf_targetids and leaf_weights do not fit 1 targets" in refused(n_targets=1)
    assert "nodes_featureids has 1 entries, expected 3" in refused(nodes_featureids=[0])
    assert "nodes_splits or nodes_modes does not fit 3 nodes" in refused(
        nodes_splits=_tensor(np.asarray([1], np.float32))
    )
    assert "post_transform 5 is out of range" in refused(post_transform=5)


def broken(**changes: Any) -> str:
    x = halves(0, 2)
    attrs = {"n_targets": 3, **forest(0), **changes}
    node = ml_node("TreeEnsembleRegressor", ["x"], ["y"], **attrs)
    with pytest.raises(DiagnosticError) as error:
        nn_opt.compile(ml_model([node], {"x": x}, {"y": TensorProto.FLOAT}))
    return str(error.value)


def test_lists_of_nodes_that_make_no_sense() -> None:
    size = len(forest(0)["nodes_modes"])
    assert "has 'BRANCH_NEAR', expected LEAF or one of BRANCH_LEQ" in broken(
        nodes_modes=["BRANCH_NEAR"] * size
    )
    assert "two nodes of a tree have one number" in broken(nodes_nodeids=[0] * size)
    assert "there are no nodes" in broken(nodes_treeids=None, nodes_nodeids=None)
    assert "tree 0 has no node 77, to which a branch leads" in broken(nodes_truenodeids=[77] * size)
    assert "target_ids and target_weights do not fit 3 targets" in broken(target_weights=[1.0])
    assert "n_targets is 0, expected at least 1" in broken(n_targets=0)
    assert "tree 9 has no node 9, which target_nodeids names" in broken(
        target_ids=[0], target_treeids=[9], target_nodeids=[9], target_weights=[1.0]
    )
    assert f"nodes_modes and nodes_values differ in size from {size} nodes" in broken(
        nodes_values=[0.0]
    )
