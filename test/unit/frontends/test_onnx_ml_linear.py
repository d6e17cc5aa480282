"""Linear models and support vector machines of ai.onnx.ml against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ml_models import by_onnxruntime, ml_model, ml_node
from onnx import ModelProto, TensorProto

import nn_opt
from nn_opt.ir.diagnostics import DiagnosticError

TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO")
X = np.random.default_rng(0).uniform(-1, 1, (12, 4)).astype(np.float32)


def numbers(seed: int, count: int, low: float = -1.0) -> list[float]:
    return np.random.default_rng(seed).uniform(low, 1, count).astype(np.float32).tolist()


def agree(nodes: list[Any], x: Any = X) -> None:
    kinds = {
        name: TensorProto.INT64 if name.startswith("label") else TensorProto.FLOAT
        for node in nodes
        for name in node.output
    }
    model = ml_model(nodes, {"x": x}, kinds)
    got = nn_opt.compile(model).run({"x": x})
    for (name, ours), theirs in zip(got.items(), by_onnxruntime(model, {"x": x}), strict=True):
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype), name
        np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=2e-6, err_msg=name)


def linear(name: str, classes: int, labels: list[int]) -> Any:
    outputs = [f"label_{classes}_{len(labels)}_{name}", f"y_{classes}_{len(labels)}_{name}"]
    return ml_node(
        "LinearClassifier",
        ["x"],
        outputs,
        coefficients=numbers(classes, 4 * classes),
        intercepts=numbers(9, classes),
        classlabels_ints=labels,
        post_transform=name,
    )


def test_linear_models() -> None:
    nodes = [
        linear(name, classes, labels)
        for name in TRANSFORMS
        for classes, labels in ((3, [5, 2, 8]), (2, [3, 4]), (1, [3, 4]))
    ]
    nodes += [
        ml_node(
            "LinearRegressor",
            ["x"],
            [f"r_{name}_{targets}"],
            coefficients=numbers(targets, 4 * targets),
            intercepts=numbers(8, targets),
            targets=targets,
            post_transform=name,
        )
        for name in ("NONE", "LOGISTIC")
        for targets in (1, 3)
    ]
    agree(nodes)


def machine(kind: str, name: str, classes: int, **more: Any) -> Any:
    counts = [3, 2, 4][:classes]
    pairs = classes * (classes - 1) // 2
    key = f"{kind}_{name}_{classes}_{'p' if 'prob_a' in more else ''}"
    return ml_node(
        "SVMClassifier",
        ["x"],
        [f"label_{key}", f"y_{key}"],
        kernel_type=kind,
        kernel_params=[0.5, 0.25, 3.0],
        vectors_per_class=counts,
        support_vectors=numbers(1, 4 * sum(counts)),
        coefficients=numbers(2, (classes - 1) * sum(counts)),
        rho=numbers(3, pairs),
        classlabels_ints=[4, 9, 2][:classes],
        post_transform=name,
        **more,
    )


def test_support_vector_machines() -> None:
    nodes = [machine(kind, "NONE", 3) for kind in ("LINEAR", "POLY", "RBF", "SIGMOID")]
    nodes += [machine("RBF", name, classes) for name in TRANSFORMS[1:] for classes in (2, 3)]
    nodes.append(machine("RBF", "NONE", 2))
    agree(nodes)


def test_machines_with_probabilities() -> None:
    a, b = [-1.5, -2.0, -0.5], [0.1, -0.2, 0.3]
    nodes = [
        machine("RBF", name, classes, prob_a=a[: 2 * classes - 3], prob_b=b[: 2 * classes - 3])
        for name in ("NONE", "LOGISTIC")
        for classes in (2, 3)
    ]
    agree(nodes)


@pytest.mark.parametrize("low", [-1.0, 0.0])
def test_machines_without_vectors(low: float) -> None:
    nodes = [
        ml_node(
            "SVMClassifier",
            ["x"],
            [f"label_{classes}", f"y_{classes}"],
            coefficients=numbers(4, 4 * classes, low),
            rho=[0.2],
            kernel_type="LINEAR",
            kernel_params=[0.0, 0.0, 0.0],
            classlabels_ints=[4, 9, 2][:classes],
        )
        for classes in (2, 3)
    ]
    nodes += [
        ml_node(
            "SVMRegressor",
            ["x"],
            [f"r_{kind}_{count}_{one}"],
            kernel_type=kind,
            kernel_params=[0.5, 0.25, 2.0],
            n_supports=count,
            coefficients=numbers(2, count or 4, low),
            rho=[0.1],
            one_class=one,
            **({"support_vectors": numbers(1, 4 * count)} if count else {}),
        )
        for kind, count, one in (("RBF", 5, 0), ("POLY", 3, 1), ("LINEAR", 0, 0))
    ]
    agree(nodes)


def refused(op_type: str, **attrs: Any) -> str:
    outputs = ["y"] if op_type.endswith("Regressor") else ["l", "y"]
    kinds = dict.fromkeys(outputs, TensorProto.FLOAT) | {"l": TensorProto.INT64}
    kinds = {name: kinds[name] for name in outputs}
    model: ModelProto = ml_model([ml_node(op_type, ["x"], outputs, **attrs)], {"x": X}, kinds)
    with pytest.raises(DiagnosticError) as error:
        nn_opt.compile(model)
    return str(error.value)


def test_models_that_make_no_sense() -> None:
    assert "attribute 'coefficients' is missing or empty" in refused("LinearRegressor")
    assert "coefficients has 5 entries, expected rows of 4" in refused(
        "LinearRegressor", coefficients=[1.0] * 5
    )
    assert "there are coefficients of 2 targets, not 1" in refused(
        "LinearRegressor", coefficients=[1.0] * 8
    )
    assert "intercepts has 3 entries, expected 1" in refused(
        "LinearRegressor", coefficients=[1.0] * 4, intercepts=[1.0] * 3
    )
    assert "there are coefficients of 2 classes, but 3 labels" in refused(
        "LinearClassifier", coefficients=[1.0] * 8, classlabels_ints=[1, 2, 3]
    )
    assert "nor classlabels_strings is given, expected one label each" in refused(
        "LinearClassifier", coefficients=[1.0] * 8
    )
    assert "post_transform is 'BEST', expected one of NONE, SOFTMAX" in refused(
        "LinearRegressor", coefficients=[1.0] * 4, post_transform="BEST"
    )


def test_machines_that_make_no_sense() -> None:
    svc = {"classlabels_ints": [1, 2, 3], "rho": [1.0] * 3, "coefficients": [1.0] * 12}
    assert "there are coefficients of 3 classes, not 2" in refused(
        "SVMClassifier", **svc | {"classlabels_ints": [1, 2]}
    )
    assert "vectors_per_class has 1 entries, expected 3" in refused(
        "SVMClassifier", **svc, vectors_per_class=[6]
    )
    counts = {"vectors_per_class": [1, 1, 1], "support_vectors": [1.0] * 12}
    assert "rho has 1 entries, expected 3" in refused(
        "SVMClassifier", **svc | counts | {"rho": [1.0]}
    )
    assert "coefficients has 1 rows, expected 2" in refused(
        "SVMClassifier", **svc | counts | {"coefficients": [1.0] * 3}
    )
    assert "prob_a and prob_b differ in size" in refused(
        "SVMClassifier", **svc | counts | {"prob_a": [1.0]}
    )
    assert "there are 2 support vectors, expected 3" in refused(
        "SVMClassifier", **svc | counts | {"support_vectors": [1.0] * 8}
    )
    assert "coefficients has 12 entries, expected 4" in refused(
        "SVMRegressor", coefficients=[1.0] * 12, rho=[1.0]
    )
