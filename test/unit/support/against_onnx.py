"""What the interpreter of graph makes of one op, and what ONNX's runtimes do."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import helper
from onnx.reference import ReferenceEvaluator
from xdsl.dialects.test import TestOp

from nn_opt.ir.resources import tensor_type_of
from nn_opt.reference.graph import evaluate

F32, F64, I64, I32, U8 = np.float32, np.float64, np.int64, np.int32, np.uint8

ONNX_TYPES = {
    np.dtype(dtype): helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    for dtype in (F32, F64, np.float16, I64, I32, np.int8, np.int16, U8, np.uint32, np.uint64, bool)
}

# float32 rounding of a result that onnxruntime sums in float32.
TOLERANCE = {"rtol": 2e-5, "atol": 2e-6}


def normal(*shape: int, dtype: Any = F32, seed: int = 0, scale: float = 1.0) -> np.ndarray:
    return (np.random.default_rng(seed).standard_normal(shape) * scale).astype(dtype)


def whole(low: int, high: int, *shape: int, dtype: Any = I64, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(low, high, shape).astype(dtype)


def values(*arrays: np.ndarray) -> list[Any]:
    return list(TestOp(result_types=[tensor_type_of(array) for array in arrays]).results)


def ours(build: Any, *arrays: np.ndarray) -> np.ndarray:
    op = build(*values(*arrays))
    op.verify()
    (result,) = evaluate(op, arrays)
    return result


def model(kind: str, attributes: dict[str, Any], inputs: list[Any], opset: int) -> Any:
    names = ["" if array is None else f"x{i}" for i, array in enumerate(inputs)]
    infos = [
        helper.make_tensor_value_info(name, ONNX_TYPES[array.dtype], array.shape)
        for name, array in zip(names, inputs, strict=True)
        if array is not None
    ]
    result = helper.make_empty_tensor_value_info("y")
    node = helper.make_node(kind, names, ["y"], **attributes)
    network = helper.make_graph([node], "g", infos, [result])
    made = helper.make_model(network, opset_imports=[helper.make_opsetid("", opset)])
    made.ir_version = 10
    return onnx.shape_inference.infer_shapes(made)


def theirs(
    kind: str, inputs: list[Any], opset: int = 20, reference: bool = False, **attributes: Any
) -> np.ndarray:
    made = model(kind, attributes, inputs, opset)
    feeds = {f"x{i}": array for i, array in enumerate(inputs) if array is not None}
    if reference:
        return ReferenceEvaluator(made).run(None, feeds)[0]
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        made.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return session.run(None, feeds)[0]


def check(actual: np.ndarray, expected: np.ndarray, **tolerance: float) -> None:
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    np.testing.assert_allclose(actual, expected, **(tolerance or TOLERANCE))
