"""Compile a network whose answer one can check by eye, for any number of rows, and time it.

Run: python examples/compile_and_run.py
"""

from __future__ import annotations

import time

import numpy as np
from onnx import TensorProto, helper, numpy_helper

import nn_opt

# Two layers that compute the exclusive or of two bits.
WEIGHTS = {
    "w1": np.float32([[1, 1], [1, 1]]),
    "b1": np.float32([0, -1]),
    "w2": np.float32([[1], [-2]]),
}


def xor_network():
    """Return the ONNX model y = relu(x @ w1 + b1) @ w2, with any number of rows."""
    nodes = [
        helper.make_node("Gemm", ["x", "w1", "b1"], ["sum"], name="first"),
        helper.make_node("Relu", ["sum"], ["hidden"], name="clip"),
        helper.make_node("MatMul", ["hidden", "w2"], ["y"], name="second"),
    ]
    graph = helper.make_graph(
        nodes,
        "xor",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", 2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["rows", 1])],
        [numpy_helper.from_array(array, name) for name, array in WEIGHTS.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def main() -> None:
    model = nn_opt.compile(xor_network())
    print(model)

    x = np.float32([[0, 0], [0, 1], [1, 0], [1, 1]])
    for bits, y in zip(x, model(x), strict=True):
        print(f"{bits[0]:.0f} xor {bits[1]:.0f} = {y[0]:.0f}")

    # Another number of rows is compiled at its first call, and from then on only looked up.
    many = np.random.default_rng(0).integers(0, 2, (10_000, 2)).astype(np.float32)
    for call in ("first", "second"):
        start = time.perf_counter()
        answers = model.run({"x": many})["y"]
        print(f"{call} call with {len(many)} rows: {(time.perf_counter() - start) * 1e3:.2f} ms")
    assert np.array_equal(answers[:, 0], many[:, 0] != many[:, 1])
    print(f"memory: {model.memory.peak_bytes} bytes besides inputs and outputs")


if __name__ == "__main__":
    main()
