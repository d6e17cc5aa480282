"""Functions that are formulas of others, compiled for this machine: how far from the truth."""

import numpy as np
import pytest
from onnx import TensorProto, helper

import nn_opt

COUNT = 1 << 16


def compiled(kind: str) -> nn_opt.Model:
    """A model of one operator."""
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [COUNT]) for n in "xy")
    graph = helper.make_graph([helper.make_node(kind, ["x"], ["y"])], "one", [x], [y])
    opsets = [helper.make_opsetid("", 17)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    return nn_opt.compile(model, threads=1, cache=False)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def softplus(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


@pytest.mark.parametrize(
    ("kind", "truth", "bound"),
    [("Sigmoid", sigmoid, 2.0), ("Softplus", softplus, 2.0)],
)
def test_error_of_composed_functions(kind: str, truth, bound: float):
    model = compiled(kind)
    for low, high in ((-110.0, 100.0), (-20.0, 20.0), (-1.0, 1.0), (-8.0, -1.0)):
        x = np.linspace(low, high, COUNT).astype("f")
        wanted = truth(x.astype(float))
        unit = np.maximum(np.spacing(wanted.astype("f")), np.float32(1.4e-45)).astype(float)
        assert np.max(np.abs(model(x) - wanted) / unit) <= bound


def test_sigmoid_of_what_is_not_finite():
    x = np.resize(np.array([np.nan, np.inf, -np.inf, 1e38, -1e38, 0.0, -0.0], "f"), COUNT)
    np.testing.assert_array_equal(compiled("Sigmoid")(x)[:7], [np.nan, 1, 0, 1, 0, 0.5, 0.5])
