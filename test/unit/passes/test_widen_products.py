# ruff: noqa: E501  (lines of IR)
import ml_dtypes
import numpy as np
import pytest
from numpy.typing import DTypeLike
from onnx import TensorProto, helper, numpy_helper
from programs import normal, op_names, program, results_before_and_after

import nn_opt
from nn_opt.ir.target import set_target
from nn_opt.passes.widen_products import WidenProductsPass

PRODUCTS = """
func.func @main(%x: tensor<2x4x9x9xf16>, %m: tensor<7x24xf16>) -> (tensor<2x6x7x7xf16>, tensor<2x6x19x19xf16>, tensor<7x5xf16>) {
  %w = graph.constant #graph.resource<"w"> : tensor<6x4x3x3xf16>
  %b = graph.constant #graph.resource<"b"> : tensor<6xf16>
  %c = graph.conv %x, %w, %b strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 1 : (tensor<2x4x9x9xf16>, tensor<6x4x3x3xf16>, tensor<6xf16>) -> tensor<2x6x7x7xf16>
  %v = graph.constant #graph.resource<"v"> : tensor<4x6x3x3xf16>
  %t = graph.conv_transpose %x, %v, %b strides [2, 2] pads [0, 0, 0, 0] dilations [1, 1] group 1 output_padding [0, 0] : (tensor<2x4x9x9xf16>, tensor<4x6x3x3xf16>, tensor<6xf16>) -> tensor<2x6x19x19xf16>
  %k = graph.constant #graph.resource<"k"> : tensor<24x5xf16>
  %y = graph.matmul %m, %k : (tensor<7x24xf16>, tensor<24x5xf16>) -> tensor<7x5xf16>
  func.return %c, %t, %y : tensor<2x6x7x7xf16>, tensor<2x6x19x19xf16>, tensor<7x5xf16>
}"""


SHAPES = {"w": (6, 4, 3, 3), "b": (6,), "v": (4, 6, 3, 3), "k": (24, 5)}


@pytest.mark.parametrize(
    ("element", "dtype", "unit"),
    [("f16", np.float16, 2.0**-10), ("bf16", ml_dtypes.bfloat16, 2.0**-7)],
)
def test_results_differ_by_one_rounding_at_most(element: str, dtype: DTypeLike, unit: float):
    weights = {name: np.asarray(normal(*shape), dtype) for name, shape in SHAPES.items()}
    module = program(PRODUCTS.replace("f16", element), **weights)
    set_target(module, "x86-64-v4")
    for before, after in results_before_and_after(module, WidenProductsPass()):
        exact = before.astype(np.float64)
        error = np.abs(after.astype(np.float64) - exact)
        assert before.dtype == after.dtype == dtype
        assert np.all(error <= unit * np.abs(exact) + 1e-6)
    assert op_names(module).count("graph.cast") == 11


def test_a_compiled_model_of_half_floats_is_right_to_their_precision():
    x, w, b = normal(3, 40), 0.2 * normal(40, 33, seed=1), normal(33, seed=2)
    halves = [a.astype(np.float16) for a in (x, w, b)]
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["x", "w"], ["m"]),
            helper.make_node("Add", ["m", "b"], ["a"]),
            helper.make_node("Softmax", ["a"], ["y"]),
        ],
        "halves",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT16, [3, 40])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT16, [3, 33])],
        [numpy_helper.from_array(a, n) for a, n in zip(halves[1:], "wb", strict=True)],
    )
    model = nn_opt.compile(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9),
        cache=False,
    )
    exact = [half.astype(np.float64) for half in halves]
    scores = exact[0] @ exact[1] + exact[2]
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    want = powers / powers.sum(axis=1, keepdims=True)
    result = model(halves[0])
    assert result.dtype == np.float16
    np.testing.assert_allclose(result.astype(np.float64), want, rtol=1e-2, atol=1e-5)
